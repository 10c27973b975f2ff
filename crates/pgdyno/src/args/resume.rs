//! `pgdyno resume`.

use std::{ffi::OsString, path::PathBuf, process::ExitCode};

use pgdyno_core::problem::Problem;
use pgdyno_record::RunRecord;

use super::{Cli, Command};
use crate::{
    conclude::Output,
    context::Context,
    measure::{self, Task},
};

/// Flags of `pgdyno resume`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A run of bench, run, ab or tpcc run that was killed, was stopped, or ended by an error goes on at the \
    next round: what was measured is kept. Servers that were made for the run are made anew, and their tables are \
    loaded anew from the recorded seed; the record tells at which run that was. Blocks before and after are never \
    paired. Call it in the directory in which the run was begun: the command is carried out again as it was given, and \
    is refused if its plan, its scripts, this program or this machine changed."
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
pub fn run(args: &Args, context: &Context) -> Result<ExitCode, Problem> {
    let run = pgdyno_record::open(&pgdyno_record::find(&context.runs, &args.run)?)?;
    pgdyno_lab::check_resumable(&run.record, &context.lab())?;
    let task = task(&run.record)?;
    let output = Output { json: args.json, out: args.out.clone() };
    measure::resume(Task { dry_run: args.dry_run, output, ..task }, &run, context)
}

/// The task that the recorded command asks for.
fn task(record: &RunRecord) -> Result<Task, Problem> {
    let refuse = |why: &str| {
        let what = format!("could not resume {}: {why}", record.id);
        Problem::wrong_request(what).hint("measure anew with the command that `pgdyno show` prints")
    };
    let words = shlex::split(&record.command).ok_or_else(|| refuse("its command cannot be read"))?;
    let task = match Cli::read(words.into_iter().map(OsString::from))?.command {
        Command::Bench(args) => Some(args.task()),
        Command::Ab(args) => Some(args.task()),
        Command::Run(args) => Some(args.task()),
        Command::Tpcc(args) => args.task(),
        _ => None,
    };
    task.unwrap_or_else(|| Err(refuse("it is no run of bench, run, ab or tpcc run")))
}
