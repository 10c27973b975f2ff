//! `pgdyno resume`.

use std::{ffi::OsString, path::PathBuf, process::ExitCode};

use pgdyno_core::problem::Problem;
use pgdyno_record::RunRecord;

use super::detach::Detach;
use crate::{
    conclude::Output,
    context::Context,
    detached::launch::Detachment,
    measure::{self, Task},
};

/// Function that makes the task of a command line; `None` if its sub-command measures nothing.
pub type TaskOf = fn(Vec<OsString>) -> Result<Option<Task>, Problem>;

/// Flags of `pgdyno resume`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A run of bench, run, ab or tpcc run that was killed or stopped, or that failed, continues at the \
    next round; the measurements so far are kept. Temporary servers are recreated, and their tables loaded again from \
    the recorded seed; the record says before which run. Blocks before and after the interruption are never paired. \
    Call it in the directory in which the run was started: it executes the recorded command again, and refuses to if \
    its plan, its scripts, this program or this machine changed."
)]
pub struct Args {
    /// The run: `last`, its ID, the beginning or end of its ID, or its directory
    #[arg(default_value = "last")]
    run: String,
    #[command(flatten)]
    detach: Detach,
    /// Print what would be done, and stop
    #[arg(long, conflicts_with = "detach")]
    dry_run: bool,
    /// Print run.json instead of the report
    #[arg(long, conflicts_with = "detach")]
    json: bool,
    /// Also write the report to this file: .html, .md, .txt, .csv or .json
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl Args {
    /// What is to be detached.
    pub(super) fn detachment(
        &self,
        context: &Context,
        task_of: TaskOf,
    ) -> Option<Result<Detachment, Problem>> {
        self.detach.detachment("resume", || {
            let run = pgdyno_record::open(&pgdyno_record::find(&context.runs, &self.run)?)?;
            // What is wrong with the command is said by the run itself.
            Ok(task(&run.record, task_of).map(|task| task.job.connections()).unwrap_or_default())
        })
    }
}

/// Runs `pgdyno resume`.
///
/// # Errors
/// The problem to print.
pub fn run(args: &Args, context: &Context, task_of: TaskOf) -> Result<ExitCode, Problem> {
    let run = pgdyno_record::open(&pgdyno_record::find(&context.runs, &args.run)?)?;
    pgdyno_lab::check_resumable(&run.record, &context.lab())?;
    let task = task(&run.record, task_of)?;
    let output = Output { json: args.json, out: args.out.clone() };
    measure::resume(Task { dry_run: args.dry_run, output, ..task }, &run, context)
}

/// Task of the recorded command.
fn task(record: &RunRecord, task_of: TaskOf) -> Result<Task, Problem> {
    let refuse = |why: &str| {
        let what = format!("could not resume {}: {why}", record.id);
        Problem::wrong_request(what).hint("start a new run with the command that `pgdyno show` prints")
    };
    let args = shlex::split(&record.command).ok_or_else(|| refuse("its command cannot be parsed"))?;
    let args = args.into_iter().map(OsString::from).collect();
    task_of(args)?.ok_or_else(|| refuse("it is no run of bench, run, ab or tpcc run"))
}
