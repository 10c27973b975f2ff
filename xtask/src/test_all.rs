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

/// Tests that must have the machine to themselves: they run after all others.
const ALONE: &str = "::alone::";

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

/// Arguments of `cargo test`, and of the tests after `--`, which always include those that are ignored. Without tests
/// by name: once for all that run side by side, and once for those that run alone.
fn passes(rest: &[String]) -> Vec<Vec<String>> {
    let at = rest.iter().position(|argument| argument == "--").unwrap_or(rest.len());
    let of_tests: Vec<&str> = rest[at..].iter().skip(1).map(String::as_str).collect();
    let pass = |more: &[&str]| -> Vec<String> {
        let of_tests = ["--", "--include-ignored"].iter().chain(more).map(|&argument| argument.to_owned());
        rest[..at].iter().cloned().chain(of_tests).collect()
    };
    match of_tests.as_slice() {
        [] => vec![pass(&["--skip", ALONE]), pass(&["--test-threads=1", ALONE])],
        named => vec![pass(named)],
    }
}

/// Runs the tests in the default profile of `cargo test`: debug assertions and overflow checks are part of the test.
pub fn run(args: &Args) -> Result<bool, Failure> {
    let mut sum = Sum::default();
    let mut succeeded = true;
    for pass in passes(&args.rest) {
        succeeded &= run_pass(&pass, &mut sum)?;
    }
    println!("{} passed, {} failed", sum.passed, sum.failed);
    Ok(succeeded)
}

fn run_pass(arguments: &[String], sum: &mut Sum) -> Result<bool, Failure> {
    let mut command = cargo();
    let mut child = command
        .args(["test", "--no-fail-fast"])
        .args(arguments)
        .env(VARIABLE, "1")
        .env("RUST_TEST_THREADS", THREADS)
        .stdout(Stdio::piped())
        .spawn()?;
    let failed_before = sum.failed;
    let lines = child.stdout.take().ok_or("cargo has no standard output")?;
    for line in BufReader::new(lines).lines() {
        let line = line?;
        sum.add(&line);
        println!("{line}");
    }
    let status = child.wait()?;
    if !status.success() && sum.failed == failed_before {
        return Err(format!("cargo test failed ({status}) before or beside its tests").into());
    }
    Ok(status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_that_are_ignored_are_included() {
        let with = |rest: &[&str]| {
            let rest: Vec<String> = rest.iter().map(|&argument| argument.to_owned()).collect();
            passes(&rest).iter().map(|pass| pass.join(" ")).collect::<Vec<_>>()
        };
        let alone = "-- --include-ignored --test-threads=1 ::alone::";
        assert_eq!(with(&[]), ["-- --include-ignored --skip ::alone::", alone]);
        assert_eq!(with(&["-p", "pgdyno"])[0], "-p pgdyno -- --include-ignored --skip ::alone::");
        assert_eq!(with(&["--release", "--", "tpcc"]), ["--release -- --include-ignored tpcc"]);
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
