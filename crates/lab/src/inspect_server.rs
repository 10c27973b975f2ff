//! Inspects the existing servers: pooler, role, and what of the plan they support.

use std::collections::BTreeMap;

use pgdyno_core::{
    facts::{Choice, ConnectionFacts, PoolerFacts, ServerFacts, ServerSource, Transport},
    problem::Problem,
    stop::Stop,
    tpcc::Shape,
};
use pgdyno_plan::{Plan, SetPlace, TpccWork};
use pgdyno_postgres::observe::{Instance, check_version, postmaster_of, server_facts};
use pgdyno_script::{Builtin, Protocol};
use pgdyno_wire::{
    Address, ConnectOptions, NOBODY_THERE, PoolMode, Pooler, Session, WireError, connect_unless, find_pooler,
};

use crate::{
    External, Job, Wanted,
    existing_tables::{self, FoundTables},
    server_storage::with_storage,
    session_settings::seen_by,
    table_sets::{places, within},
};

/// An existing server as it was found.
#[derive(Debug)]
pub struct ExistingServer {
    /// Facts of the server under test.
    pub facts: ServerFacts,
    /// Whether it is on this machine.
    pub local: bool,
    /// Facts of the connection.
    pub connection: ConnectionFacts,
    /// Connection slots that the driver's role may not use.
    pub reserved_connections: u32,
    /// Whether the tables are prepared on another server, the primary of the one under test.
    pub elsewhere: bool,
    /// Choices that follow from what was found.
    pub choices: Vec<Choice>,
    /// Tables that are there.
    pub tables: FoundTables,
    /// The server as subjects with sessions of their own see it, by the index of the subject.
    pub seen_by: BTreeMap<usize, ServerFacts>,
    /// Index of the server before it in the job's list that is the same database, reached in another way.
    pub shares: Option<usize>,
    /// Server and database in which tables are prepared.
    prepared_at: (Instance, String),
}

impl ExistingServer {
    /// Whether the connection goes through a pooler.
    pub fn pooled(&self) -> bool {
        self.connection.pooler.is_some()
    }
}

/// Inspects the existing servers of a job, and adapts the plan to what they support; `None` for an own server.
///
/// # Errors
/// A server could not be reached, or does not support what the job requests.
pub fn inspect_all(job: &Job, plan: &mut Plan, stop: &Stop) -> Result<Vec<Option<ExistingServer>>, Problem> {
    let mut all = Vec::new();
    for (at, wanted) in job.servers.iter().enumerate() {
        let Wanted::External(external) = wanted else {
            refuse_loaded(job)?;
            all.push(None);
            continue;
        };
        let driven = job.builtins_at(at);
        let tpcc = plan.workload.iter().any(|workload| workload.tpcc.is_some()).then_some("TPC-C");
        let writing = driven.into_iter().find(|script| script.writes()).map(Builtin::name).or(tpcc);
        let reached = inspect(external, plan, writing, stop).and_then(|reached| refuse_setup(job, reached));
        let mut reached =
            reached.map_err(|problem| Problem { what: job.of_subject(at, &problem.what), ..problem })?;
        reached.choices.iter_mut().for_each(|choice| choice.reason = job.of_subject(at, &choice.reason));
        reached.shares = same_database(job, (at, &reached), &all)?;
        reached.seen_by = seen_by(job.subjects_at(at), external, &reached.facts, reached.pooled(), stop)?;
        // What its tables promise is added to what sessions do; each subject has the weaker.
        let best = reached.seen_by.values().map(|facts| facts.durability).min();
        reached.facts.durability = best.unwrap_or(reached.facts.durability);
        all.push(Some(reached));
    }
    Ok(all)
}

/// Inspects the server, and adapts the plan to what it supports. `writing` is the built-in script to run there that
/// writes, if any.
///
/// # Errors
/// The server could not be reached, or does not support what the plan requests.
fn inspect(
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
    // Compare instances, not addresses: one server may have two addresses, or a pooler in front of it.
    let elsewhere = instance.is_other_than(&prepared);
    refuse_preparing(external, pooler.as_ref(), &prepared, stop)?;
    refuse_driving(writing, pooler.as_ref(), &instance)?;
    let choices = choose(plan, pooler.as_ref());
    refuse_sets(plan, pooler.is_some())?;
    let tables =
        existing_tables::find(plan, &mut session, &mut |place| open(&within(&external.drive, place), stop))?;
    let reserved_connections = reserved(&mut session).map_err(failed)?;
    let facts = server_facts(&mut session, ServerSource::External, None).map_err(failed)?;
    let seen = if elsewhere { &session } else { &admin };
    let local = postmaster_of(seen).is_some();
    let facts = if local { with_storage(facts) } else { ServerFacts { data_directory: None, ..facts } };
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
    let database = admin.value("SELECT pg_catalog.current_database()").map_err(failed)?.unwrap_or_default();
    Ok(ExistingServer {
        facts,
        local,
        connection,
        reserved_connections,
        elsewhere,
        choices,
        tables,
        seen_by: BTreeMap::new(),
        shares: None,
        prepared_at: (prepared, database),
    })
}

/// The first server of a job that is the same database as this one. That is refused where each would load its tables
/// into the same schema; tables that are there are measured in two ways.
fn same_database(
    job: &Job,
    (at, reached): (usize, &ExistingServer),
    before: &[Option<ExistingServer>],
) -> Result<Option<usize>, Problem> {
    let is_same = |other: &Option<ExistingServer>| {
        other.as_ref().is_some_and(|other| other.prepared_at == reached.prepared_at)
    };
    let Some(first) = before.iter().position(is_same) else { return Ok(None) };
    if job.plan.data.loaded {
        return Ok(Some(first));
    }
    let name = |server: usize| job.subjects_at(server).next().map_or("", |(_, subject)| &subject.name);
    let (one, other, database) = (name(first), name(at), &reached.prepared_at.1);
    let what =
        format!("could not use database {database} for {one} and for {other}: it is reached in two ways");
    Err(Problem::wrong_request(what).hint(
        "measure tables that are there, which both then share (--tables existing), or name it by the same connection \
         string for both, which may differ in `options`, or CREATE DATABASE for one of them",
    ))
}

/// Connection slots reserved for superusers and for `pg_use_reserved_connections` (since 16).
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

/// Adds the hint that measuring commands can start a server themselves.
fn or_have_one_made(problem: Problem) -> Problem {
    match problem.hint.as_deref() {
        Some(NOBODY_THERE) => {
            problem.hint(format!("{NOBODY_THERE}, or leave both out to have pgdyno start one"))
        }
        _ => problem,
    }
}

/// Refuses to prepare tables on a standby, or through a pooler that does not keep session state.
fn refuse_preparing(
    external: &External,
    drive: Option<&Pooler>,
    prepared: &Instance,
    stop: &Stop,
) -> Result<(), Problem> {
    if prepared.standby {
        return Err(Problem::wrong_request("could not prepare a standby: it accepts no writes")
            .hint("name its primary by --admin-dsn; the rows arrive by replication"));
    }
    let own = match &external.admin {
        Some(admin) => find_pooler(admin, stop)?,
        None => drive.cloned(),
    };
    match own {
        Some(pooler) if pooler.mode != PoolMode::Session => Err(Problem::wrong_request(format!(
            "could not prepare through {}: it may give a server connection to another client after every {}",
            pooler.name.as_deref().unwrap_or("a pooler"),
            if pooler.mode == PoolMode::Statement { "statement" } else { "transaction" },
        ))
        .hint(
            "name the server itself by --admin-dsn, of a subject by dsn=…,admin-dsn=…; the clients connect \
             through the pooler in any case",
        )),
        _ => Ok(()),
    }
}

/// Refuses to run scripts on a server that cannot execute them.
fn refuse_driving(writing: Option<&str>, pooler: Option<&Pooler>, at: &Instance) -> Result<(), Problem> {
    let Some(writing) = writing else { return Ok(()) };
    let hint = "run select-only alone: a plan lists its transactions (`[[workload]]`), and `ab` has \
                --builtin";
    if at.standby {
        let what =
            format!("could not run {writing} on a standby: it writes, and a standby accepts no writes");
        return Err(Problem::wrong_request(what).hint(hint));
    }
    if pooler.is_some_and(|pooler| pooler.mode == PoolMode::Statement) {
        let what = format!(
            "could not run {writing} through a pooler in statement mode: it begins a transaction block"
        );
        return Err(Problem::wrong_request(what).hint(hint));
    }
    Ok(())
}

/// Chooses the extended protocol if the pooler mixes up prepared statements of different clients.
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
            "{} does not track prepared statements per client",
            pooler.name.as_deref().unwrap_or("the pooler")
        ),
    };
    changed.then_some(choice).into_iter().collect()
}

/// Refuses the plan's own tables behind a pooler.
fn refuse_setup(job: &Job, reached: ExistingServer) -> Result<ExistingServer, Problem> {
    let data = &job.plan.data;
    let loads = !data.loaded && (data.scaleup.is_some() || data.tpcc.is_some());
    if !reached.pooled() || (job.workload_files.setup.is_none() && !loads) {
        return refuse_tpcc(job, reached);
    }
    let what = "could not use the plan's own tables through a pooler: its sessions have no search_path with \
                schema pgdyno";
    Err(Problem::wrong_request(what).hint("connect to the server itself (--dsn), without the pooler"))
}

/// Refuses TPC-C behind a pooler if its sessions need settings at startup.
fn refuse_tpcc(job: &Job, reached: ExistingServer) -> Result<ExistingServer, Problem> {
    let mut works = job.plan.workload.iter().filter_map(|workload| workload.tpcc);
    let asks = |work: TpccWork| work.shape == Shape::Functions || work.isolation.is_some();
    if !reached.pooled() || !works.any(asks) {
        return Ok(reached);
    }
    let what = "could not run TPC-C by functions, or at an isolation level, through a pooler: its sessions cannot be \
                configured";
    Err(Problem::wrong_request(what).hint(
        "use the shape \"statements\" or \"pipelined\" at the server's default level, or connect to the server itself",
    ))
}

/// Refuses several sets of tables behind a pooler, whose sessions cannot be configured, and those that would be loaded
/// into an existing server.
fn refuse_sets(plan: &Plan, pooled: bool) -> Result<(), Problem> {
    if places(plan.data.tpcc.as_ref()) == [SetPlace::Found] {
        return Ok(());
    }
    if pooled {
        let what =
            "could not drive several sets of tables through a pooler: its sessions cannot be configured";
        return Err(
            Problem::wrong_request(what).hint("connect to the server itself (--dsn), without the pooler")
        );
    }
    if !plan.data.loaded {
        let what = "could not load several sets of tables into an existing server for a run";
        return Err(Problem::wrong_request(what).hint(
            "load them with `pgdyno load tpcc --schemas N`, and measure those (--tables existing, `loaded` in [data])",
        ));
    }
    Ok(())
}

/// Refuses `loaded` tables on an own server, which starts empty.
fn refuse_loaded(job: &Job) -> Result<(), Problem> {
    if !job.plan.data.loaded {
        return Ok(());
    }
    let what = "could not use existing tables: pgdyno's own server has none";
    Err(Problem::wrong_request(what)
        .hint("leave `loaded` or --tables existing out, or name the server that has them (--server, --dsn)"))
}

#[cfg(test)]
mod tests {
    use pgdyno_plan::{TpccPlan, WorkloadFiles, advice::bench::Level};
    use pgdyno_provision::Request;

    use super::*;
    use crate::{Question, SubjectJob};

    #[test]
    fn an_own_server_has_no_existing_tables() {
        let mut plan = Plan::bench();
        let workload_files = WorkloadFiles::without_files(&plan).expect("built-in scripts alone");
        (plan.data.tpcc, plan.data.loaded) = (Some(TpccPlan::of(1)), true);
        let mut job = Job {
            plan: plan.clone(),
            workload_files,
            trust: false,
            level: Level::Quick,
            servers: vec![Wanted::Own(Box::new(Request::named("x")))],
            subjects: vec![SubjectJob::only()],
            question: Question::Levels,
            command: "pgdyno run x.toml".into(),
            seed_given: false,
            keep: false,
            allow_host_changes: false,
        };
        let refused = inspect_all(&job, &mut plan, &Stop::default()).expect_err("it starts empty");
        assert_eq!(refused.what, "could not use existing tables: pgdyno's own server has none");
        job.plan.data.loaded = false;
        assert_eq!(inspect_all(&job, &mut plan, &Stop::default()).expect("it is loaded").len(), 1);
    }
}
