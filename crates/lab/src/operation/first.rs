//! The run directory of operations before the first of them.

use std::{path::Path, time::Instant};

use jiff::Timestamp;
use pgdyno_core::{
    facts::{ConnectionFacts, ServerFacts, ServerSource, Transport},
    host::Storage,
    problem::Problem,
    stop::Stop,
};
use pgdyno_observe::Watched;
use pgdyno_postgres::observe::{postmaster_of, server_facts};
use pgdyno_record::{PlanRecord, RunDir, RunRecord, SubjectRecord};
use pgdyno_wire::{Address, ConnectOptions, Session, connect_unless};

use super::job::{On, OperationJob, Seen};
use crate::{Events, Lab, job::ONLY, recording::Recording, server_storage::with_storage, watch};

/// What a run works on, as far as it is known before the first operation.
struct SeenOf {
    subject: SubjectRecord,
    storage: Option<Storage>,
    watched: Watched,
}

/// Begins the run directory of operations.
///
/// # Errors
/// The server cannot be reached, or the directory cannot be written.
pub fn begin(
    job: &OperationJob<'_>,
    (lab, seen): (&Lab, Seen),
    stop: &Stop,
    events: &Events,
) -> Result<Recording, Problem> {
    let seen_of = match job.on {
        On::Server(options) => server(job, options, stop)?,
        On::Storage(paths) => storage(paths),
    };
    let (now, started) = (Timestamp::now(), Instant::now());
    let dir = RunDir::create(&lab.runs, job.name, now)?;
    let record = record(job, lab, seen_of.subject, (seen_of.storage, dir.id()), &now)?;
    let recording = Recording::new(dir, record, (started, seen.observe), events)?;
    let mut recording = recording.profiled(seen.profile);
    recording.observers.watch(seen_of.watched);
    Ok(recording)
}

fn server(job: &OperationJob<'_>, options: &ConnectOptions, stop: &Stop) -> Result<SeenOf, Problem> {
    let mut session = connect_unless(stop, options)?;
    session.heed(stop);
    let facts = facts(&mut session)?;
    let connection = connection(&session);
    let watched = watch::of_session(&mut session, &facts, options, &job.copies);
    let data = facts.data_directory.as_deref().map(Path::new);
    let storage = data.and_then(|dir| pgdyno_host::facts::storage(dir).ok());
    let subject = SubjectRecord {
        name: ONLY.to_owned(),
        server: Some(facts),
        connection: Some(connection),
        ..SubjectRecord::default()
    };
    Ok(SeenOf { subject, storage, watched })
}

/// Storage without a server: the devices below all paths are observed.
fn storage(paths: &[&Path]) -> SeenOf {
    let subject = SubjectRecord { name: ONLY.to_owned(), ..SubjectRecord::default() };
    let storage = paths.first().and_then(|path| pgdyno_host::facts::storage(path).ok());
    SeenOf { subject, storage, watched: watch::of_storage(paths) }
}

fn facts(session: &mut Session) -> Result<ServerFacts, Problem> {
    let facts = server_facts(session, ServerSource::External, None)
        .map_err(|error| error.into_problem("could not read the server's facts"))?;
    Ok(match postmaster_of(session) {
        Some(_) => with_storage(facts),
        None => ServerFacts { data_directory: None, ..facts },
    })
}

fn connection(session: &Session) -> ConnectionFacts {
    let transport = match session.address() {
        Address::Unix(..) => Transport::UnixSocket,
        Address::Tcp(..) => Transport::Tcp,
    };
    ConnectionFacts {
        transport: Some(transport),
        encryption: session.encryption(),
        ..ConnectionFacts::of_own_server()
    }
}

fn record(
    job: &OperationJob<'_>,
    lab: &Lab,
    subject: SubjectRecord,
    (storage, id): (Option<Storage>, &str),
    now: &Timestamp,
) -> Result<RunRecord, Problem> {
    let host = pgdyno_host::facts::host()
        .map_err(|error| Problem::could_not(format!("could not read the facts of this machine: {error}")))?;
    let transport = match subject.connection.as_ref().map(|connection| connection.transport) {
        Some(Some(Transport::Tcp)) => "tcp",
        Some(_) => "unix",
        None => "none",
    };
    let plan = plan(job, transport);
    Ok(RunRecord {
        storage,
        subjects: vec![subject],
        ..RunRecord::begin((id, now), lab.program.record(), job.command.clone(), plan, host)
    })
}

/// A plan that drives nothing.
fn plan(job: &OperationJob<'_>, transport: &str) -> PlanRecord {
    PlanRecord {
        jobs: u32::try_from(job.connections).unwrap_or(u32::MAX),
        server: if transport == "none" { "none" } else { "external" }.to_owned(),
        transport: transport.to_owned(),
        ..PlanRecord::new(job.name, &job.description)
    }
}
