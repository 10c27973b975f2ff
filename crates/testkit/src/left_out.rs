//! What was not tested, said where it is seen.

use std::{
    io::{self, Write},
    thread,
};

/// Says that this test, or a part of it, is left out, and why. The harness counts it as passed and keeps what it prints
/// to itself, so this goes past the harness: whoever runs the tests sees what was not tested.
///
/// # Panics
/// Where the standard error cannot be written.
pub fn left_out(why: &str) {
    let thread = thread::current();
    let line = format!("left out: {}: {why}\n", thread.name().unwrap_or("a test"));
    io::stderr().write_all(line.as_bytes()).expect("the standard error can be written");
}
