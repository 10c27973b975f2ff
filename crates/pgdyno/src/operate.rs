//! The recorded operations of a command, from its flags to its report.

use pgdyno_core::{problem::Problem, stop::Stop};
use pgdyno_lab::{
    Events,
    operation::{OperationJob, Operations},
};

use crate::{conclude, context::Context, output, progress::Progress};

/// Flags about the record of operations.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(skip)]
pub struct RecordFlags {
    /// Leave no run directory
    #[arg(long, help_heading = "How")]
    no_record: bool,
    /// Print the whole report instead of the result in at most 50 lines; with `--no-record` the whole result
    #[arg(long, help_heading = "How")]
    full: bool,
}

/// What shows the rest of a result.
const WHOLE: &str = "pgdyno show last --full";

impl RecordFlags {
    /// What shows the rest of a result of at most 50 lines; `None` if all of it is wanted.
    pub fn cut(&self) -> Option<&'static str> {
        (!self.full).then_some(if self.no_record { "--full" } else { WHOLE })
    }

    /// Whether the whole report is printed instead of the result.
    fn wants_report(&self) -> bool {
        self.full && !self.no_record
    }

    /// Prints a result, in at most 50 lines unless all of it is wanted.
    ///
    /// # Errors
    /// Stdout cannot be written.
    pub fn print(&self, text: &str) -> Result<(), Problem> {
        match self.wants_report() {
            true => Ok(()),
            false => output::print(&pgdyno_report::cut(text, self.cut())),
        }
    }
}

/// Begins the run directory of a command, unless it is to leave none.
///
/// # Errors
/// The server cannot be reached, or the run directory cannot be written.
pub fn begin(
    job: &OperationJob<'_>,
    flags: &RecordFlags,
    context: &Context,
    stop: &Stop,
    progress: &Progress,
) -> Result<Operations, Problem> {
    let events = Events::new(progress.clone());
    match flags.no_record {
        true => Ok(Operations::unrecorded(events)),
        false => Operations::recorded(job, &context.lab(), stop, events).map_err(or_unrecorded),
    }
}

/// Adds how to do without a run directory.
fn or_unrecorded(problem: Problem) -> Problem {
    let is_about_runs = problem.hint.as_deref().is_some_and(|hint| hint.contains("--runs"));
    match (is_about_runs, problem.hint.clone()) {
        (true, Some(hint)) => problem.hint(format!("{hint}; --no-record leaves none")),
        _ => problem,
    }
}

/// Ends the run directory of a command, and shows its result by `told`, as the whole report, or with `json` as
/// `run.json`; then says where the report is.
///
/// # Errors
/// The problem that ended the operations, or what could not be written.
pub fn end<T, R>(
    operations: Operations,
    result: Result<T, Problem>,
    (json, flags): (bool, &RecordFlags),
    told: impl FnOnce(T) -> Result<R, Problem>,
) -> Result<R, Problem> {
    let ended = operations.end(result.as_ref().map(drop).map_err(Problem::clone));
    let shown = result.and_then(told);
    let recorded = match ended {
        Ok(outcome) => outcome.and_then(|outcome| outcome.recorded),
        Err(problem) => return shown.and(Err(problem)),
    };
    let Some(recorded) = recorded else { return shown };
    let printed = match json {
        true => conclude::print_json(&recorded.record, &recorded.path),
        false if flags.wants_report() => conclude::print_report(&recorded.record, &recorded.path),
        false => Ok(()),
    };
    let unwritten = conclude::write_report(&recorded.record, &recorded.path).err();
    match shown {
        Ok(value) => recorded.unwritten.or(printed.err()).or(unwritten).map_or(Ok(value), Err),
        Err(problem) => {
            eprintln!("partial record: {}", recorded.path.display());
            Err(problem)
        }
    }
}
