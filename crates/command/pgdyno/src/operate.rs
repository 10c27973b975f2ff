//! The recorded operations of a command, from its flags to its report.

use std::process::ExitCode;

use pgdyno_core::{observe::ObserveLevel, problem::Problem, profile::Profiling, stop::Stop};
use pgdyno_lab::{
    Events,
    operation::{OperationJob, Operations, Seen},
};

use pgdyno_document::SHORT_LINES;

use crate::{conclude::Finished, context::Context, output, progress::Progress};

/// Flags about the record of operations.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(skip)]
pub struct RecordFlags {
    /// Leave no run directory
    #[arg(long, help_heading = "How")]
    no_record: bool,
    /// What to observe meanwhile: nothing, the host with the server's processes, or also the server
    #[arg(
        long,
        value_name = "none|host|all",
        default_value = "all",
        help_heading = "How",
        conflicts_with = "no_record"
    )]
    observe: ObserveLevel,
    /// Profile the server's processes meanwhile with perf; stacks by auto, fp or dwarf
    #[arg(
        long,
        value_name = "STACKS",
        num_args = 0..=1,
        require_equals = true,
        default_value = "none",
        default_missing_value = "auto",
        hide_default_value = true,
        help_heading = "How",
        conflicts_with = "no_record"
    )]
    profile: Profiling,
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
            false => output::print(&pgdyno_document::cut(text, self.cut(), SHORT_LINES)),
        }
    }

    /// Prints a result and what comes next, in at most 50 lines unless all of it is wanted.
    fn print_with(&self, text: &str, next: &str) -> Result<(), Problem> {
        let most = SHORT_LINES.saturating_sub(next.lines().count() + 1);
        output::print(&format!("{}\n{next}", pgdyno_document::cut(text, self.cut(), most)))
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
        false => {
            let lab = context.lab();
            let seen = Seen { observe: flags.observe, profile: flags.profile };
            Operations::recorded(job, (&lab, seen), stop, events).map_err(or_unrecorded)
        }
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

/// Ends the run directory of a command, and says where its report is. Then shows its result: the text of `summary` with
/// the next commands, the whole report, or with `json` `run.json`. Returns the exit status of `summary`.
///
/// # Errors
/// The problem that ended the operations, or what could not be written.
pub fn end<T>(
    operations: Operations,
    result: Result<T, Problem>,
    (json, flags): (bool, &RecordFlags),
    summary: impl FnOnce(T) -> (Option<String>, ExitCode),
) -> Result<ExitCode, Problem> {
    let ended = operations.end(result.as_ref().map(drop).map_err(Problem::clone));
    let recorded = ended.map(|outcome| outcome.and_then(|outcome| outcome.recorded));
    let finished = recorded.as_ref().ok().and_then(Option::as_ref);
    let finished = finished.map(|recorded| Finished::of(&recorded.record, &recorded.path));
    let html = finished.as_ref().map_or(Ok(()), Finished::write_html);
    let value = result.inspect_err(|_| {
        if let Ok(Some(recorded)) = &recorded {
            eprintln!("partial record: {}", recorded.path.display());
        }
    })?;
    let (text, code) = summary(value);
    match finished {
        Some(finished) if json => finished.print_json()?,
        Some(finished) if flags.wants_report() => finished.print_whole()?,
        Some(finished) => text.map_or(Ok(()), |text| flags.print_with(&text, &finished.next()))?,
        None => text.map_or(Ok(()), |text| flags.print(&text))?,
    }
    match recorded?.and_then(|recorded| recorded.unwritten) {
        Some(unwritten) => Err(unwritten),
        None => html.map(|()| code),
    }
}
