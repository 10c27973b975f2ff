//! `pgdyno resume`.

use std::{ffi::OsString, path::PathBuf, process::ExitCode};

use pgdyno_core::problem::Problem;
use pgdyno_record::RunRecord;

use crate::{
    conclude::Output,
    context::Context,
    measure::{self, Task},
};

/// Gives the task that the words of a command line ask for; `None` if they are not those of a measuring command.
pub type TaskOf = fn(Vec<OsString>) -> Result<Option<Task>, Problem>;

/// Flags of `pgdyno resume`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A run of bench, run, ab or tpcc run that was killed, was stopped, or failed continues at the next \
    round: what was measured is kept. Servers that were made for the run are made again, and their tables are loaded \
    again from the recorded seed; the record says at which run that was. Blocks before and after are never paired. \
    Call it in the directory in which the run was started: the recorded command is executed again, and refused if \
    its plan, its scripts, this program or this machine changed."
)]
pub struct Args {
    /// The run: `last`, its id or any beginning or end of it, or its directory
    #[arg(default_value = "last")]
    run: String,
    /// Say what would be done, and end
    #[arg(long)]
    dry_run: bool,
    /// Print run.json instead of the report
    #[arg(long)]
    json: bool,
    /// Write the report to this file too: .html, .md, .txt, .csv or .json
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Runs `pgdyno resume`.
///
/// # Errors
/// What the user should read.
pub fn run(args: &Args, context: &Context, task_of: TaskOf) -> Result<ExitCode, Problem> {
    let run = pgdyno_record::open(&pgdyno_record::find(&context.runs, &args.run)?)?;
    pgdyno_lab::check_resumable(&run.record, &context.lab())?;
    let task = task(&run.record, task_of)?;
    let output = Output { json: args.json, out: args.out.clone() };
    measure::resume(Task { dry_run: args.dry_run, output, ..task }, &run, context)
}

/// The task that the recorded command asks for.
fn task(record: &RunRecord, task_of: TaskOf) -> Result<Task, Problem> {
    let refuse = |why: &str| {
        let what = format!("could not resume {}: {why}", record.id);
        Problem::wrong_request(what).hint("measure anew with the command that `pgdyno show` prints")
    };
    let words = shlex::split(&record.command).ok_or_else(|| refuse("its command cannot be read"))?;
    let words = words.into_iter().map(OsString::from).collect();
    task_of(words)?.ok_or_else(|| refuse("it is no run of bench, run, ab or tpcc run"))
}
