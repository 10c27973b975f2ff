//! `pgdyno run`.

use std::{path::PathBuf, process::ExitCode};

use pgdyno_core::{advice::bench::Level, problem::Problem};

use super::{file, measure};
use crate::{context::Context, stages};

/// Flags of `pgdyno run`.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true, allow_negative_numbers = true)]
pub struct Args {
    /// The plan
    #[arg(value_name = "FILE.toml")]
    file: PathBuf,
    #[command(flatten)]
    measure: measure::Args,
}

/// Runs `pgdyno run`.
///
/// # Errors
/// What the user should read.
pub fn run(args: &Args, context: &Context) -> Result<ExitCode, Problem> {
    let plan = file::plan(&args.file)?;
    let level = Level::of(&plan);
    stages::measure(&args.measure.job(plan, level)?, context)
}
