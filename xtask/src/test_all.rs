//! `test-all`: runs every test and counts those that passed.

use testrun::{Kind, Options, run as run_tests};

use crate::Failure;

/// Flags of `test-all`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Passed on to `cargo test`, such as `--release` or `-p pgdyno-engine`, and after another `--` to the tests
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
    rest: Vec<String>,
}

/// Runs the tests in the default profile of `cargo test`: debug assertions and overflow checks are part of the test.
pub fn run(args: &Args) -> Result<bool, Failure> {
    let options = Options::new(Kind::All, args.rest.iter().cloned());
    Ok(run_tests(&options).map_err(|failure| failure.to_string())?.succeeded())
}
