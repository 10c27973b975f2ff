//! An experiment from its first server to its record.

use std::path::PathBuf;

use jiff::Timestamp;
use pgdyno_core::{measure::Workload, problem::Problem, stop::Stop, units};
use pgdyno_record::{RunRecord, Status};

use crate::{Events, Job, Lab, Prepared, cell::cell_words, experiment, recording::Recording};

/// What became of an experiment.
#[derive(Debug)]
pub struct Outcome {
    /// What kept it from its end.
    pub result: Result<(), Problem>,
    /// What was recorded; `None` if there was nothing to keep.
    pub recorded: Option<Recorded>,
}

/// What was recorded.
#[derive(Debug)]
pub struct Recorded {
    /// The run directory.
    pub path: PathBuf,
    /// The record.
    pub record: RunRecord,
    /// What of it could not be written.
    pub unwritten: Option<Problem>,
}

/// Carries a job out. A request to stop ends it and keeps what was measured.
///
/// # Errors
/// If no run directory can be made, or one without a result cannot be removed. What kept the experiment from its end
/// stands in the outcome.
pub fn carry_out(
    job: &Job,
    prepared: &Prepared,
    lab: &Lab,
    stop: &Stop,
    events: &Events,
) -> Result<Outcome, Problem> {
    carry_on(job, prepared, Recording::begin(job, prepared, lab, events)?, stop, events)
}

/// Carries a job out from where its recording is.
///
/// # Errors
/// As [`carry_out`].
pub fn carry_on(
    job: &Job,
    prepared: &Prepared,
    mut recording: Recording,
    stop: &Stop,
    events: &Events,
) -> Result<Outcome, Problem> {
    let result = experiment::all_stages(job, prepared, &mut recording, stop, events);
    conclude(recording, result)
}

/// Ends the recording.
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

/// A load that took so many seconds is worth keeping, whatever became of the run.
const LONG_LOAD_S: f64 = 60.0;

/// Whether a run that did not come to its end has nothing to keep: no result, and no long load that was done.
fn recorded_nothing(record: &RunRecord) -> bool {
    let mut loads = record.stages.iter().filter(|stage| ["load", "setup"].contains(&stage.name.as_str()));
    !record.measured_anything() && !loads.any(|stage| stage.duration_s >= LONG_LOAD_S)
}

/// Whether the server itself was in trouble: then its log in the record is worth keeping.
fn points_to_log(problem: &Problem) -> bool {
    // Out of resources, errors of the system, corruption; the end of the server.
    const SIGNS: [&str; 5] =
        ["(SQLSTATE 53", "(SQLSTATE 58", "(SQLSTATE XX", "server.log", "the server's log"];
    let texts = [Some(&problem.what), problem.detail.as_ref(), problem.hint.as_ref()];
    texts.into_iter().flatten().any(|text| SIGNS.iter().any(|sign| text.contains(sign)))
}

/// Whether every cell measured something: of one that did not there is nothing to report.
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
            .hint("what else was measured is kept"),
        None => problem.hint(
            "a run must be longer than its transactions take (--duration); what else was measured is kept",
        ),
    })
}
