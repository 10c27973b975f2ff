//! What a synchronous write costs, looked at before anything is loaded.

use pgdyno_core::{measure::SyncCheck, problem::Problem, stop::Stop};

use super::{Job, prepare::storage_check_time, recording::Recording, subject::Subject};
use crate::Events;

/// What one synchronous write costs where the data of an own server lies; `None` of a server that is somebody else's.
pub fn storage_stage(
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
