//! Reports skipped tests on stderr.

use std::{
    io::{self, Write},
    thread,
};

/// Reports that this test, or a part of it, is skipped, and why. The harness counts the test as passed and captures its
/// output, so the message bypasses the harness.
///
/// # Panics
/// If standard error cannot be written.
pub fn left_out(why: &str) {
    let thread = thread::current();
    let line = format!("left out: {}: {why}\n", thread.name().unwrap_or("a test"));
    io::stderr().write_all(line.as_bytes()).expect("the standard error can be written");
}
