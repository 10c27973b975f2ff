//! `pgdyno run`.

use std::{path::PathBuf, process::ExitCode};

use pgdyno_core::problem::Problem;
use pgdyno_lab::Job;
use pgdyno_plan::advice::bench::Level;

use super::{file, measure};
use crate::{context::Context, measure::Task};

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

impl Args {
    /// The task that the plan and the flags ask for.
    ///
    /// # Errors
    /// What of them cannot be.
    pub(super) fn task(&self) -> Result<Task, Problem> {
        let plan = file::plan(&self.file)?;
        let plan = match &self.size {
            Some(size) => plan.at_size(size)?,
            None => plan,
        };
        let material = file::material(&plan, &self.file, self.trust)?;
        let level = Level::of(&plan);
        let job = self.measure.job_of(&self.subject, plan, material, level)?;
        let job = Job { trust: self.trust, ..job };
        Ok(Task { job, dry_run: self.dry_run, output: self.measure.output() })
    }
}

/// Runs `pgdyno run`.
///
/// # Errors
/// What the user should read.
pub fn run(args: &Args, context: &Context) -> Result<ExitCode, Problem> {
    crate::measure::measure(&args.task()?, context)
}
