//! Sizes, and what of the data lies in shared buffers: before the first run, and after the last.

use pgdyno_core::{probe::Held, problem::Problem, stop::Stop};
use pgdyno_record::FootprintRecord;

use super::{recording::Recording, subject::Subject};
use crate::Events;

/// Which of the two looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Before the first run.
    Before,
    /// After the last one, and before data is checked, which reads all of it.
    After,
}

/// Looks at all servers, a stage of its own, and has the record of each changed by `keep`, which is told its place in
/// the list. A server that cannot be looked at is no reason to end a run: it has nothing in the record then.
///
/// # Errors
/// That the record cannot be written, or a stop was requested.
pub fn look(
    when: When,
    servers: &mut [Subject],
    recording: &mut Recording,
    stop: &Stop,
    events: &Events,
    keep: impl Fn(&mut Recording, usize, &dyn Fn(&mut Option<FootprintRecord>)),
) -> Result<(), Problem> {
    recording.stage("sizes", stop, |recording| {
        events.doing("looking at sizes");
        for (at, subject) in servers.iter_mut().enumerate() {
            let held = subject.held(stop);
            keep(recording, at, &|record| set(record, when, held.clone()));
        }
        Ok(())
    })
}

fn set(record: &mut Option<FootprintRecord>, when: When, held: Option<Held>) {
    let record = record.get_or_insert_default();
    match when {
        When::Before => record.before = held,
        When::After => record.after = held,
    }
}
