//! Fills an empty server with the plan's data.

use pgdyno_core::{facts::DurabilityTier, problem::Problem, stop::Stop};
use pgdyno_record::{LoadRecord, SetupDone};

use super::{load, prepared::Prepared, recording::Recording, subject::Subject, tpcc, workload_files};
use crate::Events;

/// The result of a step of filling a server.
pub enum Filled {
    /// Tables loaded by pgdyno.
    Loaded(Box<LoadRecord>),
    /// The plan's own tables, set up.
    Own(SetupDone),
    /// All steps are done; the durability tier of commits to these tables.
    All(DurabilityTier),
}

/// Loads tables if the plan wants that, sets up the plan's own tables, and waits until a standby has them. `keep`
/// records each step as it finishes, so that it is in the record whatever happens next.
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
        recording.stage("inspect tables", stop, |_| tpcc::ready(prepared, subject, stop))?;
    }
    if prepared.workload_files.setup.is_some() {
        let done =
            recording.stage("setup", stop, |_| workload_files::set_up(prepared, subject, stop, events))?;
        done.into_iter().for_each(|done| keep(recording, Filled::Own(done)));
    }
    keep(recording, Filled::All(subject.check_tables()?));
    if subject.elsewhere.is_some() {
        recording.stage("replication", stop, |_| subject.wait_for_replication(stop, events))?;
    }
    Ok(())
}
