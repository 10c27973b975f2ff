//! From an empty server to one with the plan's data.

use pgdyno_core::{facts::DurabilityTier, problem::Problem, stop::Stop};
use pgdyno_record::{LoadRecord, SetupDone};

use super::{load, prepared::Prepared, recording::Recording, subject::Subject, tpcc, workload_files};
use crate::Events;

/// What was put into a server.
pub enum Filled {
    /// Tables that pgdyno knows how to load.
    Loaded(Box<LoadRecord>),
    /// The plan's own tables.
    Own(SetupDone),
    /// Nothing more: what an acknowledged commit to these tables is worth.
    All(DurabilityTier),
}

/// Loads tables where the plan wants that, sets its own up, and waits for a standby to have them. `keep`
/// writes down what is done, so that it is in the record whatever comes next.
///
/// # Errors
/// The first problem.
pub fn fill(
    prepared: &Prepared,
    subject: &mut Subject,
    recording: &mut Recording,
    stop: &Stop,
    events: &Events,
    keep: impl Fn(&mut Recording, Filled),
) -> Result<(), Problem> {
    if let Some(plan) = &prepared.load {
        let streams = prepared.plan.load.streams();
        let loaded = recording.stage("load", stop, |_| load::load(plan, streams, subject, stop, events))?;
        keep(recording, Filled::Loaded(Box::new(loaded)));
    }
    if prepared.plan.data.tpcc.is_some() {
        recording.stage("look at tables", stop, |_| tpcc::ready(prepared, subject, stop))?;
    }
    if prepared.material.setup.is_some() {
        let done =
            recording.stage("setup", stop, |_| workload_files::set_up(prepared, subject, stop, events))?;
        done.into_iter().for_each(|done| keep(recording, Filled::Own(done)));
    }
    keep(recording, Filled::All(subject.look_at_tables()?));
    if subject.elsewhere.is_some() {
        recording.stage("replication", stop, |_| subject.wait_for_replication(stop, events))?;
    }
    Ok(())
}
