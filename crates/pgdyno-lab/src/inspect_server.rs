//! A server that is there, as it is found: behind what, in which role, and what of the plan it can do.

use pgdyno_core::{
    facts::{Choice, ConnectionFacts, PoolerFacts, ServerFacts, ServerSource, Transport},
    problem::Problem,
    stop::Stop,
};
use pgdyno_plan::Plan;
use pgdyno_postgres::observe::{Instance, check_version, postmaster_of, server_facts};
use pgdyno_script::Protocol;
use pgdyno_wire::{
    Address, ConnectOptions, NOBODY_THERE, PoolMode, Pooler, Session, WireError, connect_unless, find_pooler,
};

use super::{External, places::located};

/// What was found.
#[derive(Debug)]
pub struct ExistingServer {
    /// Facts of the server that is driven.
    pub facts: ServerFacts,
    /// Whether it is on this machine.
    pub local: bool,
    /// The way to it.
    pub connection: ConnectionFacts,
    /// Connections that the driver's role may not use.
    pub reserved_connections: u32,
    /// Whether the server that is prepared is another than the one that is driven: its primary.
    pub elsewhere: bool,
    /// What had to be chosen because of what was found.
    pub choices: Vec<Choice>,
}

impl ExistingServer {
    /// Whether a pooler stands in front of the server.
    pub fn pooled(&self) -> bool {
        self.connection.pooler.is_some()
    }
}

/// Looks at the server, and changes in the plan what it cannot do otherwise. `writing` is a built-in script that is to
/// run there and writes, if there is one.
///
/// # Errors
/// Where it cannot be reached, or cannot do what the plan asks for.
pub fn inspect(
    external: &External,
    plan: &mut Plan,
    writing: Option<&str>,
    stop: &Stop,
) -> Result<ExistingServer, Problem> {
    let mut session = open(&external.drive, stop)?;
    check_version(&session)?;
    let pooler = find_pooler(&external.drive, stop)?;
    let failed = |error: WireError| error.into_problem("could not read the server's facts");
    let instance = Instance::of(&mut session).map_err(failed)?;
    let mut admin = open(external.admin(), stop)?;
    let prepared = Instance::of(&mut admin).map_err(failed)?;
    // Two names of one server are one server; a pooler in front of it changes nothing about that.
    let elsewhere = instance.is_other_than(&prepared);
    refuse_preparing(external, pooler.as_ref(), &prepared, stop)?;
    refuse_driving(writing, pooler.as_ref(), &instance)?;
    let choices = choose(plan, pooler.as_ref());
    let reserved_connections = reserved(&mut session).map_err(failed)?;
    let facts = server_facts(&mut session, ServerSource::External, None).map_err(failed)?;
    let seen = if elsewhere { &session } else { &admin };
    let local = postmaster_of(seen).is_some();
    let facts = if local { located(facts) } else { ServerFacts { data_directory: None, ..facts } };
    let transport = match session.address() {
        Address::Unix(..) => Transport::UnixSocket,
        Address::Tcp(..) => Transport::Tcp,
    };
    let connection = ConnectionFacts {
        transport: Some(transport),
        encryption: session.encryption(),
        pooler: pooler.map(|pooler| PoolerFacts {
            name: pooler.name,
            mode: pooler.mode.name().to_owned(),
            keeps_prepared: pooler.keeps_prepared,
        }),
        standby: instance.standby,
        separate_admin: external.admin.is_some(),
    };
    let local = local || matches!(session.address(), Address::Unix(..));
    Ok(ExistingServer { facts, local, connection, reserved_connections, elsewhere, choices })
}

/// Connections kept for superusers and for those who may use reserved ones (from 16 on).
fn reserved(session: &mut Session) -> Result<u32, WireError> {
    let sum = "SELECT pg_catalog.sum(setting::int) FROM pg_catalog.pg_settings \
               WHERE name IN ('superuser_reserved_connections', 'reserved_connections')";
    Ok(session.value(sum)?.and_then(|sum| sum.parse().ok()).unwrap_or(0))
}

fn open(options: &ConnectOptions, stop: &Stop) -> Result<Session, Problem> {
    let mut session = connect_unless(stop, options).map_err(or_have_one_made)?;
    session.heed(stop);
    Ok(session)
}

/// What measures can do without a server that is there.
fn or_have_one_made(problem: Problem) -> Problem {
    match problem.hint.as_deref() {
        Some(NOBODY_THERE) => problem.hint(format!("{NOBODY_THERE}, or leave both out to have one made")),
        _ => problem,
    }
}

/// Preparing needs a session that keeps what is set in it, at a server that takes writes.
fn refuse_preparing(
    external: &External,
    drive: Option<&Pooler>,
    prepared: &Instance,
    stop: &Stop,
) -> Result<(), Problem> {
    if prepared.standby {
        return Err(Problem::wrong_request("could not prepare a standby: it takes no writes")
            .hint("name its primary by --admin-dsn; the rows come by replication"));
    }
    let own = match &external.admin {
        Some(admin) => find_pooler(admin, stop)?,
        None => drive.cloned(),
    };
    match own {
        Some(pooler) if pooler.mode != PoolMode::Session => Err(Problem::wrong_request(format!(
            "could not prepare through {}: it gives a server connection to another client after every {}",
            pooler.name.as_deref().unwrap_or("a pooler"),
            if pooler.mode == PoolMode::Statement { "statement" } else { "transaction" },
        ))
        .hint(
            "name the server itself by --admin-dsn, of a subject by dsn=…,admin-dsn=…; the clients are driven \
             through the pooler all the same",
        )),
        _ => Ok(()),
    }
}

/// Refuses scripts that cannot run there, by name.
fn refuse_driving(writing: Option<&str>, pooler: Option<&Pooler>, at: &Instance) -> Result<(), Problem> {
    let Some(writing) = writing else { return Ok(()) };
    let hint = "drive select-only alone: a plan says which transactions are driven (`[[workload]]`), and `ab` has \
                --builtin";
    if at.standby {
        let what =
            format!("could not drive {writing} at a standby: it writes, and a standby takes no writes");
        return Err(Problem::wrong_request(what).hint(hint));
    }
    if pooler.is_some_and(|pooler| pooler.mode == PoolMode::Statement) {
        let what = format!(
            "could not drive {writing} through a pooler in statement mode: it begins a transaction block"
        );
        return Err(Problem::wrong_request(what).hint(hint));
    }
    Ok(())
}

/// Where prepared statements of different clients meet, nothing is prepared.
fn choose(plan: &mut Plan, pooler: Option<&Pooler>) -> Vec<Choice> {
    let Some(pooler) = pooler.filter(|pooler| !pooler.keeps_prepared) else { return Vec::new() };
    let mut changed = false;
    for workload in plan.workload.iter_mut().filter(|workload| workload.protocol == Protocol::Prepared) {
        workload.protocol = Protocol::Extended;
        changed = true;
    }
    let choice = Choice {
        name: "protocol".to_owned(),
        value: Protocol::Extended.name().to_owned(),
        reason: format!(
            "{} does not keep the prepared statements of its clients apart",
            pooler.name.as_deref().unwrap_or("the pooler")
        ),
    };
    changed.then_some(choice).into_iter().collect()
}
