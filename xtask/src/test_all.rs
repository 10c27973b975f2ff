//! `test-all`: runs every test and counts those that passed.

use std::{
    io::{BufRead, BufReader},
    process::Stdio,
};

use crate::{Failure, workspace::cargo};

/// Environment variable by which tests that have a short and a long form run the long one. Tests that have only a long
/// form are ignored without this command.
const VARIABLE: &str = "PGDYNO_TEST_ALL";

/// How many tests run at a time: most of the long ones compute.
const THREADS: &str = "4";

/// Flags of `test-all`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Passed on to `cargo test`, such as `--release` or `-p pgdyno-engine`, and after another `--` to the tests
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
    rest: Vec<String>,
}

/// Tests that passed and failed, from the summary line of every test program.
#[derive(Debug, Default, PartialEq, Eq)]
struct Sum {
    passed: u64,
    failed: u64,
}

impl Sum {
    /// Adds `test result: ok. 12 passed; 0 failed; …`; ignores other lines.
    fn add(&mut self, line: &str) {
        let Some(counts) = line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". ")) else {
            return;
        };
        for part in counts.1.split("; ") {
            match part.split_once(' ') {
                Some((number, "passed")) => self.passed += number.parse().unwrap_or(0),
                Some((number, "failed")) => self.failed += number.parse().unwrap_or(0),
                _ => {}
            }
        }
    }
}

/// Arguments of `cargo test`, and of the tests after `--`, which always include those that are ignored.
fn with_ignored(rest: &[String]) -> Vec<String> {
    let at = rest.iter().position(|argument| argument == "--").unwrap_or(rest.len());
    let of_tests = rest[at..].iter().skip(1).cloned();
    let all = ["--".to_owned(), "--include-ignored".to_owned()];
    rest[..at].iter().cloned().chain(all).chain(of_tests).collect()
}

/// Runs the tests in the default profile of `cargo test`: debug assertions and overflow checks are part of the test.
pub fn run(args: &Args) -> Result<bool, Failure> {
    let mut command = cargo();
    let mut child = command
        .args(["test", "--no-fail-fast"])
        .args(with_ignored(&args.rest))
        .env(VARIABLE, "1")
        .env("RUST_TEST_THREADS", THREADS)
        .stdout(Stdio::piped())
        .spawn()?;
    let mut sum = Sum::default();
    let lines = child.stdout.take().ok_or("cargo has no standard output")?;
    for line in BufReader::new(lines).lines() {
        let line = line?;
        sum.add(&line);
        println!("{line}");
    }
    let status = child.wait()?;
    if !status.success() && sum.failed == 0 {
        return Err(format!("cargo test failed ({status}) before or beside its tests").into());
    }
    println!("{} passed, {} failed", sum.passed, sum.failed);
    Ok(status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_that_are_ignored_are_included() {
        let with = |rest: &[&str]| {
            with_ignored(&rest.iter().map(|&argument| argument.to_owned()).collect::<Vec<_>>()).join(" ")
        };
        assert_eq!(with(&[]), "-- --include-ignored");
        assert_eq!(with(&["-p", "pgdyno"]), "-p pgdyno -- --include-ignored");
        assert_eq!(with(&["--release", "--", "tpcc"]), "--release -- --include-ignored tpcc");
    }

    #[test]
    fn results_are_summed() {
        let mut sum = Sum::default();
        for line in [
            "running 14 tests",
            "test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
            "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.00s",
        ] {
            sum.add(line);
        }
        assert_eq!(sum, Sum { passed: 13, failed: 2 });
    }
}
