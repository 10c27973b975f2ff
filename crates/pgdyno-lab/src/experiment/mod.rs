//! An experiment from its servers to their end: one subject, several side by side, or A and B in blocks. What differs
//! is the schedule, and the question that is asked of the record.

mod between;
mod command;
mod idle;
mod recorded;
mod rounds;
mod schedule;

use pgdyno_core::{problem::Problem, stop::Stop};
use pgdyno_postgres::verify::Ledger;

use super::{
    Job,
    cell::Driving,
    fill::fill,
    footprint::{When, look},
    full_disk, load,
    prepared::Prepared,
    recording::Recording,
    side_by_side,
    storage::storage_stage,
    subject::{Subject, keep_evidence, with_leftovers},
    tpcc,
};
use crate::Events;
use between::BetweenRuns;

/// All stages, from the servers to their end.
///
/// # Errors
/// The first problem; what was measured before it is in the record.
pub fn all_stages(
    job: &Job,
    prepared: &Prepared,
    recording: &mut Recording,
    stop: &Stop,
    events: &Events,
) -> Result<(), Problem> {
    let explain = |problem| full_disk::explain(problem, &full_disk::places(job));
    let opened = recording.stage("server", stop, |recording| {
        let run = recording.record.id.clone();
        side_by_side::open(job, prepared, &run, stop, events)
    });
    let mut servers = opened.map_err(explain)?;
    recorded::set_servers(recording, job, prepared, &servers)?;
    let measured = storage(job, &servers, recording, stop, events)
        .and_then(|()| measured_stages(job, prepared, &mut servers, recording, stop, events))
        .map_err(explain);
    let logged = side_by_side::keep_logs(&servers, recording);
    let (evidence, measured) = keep_evidence(measured);
    let closed = recording.stage_always("clean up", || {
        events.doing("cleaning up");
        side_by_side::close(servers.iter_mut(), job.keep || evidence)
    });
    with_leftovers(measured.and(logged), closed)
}

/// What a synchronous write costs under the data of the first server, and on every other file system of one.
fn storage(
    job: &Job,
    servers: &[Subject],
    recording: &mut Recording,
    stop: &Stop,
    events: &Events,
) -> Result<(), Problem> {
    for (at, server) in servers.iter().enumerate() {
        if at == 0 || recorded::is_elsewhere(recording, job, at) {
            let check = storage_stage(job, server, recording, stop, events)?;
            recorded::set_at(recording, job, at, |record| record.sync_check.clone_from(&check));
        }
    }
    Ok(())
}

fn measured_stages(
    job: &Job,
    prepared: &Prepared,
    servers: &mut [Subject],
    recording: &mut Recording,
    stop: &Stop,
    events: &Events,
) -> Result<(), Problem> {
    for (at, subject) in servers.iter_mut().enumerate() {
        fill(prepared, subject, recording, stop, events, |recording, filled| {
            recorded::set_at(recording, job, at, |record| recorded::keep(record, &filled));
        })?;
        recorded::judge(recording, job, prepared);
        recording.save()?;
    }
    let held = |recording: &mut Recording, at, change: &dyn Fn(&mut Option<_>)| {
        recorded::set_at(recording, job, at, |record| change(&mut record.held));
    };
    look(When::Before, servers, recording, stop, events, held)?;
    let between = BetweenRuns::of(job, prepared);
    if between != BetweenRuns::Nothing {
        recording.stage("quiesce", stop, |_| {
            servers.iter_mut().try_for_each(|subject| between.begin(subject, prepared))
        })?;
    }
    let mut ledgers = vec![Ledger::default(); servers.len()];
    recording.stage("measure", stop, |recording| {
        let driving = Driving::begin(prepared, recording, stop, events)?;
        rounds::run(job, servers, &mut ledgers, between, driving)
    })?;
    servers.iter_mut().enumerate().for_each(|(at, subject)| weaken(job, at, subject, recording, stop));
    recorded::judge(recording, job, prepared);
    look(When::After, servers, recording, stop, events, held)?;
    recording.stage("check", stop, |recording| {
        let mut checked = servers.iter_mut().zip(ledgers).enumerate();
        checked.try_for_each(|(at, server)| check(job, prepared, at, server, recording, stop, events))
    })
}

/// Notes what a commit is worth at a server when all runs are over, where that is less than before.
fn weaken(job: &Job, at: usize, subject: &mut Subject, recording: &mut Recording, stop: &Stop) {
    let tier = subject.look_at_tables_again(stop);
    recording.weaken_all(tier, |place| job.subjects[place].server == Some(at));
    // Sessions of a command are not seen: the server may have been changed under them.
    let tier = tier.max(subject.tier_of_sessions(stop));
    recorded::set_at(recording, job, at, |record| {
        let server = record.server.iter_mut().filter(|_| record.command.is_some());
        server.for_each(|server| server.durability = server.durability.max(tier));
    });
}

/// Checks the data of a server.
fn check(
    job: &Job,
    prepared: &Prepared,
    at: usize,
    (subject, ledger): (&mut Subject, Ledger),
    recording: &mut Recording,
    stop: &Stop,
    events: &Events,
) -> Result<(), Problem> {
    let balance = match load::check_mode(job, prepared, at) {
        None => None,
        Some(mode) => {
            let expected = load::expected(job, prepared, &recording.record, at);
            Some(load::check(mode, subject, ledger, &expected, stop, events)?)
        }
    };
    recorded::set_at(recording, job, at, |record| record.balance.clone_from(&balance));
    let consistency = tpcc::check(prepared, subject, stop, events)?;
    recorded::set_at(recording, job, at, |record| record.consistency.clone_from(&consistency));
    Ok(())
}
