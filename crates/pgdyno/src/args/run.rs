//! `pgdyno run`.

use std::{path::PathBuf, process::ExitCode};

use pgdyno_core::problem::Problem;
use pgdyno_plan::advice::bench::Level;

use super::{file, measure};
use crate::{context::Context, stages};

/// Flags of `pgdyno run`.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true, allow_negative_numbers = true)]
pub struct Args {
    /// The plan
    #[arg(value_name = "FILE.toml")]
    file: PathBuf,
    /// One of the plan's sizes, its [size.NAME]
    #[arg(long, value_name = "NAME")]
    size: Option<String>,
    /// One of several servers to measure in turn, as `pgdyno ab` writes an arm: pg=9.6; the first is the reference
    #[arg(long, value_name = "SUBJECT")]
    subject: Vec<String>,
    /// Carry out SQL that reaches beyond tables: programs (`\shell`), files and settings of the server
    #[arg(long)]
    trust: bool,
    /// Say what would be done, and end: the plan, its files, this machine and the server are looked at
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    measure: measure::Args,
}

/// Runs `pgdyno run`.
///
/// # Errors
/// What the user should read.
pub fn run(args: &Args, context: &Context) -> Result<ExitCode, Problem> {
    let plan = file::plan(&args.file)?;
    let plan = match &args.size {
        Some(size) => plan.at_size(size)?,
        None => plan,
    };
    let material = file::material(&plan, &args.file, args.trust)?;
    let level = Level::of(&plan);
    let job = args.measure.job_of(&args.subject, plan, material, level)?;
    stages::measure(&stages::Job { trust: args.trust, dry_run: args.dry_run, ..job }, context)
}
