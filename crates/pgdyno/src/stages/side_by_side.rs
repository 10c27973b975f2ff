//! Several servers that are up at once, of which one works at a time.
//!
//! Stopping the others between its runs would throw their caches away, and a start would be in every run; an idle
//! server costs memory, and wakes up a few times a second.

use pgdyno_core::problem::Problem;
use pgdyno_engine::Stop;
use pgdyno_postgres::provision::Request;

use super::{Job, Wanted, prepare::Prepared, recording::Recording, subject::Subject};
use crate::progress::Progress;

/// Settings that pgdyno chooses by the free space of the disk, which the first server has made less for the second.
const BY_FREE_SPACE: [&str; 2] = ["max_wal_size", "min_wal_size"];

/// Makes or reaches the servers of a job, one after the other.
///
/// # Errors
/// The first that cannot be had.
pub fn open(
    job: &Job,
    prepared: &Prepared,
    stop: &Stop,
    progress: &Progress,
) -> Result<Vec<Subject>, Problem> {
    let mut subjects: Vec<Subject> = Vec::new();
    for wanted in &job.servers {
        let wanted = match (wanted, subjects.first()) {
            (Wanted::Own(request), Some(first)) => &Wanted::Own(Box::new(like(request, first, job))),
            (wanted, _) => wanted,
        };
        subjects.push(Subject::open(wanted, prepared.reached(subjects.len()), prepared, stop, progress)?);
    }
    Ok(subjects)
}

/// The request with those choices of the first server that would come out otherwise for another by chance.
fn like(request: &Request, first: &Subject, job: &Job) -> Request {
    let mut request = request.clone();
    let asked_for = |name: &str| {
        job.servers.iter().any(|wanted| match wanted {
            Wanted::Own(request) => request.settings.contains_key(name),
            Wanted::External(_) => false,
        })
    };
    for choice in &first.choices {
        if BY_FREE_SPACE.contains(&choice.name.as_str()) && !asked_for(&choice.name) {
            request.settings.insert(choice.name.clone(), choice.value.clone());
        }
    }
    request
}

/// Keeps the log of each server that was made: `server-NAME.log`.
///
/// # Errors
/// The last that could not be written.
pub fn keep_logs<'a>(
    subjects: impl Iterator<Item = (&'a Subject, String)>,
    recording: &Recording,
) -> Result<(), Problem> {
    let keep = |(subject, name): (&Subject, String)| match subject.log_path() {
        Some(log) => recording.dir.keep_log(log, &format!("server-{name}.log")),
        None => Ok(()),
    };
    subjects.map(keep).fold(Ok(()), Result::and)
}

/// Closes each of them, whatever became of the one before.
///
/// # Errors
/// The first that was met.
pub fn close<'a>(subjects: impl Iterator<Item = &'a mut Subject>, keep: bool) -> Result<(), Problem> {
    subjects.map(|subject| subject.close(keep)).fold(Ok(()), Result::and)
}
