//! `pgdyno stop`.

use std::{fs, process::ExitCode};

use pgdyno_core::problem::Problem;
use pgdyno_host::procs::ProcessId;

use crate::detached::{
    entry::{Entry, Home, Status},
    names,
};
use crate::{
    context::Context,
    exit::Exit,
    follow::{Followed, Viewer},
    interrupt,
};

/// Flags of `pgdyno stop`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Does what Ctrl-C does in the terminal of a command: the run ends, what it has so far is kept, and \
    its temporary server is removed. Waits for the end, and prints what the run prints meanwhile. A second `stop` \
    ends it immediately, as a second Ctrl-C does. Servers are stopped by `pgdyno down`."
)]
pub struct Args {
    /// Name of the detached run, as `pgdyno ps` lists it [default: the only one running]
    name: Option<String>,
}

/// Runs `pgdyno stop`.
///
/// # Errors
/// There is no such run, or it is another user's.
pub fn run(args: &Args, _context: &Context) -> Result<ExitCode, Problem> {
    let (home, entry) = names::find_or_only(&pgdyno_lab::dirs()?, args.name.as_deref())?;
    match entry.status {
        Status::Running(process) => stop(home, &entry, process),
        Status::Ended(status) => {
            println!("`{}` had ended, with exit status {status}{}", entry.name, record(&entry));
            Ok(ExitCode::SUCCESS)
        }
        Status::Killed => Ok(lost(&entry, "it was killed")),
        Status::Restarted => Ok(lost(&entry, "the machine was restarted")),
    }
}

fn stop(home: Home, entry: &Entry, process: ProcessId) -> Result<ExitCode, Problem> {
    let name = &entry.name;
    let left = interrupt::on_interrupt_saying("no longer waiting; the run stops", "exited immediately");
    let printed = fs::metadata(home.output()).map_or(0, |output| output.len());
    process.interrupt().map_err(|error| {
        Problem::could_not(format!("could not stop `{name}`: {error}"))
            .detail(format!("process {}", process.pid))
            .hint("call pgdyno as the user who started it. Nothing was changed.")
    })?;
    match Viewer::new(home.clone(), printed).follow(&left)? {
        Followed::Left => Ok(Exit::NotCompleted.into()),
        Followed::Lost(problem) => Err(problem),
        Followed::Ended(status) => {
            let entry = home.read()?.unwrap_or_else(|| entry.clone());
            let stopped = status == Exit::NotCompleted as u8;
            match stopped {
                true => println!("`{name}` is stopped{}", record(&entry)),
                false => println!("`{name}` had just ended, with exit status {status}{}", record(&entry)),
            }
            next(&entry, stopped);
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Where the record of a run is, if it was kept.
fn record(entry: &Entry) -> String {
    match entry.kept_run() {
        Some(run) => format!("; its record is {}", run.display()),
        None => "; nothing was measured, so there is no record".to_owned(),
    }
}

fn next(entry: &Entry, incomplete: bool) {
    if let Some(next) = entry.next().filter(|_| incomplete) {
        eprintln!("hint: {next}");
    }
}

fn lost(entry: &Entry, why: &str) -> ExitCode {
    println!("`{}` is not running any more: {why}{}", entry.name, record(entry));
    next(entry, true);
    ExitCode::SUCCESS
}
