//! `pgdyno down`.

use std::process::ExitCode;

use pgdyno_core::problem::Problem;

use crate::context::Context;

/// Flags of `pgdyno down`.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs `pgdyno down`.
///
/// # Errors
/// What the user should read.
pub fn run(_args: &Args, _context: &Context) -> Result<ExitCode, Problem> {
    Err(Problem::could_not("not written yet"))
}
