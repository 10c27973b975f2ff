//! Measures the cost of a synchronous write, before anything is loaded.

use pgdyno_core::{measure::SyncCheck, problem::Problem, stop::Stop};

use super::{Job, prepare::storage_check_time, recording::Recording, subject::Subject};
use crate::Events;

/// The cost of one synchronous write at an own server's data directory; `None` for an existing server.
pub fn sync_check_stage(
    job: &Job,
    subject: &Subject,
    recording: &mut Recording,
    stop: &Stop,
    events: &Events,
) -> Result<Option<SyncCheck>, Problem> {
    let Some(dir) = subject.own_data_dir() else { return Ok(None) };
    let check = recording.stage("storage check", stop, |_| {
        events.doing("checking synchronous writes");
        pgdyno_host::disk::check_sync_writes(dir, storage_check_time(job.level), stop)
    });
    check.map(Some)
}
