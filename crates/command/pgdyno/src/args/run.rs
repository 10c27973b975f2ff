//! `pgdyno run`.

use std::{path::PathBuf, process::ExitCode};

use pgdyno_core::{margin::Margin, problem::Problem};
use pgdyno_lab::Job;
use pgdyno_plan::{Restart, advice::bench::Level};

use super::{disk_run, file, measure};
use crate::{context::Context, detach::Detachment, measure::Task};

/// Flags of `pgdyno run`.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true, allow_negative_numbers = true)]
pub struct Args {
    /// Plan file
    #[arg(value_name = "FILE.toml")]
    file: PathBuf,
    /// Size of the plan to run: its section [size.NAME]
    #[arg(long, value_name = "NAME")]
    size: Option<String>,
    /// Server to measure, written like an arm of `pgdyno ab`, such as pg=9.6; give several, the first is the baseline
    #[arg(long, value_name = "SUBJECT")]
    subject: Vec<String>,
    /// When to restart the servers of several subjects: auto, always (before every block), never
    #[arg(long, value_name = "WHEN", value_parser = measure::restart)]
    restart: Option<Restart>,
    /// Equivalence margin of several subjects: a difference within ± this does not matter [default: that of the plan,
    /// or 2%]
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    margin: Option<Margin>,
    /// Allow SQL that reaches beyond tables: programs (`\shell`), files and settings of the server
    #[arg(long)]
    trust: bool,
    /// Allow the changes of this host that the plan names in [host]; they are put back after the runs (root only)
    #[arg(long)]
    allow_host_changes: bool,
    /// Check the plan, its files, this machine and the server, print what would be done, and stop
    #[arg(long, conflicts_with = "detach")]
    dry_run: bool,
    #[command(flatten)]
    measure: measure::Args,
}

impl Args {
    /// Task of the command line.
    ///
    /// # Errors
    /// The plan or the flags are invalid, or contradict each other.
    pub(super) fn task(&self) -> Result<Task, Problem> {
        let (mut plan, files) = file::read(&self.file, self.size.as_deref(), self.trust)?;
        let level = Level::of(&plan);
        plan.measure.restart = self.restart.unwrap_or(plan.measure.restart);
        plan.measure.margin = self.margin.unwrap_or(plan.measure.margin);
        let Task { job, output, .. } = self.measure.task(&self.subject, plan, files, level)?;
        let job = Job { trust: self.trust, allow_host_changes: self.allow_host_changes, ..job };
        Ok(Task { job, dry_run: self.dry_run, output })
    }

    /// What is to be detached.
    pub(super) fn detachment(&self) -> Option<Result<Detachment, Problem>> {
        self.measure.detach.detachment("run", || self.task().map(|task| task.job.connections()))
    }
}

/// Runs `pgdyno run`.
///
/// # Errors
/// The problem to print.
pub fn run(args: &Args, context: &Context) -> Result<ExitCode, Problem> {
    let task = args.task()?;
    match task.job.plan.needs_no_server() {
        true => disk_run::plan(&task, context),
        false => crate::measure::measure(&task, context),
    }
}
