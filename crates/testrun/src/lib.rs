//! Builds the tests as `cargo test` does and runs their programs, several at a time: some wait for servers while others
//! compute. `cargo test` runs them one after the other.

#![allow(clippy::print_stdout)]

mod failure;
mod jobs;
mod programs;
mod sum;

use std::time::Instant;

pub use failure::Failure;
pub use jobs::Kind;
use jobs::run_all;
use programs::build;
pub use sum::Sum;

/// What to build and to run.
#[derive(Debug)]
pub struct Options {
    kind: Kind,
    /// For `cargo test`, such as `-p pgdyno-engine`.
    of_build: Vec<String>,
    /// For the tests, such as a part of their names.
    of_tests: Vec<String>,
}

impl Options {
    /// Arguments of `cargo test`, and after `--` of the tests.
    pub fn new(kind: Kind, given: impl IntoIterator<Item = String>) -> Self {
        let mut of_build: Vec<String> = given.into_iter().collect();
        let at = of_build.iter().position(|argument| argument == "--").unwrap_or(of_build.len());
        let of_tests = of_build.split_off(at).into_iter().skip(1).collect();
        Self { kind, of_build, of_tests }
    }
}

/// Builds and runs the tests, prints the output of each program when it ends, and sums up.
///
/// # Errors
///
/// If the tests do not build. Tests that fail are counted.
pub fn run(options: &Options) -> Result<Sum, Failure> {
    let programs = build(&options.of_build)?;
    let begin = Instant::now();
    let mut sum = Sum::default();
    for pass in jobs::passes(options.kind, &programs, &options.of_tests) {
        sum += run_all(pass)?;
    }
    println!("\n{} ignored, tests took {} s", sum.left(), begin.elapsed().as_secs());
    println!("{} passed, {} failed", sum.passed, sum.failed);
    Ok(sum)
}
