//! Data sizes, and how much of the data is in shared buffers: before the first run and after the last.

use pgdyno_core::{probe::Held, problem::Problem, stop::Stop};
use pgdyno_record::FootprintRecord;

use super::{recording::Recording, subject::Subject};
use crate::Events;

/// When the footprint is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Before the first run.
    Before,
    /// After the last run, before the data is checked: the check reads all of it.
    After,
}

/// Measures all servers, as a stage. `keep` records the footprint of the server with the given index. A server that
/// cannot be inspected does not end the run; its record stays empty.
///
/// # Errors
/// The record could not be written, or a stop was requested.
pub fn measure_footprint(
    when: When,
    servers: &mut [Subject],
    recording: &mut Recording,
    stop: &Stop,
    events: &Events,
    keep: impl Fn(&mut Recording, usize, &dyn Fn(&mut Option<FootprintRecord>)),
) -> Result<(), Problem> {
    recording.stage("sizes", stop, |recording| {
        events.doing("measuring sizes");
        for (at, subject) in servers.iter_mut().enumerate() {
            let footprint = subject.footprint(stop);
            keep(recording, at, &|record| set(record, when, footprint.clone()));
        }
        Ok(())
    })
}

fn set(record: &mut Option<FootprintRecord>, when: When, footprint: Option<Held>) {
    let record = record.get_or_insert_default();
    match when {
        When::Before => record.before = footprint,
        When::After => record.after = footprint,
    }
}
