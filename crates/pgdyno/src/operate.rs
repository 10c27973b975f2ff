//! The recorded operations of a command, from its flags to its report.

use pgdyno_core::{problem::Problem, stop::Stop};
use pgdyno_lab::{
    Events,
    operation::{OperationJob, Operations},
};

use crate::{conclude, context::Context, progress::Progress};

/// Flags about the record of operations.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(skip)]
pub struct RecordFlags {
    /// Leave no run directory
    #[arg(long, help_heading = "How")]
    no_record: bool,
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

/// Ends the run directory of a command, and shows its result by `told` or, with `json`, as `run.json`; then says where
/// the report is.
///
/// # Errors
/// The problem that ended the operations, or what could not be written.
pub fn end<T, R>(
    operations: Operations,
    result: Result<T, Problem>,
    json: bool,
    told: impl FnOnce(T) -> Result<R, Problem>,
) -> Result<R, Problem> {
    let ended = operations.end(result.as_ref().map(drop).map_err(Problem::clone));
    let shown = result.and_then(told);
    let recorded = match ended {
        Ok(outcome) => outcome.and_then(|outcome| outcome.recorded),
        Err(problem) => return shown.and(Err(problem)),
    };
    let Some(recorded) = recorded else { return shown };
    let printed = if json { conclude::print_json(&recorded.record, &recorded.path) } else { Ok(()) };
    let unwritten = conclude::write_report(&recorded.record, &recorded.path).err();
    match shown {
        Ok(value) => recorded.unwritten.or(printed.err()).or(unwritten).map_or(Ok(value), Err),
        Err(problem) => {
            eprintln!("partial record: {}", recorded.path.display());
            Err(problem)
        }
    }
}
