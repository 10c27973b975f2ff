//! `pgdyno resume`.

use std::{ffi::OsString, path::PathBuf, process::ExitCode};

use pgdyno_analysis::compare::MAX_BLOCKS;
use pgdyno_core::problem::Problem;
use pgdyno_record::RunRecord;

use super::detach::Detach;
use crate::{
    conclude::Output,
    context::Context,
    detach::Detachment,
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
    --more-blocks continues a comparison that is complete and ended with `cannot tell`: its answer still errs one time \
    in twenty, because the first looks leave error probability to the others. \
    Call it in the directory in which the run was started: it executes the recorded command again, and refuses to if \
    its plan, its scripts, this program or this machine changed."
)]
pub struct Args {
    /// The run: `last`, its ID, the beginning or end of its ID, or its directory
    #[arg(default_value = "last")]
    run: String,
    #[command(flatten)]
    detach: Detach,
    /// Continue a comparison of `ab` that ended with `cannot tell` by this number of blocks
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_BLOCKS)))]
    more_blocks: Option<u32>,
    /// Print what would be done, and stop
    #[arg(long, conflicts_with = "detach")]
    dry_run: bool,
    /// Print run.json instead of the report
    #[arg(long, conflicts_with = "detach")]
    json: bool,
    /// Print the full report instead of the 50-line summary
    #[arg(long, conflicts_with = "json")]
    full: bool,
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
    pgdyno_lab::check_resumable(&run.record, &context.lab(), args.more_blocks)?;
    let task = task(&run.record, task_of)?;
    let output = Output { json: args.json, full: args.full, out: args.out.clone() };
    measure::resume(Task { dry_run: args.dry_run, output, ..task }, &run, args.more_blocks, context)
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
