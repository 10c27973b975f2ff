//! Runs an experiment from its first server to its record.

use std::path::PathBuf;

use jiff::Timestamp;
use pgdyno_core::{measure::Workload, problem::Problem, stop::Stop, units};
use pgdyno_record::{RunRecord, Status};

use crate::{Events, Job, Lab, Prepared, cell::cell_words, experiment, recording::Recording};

/// The end of an experiment.
#[derive(Debug)]
pub struct Outcome {
    /// The error that ended it early.
    pub result: Result<(), Problem>,
    /// The recorded run; `None` if there was nothing to keep.
    pub recorded: Option<Recorded>,
}

/// A recorded run.
#[derive(Debug)]
pub struct Recorded {
    /// The run directory.
    pub path: PathBuf,
    /// The record.
    pub record: RunRecord,
    /// What could not be written.
    pub unwritten: Option<Problem>,
}

/// Runs a job. A request to stop ends it and keeps what was measured.
///
/// # Errors
/// The run directory could not be created, or one without a result could not be removed. An error of the experiment
/// itself is in the outcome.
pub fn execute(
    job: &Job,
    prepared: &Prepared,
    lab: &Lab,
    stop: &Stop,
    events: &Events,
) -> Result<Outcome, Problem> {
    execute_from(job, prepared, Recording::begin(job, prepared, lab, events)?, stop, events)
}

/// Runs a job from the state of its recording.
///
/// # Errors
/// As [`execute`].
pub fn execute_from(
    job: &Job,
    prepared: &Prepared,
    mut recording: Recording,
    stop: &Stop,
    events: &Events,
) -> Result<Outcome, Problem> {
    let result = experiment::all_stages(job, prepared, &mut recording, stop, events);
    conclude(recording, result)
}

/// Finishes the recording.
fn conclude(mut recording: Recording, result: Result<(), Problem>) -> Result<Outcome, Problem> {
    if let Err(problem) = &result
        && recording.record.resumed.is_empty()
        && recorded_nothing(&recording.record)
        && !(points_to_log(problem) && recording.dir.keeps_log())
    {
        recording.discard()?;
        return Ok(Outcome { result, recorded: None });
    }
    let record = &mut recording.record;
    let result = result.and_then(|()| all_measured(record));
    record.status = if result.is_ok() { Status::Complete } else { Status::Stopped };
    record.error = result.as_ref().err().map(|problem| problem.what.clone());
    record.finished_at = Some(Timestamp::now().to_string());
    let (path, record, kept) = recording.finish();
    Ok(Outcome { result, recorded: Some(Recorded { path, record, unwritten: kept.err() }) })
}

/// A load that took at least this long is kept even if the run failed.
const LONG_LOAD_S: f64 = 60.0;

/// Whether an incomplete run has nothing to keep: no result, and no long load that finished.
fn recorded_nothing(record: &RunRecord) -> bool {
    let mut loads = record.stages.iter().filter(|stage| ["load", "setup"].contains(&stage.name.as_str()));
    !record.measured_anything() && !loads.any(|stage| stage.duration_s >= LONG_LOAD_S)
}

/// Whether the server itself was in trouble, so that its log is worth keeping.
fn points_to_log(problem: &Problem) -> bool {
    // Insufficient resources, system errors, corruption, and messages that name the server's log.
    const SIGNS: [&str; 5] =
        ["(SQLSTATE 53", "(SQLSTATE 58", "(SQLSTATE XX", "server.log", "the server's log"];
    let texts = [Some(&problem.what), problem.detail.as_ref(), problem.hint.as_ref()];
    texts.into_iter().flatten().any(|text| SIGNS.iter().any(|sign| text.contains(sign)))
}

/// Fails if a cell committed nothing: there would be nothing to report.
fn all_measured(record: &RunRecord) -> Result<(), Problem> {
    let commits = |workload: &Workload| -> u64 {
        let of_cell = record.runs.iter().filter(|run| run.workload == *workload);
        of_cell.map(|run| run.counts.committed).sum()
    };
    let Some(empty) = record.runs.iter().find(|run| commits(&run.workload) == 0) else { return Ok(()) };
    let what = format!("no transaction was committed in {}", cell_words(&empty.workload));
    let problem = Problem::could_not(what);
    Err(match empty.errors.iter().max_by_key(|error| error.count) {
        Some(error) => problem
            .detail(format!("{}: {} ({})", units::plural(error.count, "error"), error.message, error.code))
            .hint("the other results are kept"),
        None => problem
            .hint("a run must be longer than its transactions take (--duration); the other results are kept"),
    })
}
