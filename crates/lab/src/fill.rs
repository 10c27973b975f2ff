//! Fills empty servers with the plan's data.

use std::time::Instant;

use pgdyno_core::problem::Problem;
use pgdyno_plan::{SetPlace, Steps, advice::bench::BUFFERS_SHARE};
use pgdyno_postgres::load::{
    KeyWorkers, LoadOutcome, LoadProgress, PhaseObserver, accounts_state, check_connections, load_tables,
    ready, settle,
};
use pgdyno_postgres::probe::loaded::{PrewarmOutcome, prewarm, prewarm_own};
use pgdyno_record::{LoadRecord, LoadTerms, PrewarmRecord, SetupDone, SubjectRecord, redact_sql};
use pgdyno_rows::load::{LoadPlan, Set, Stage, Way};
use pgdyno_wire::Session;

use crate::{
    context::Context,
    records,
    subject::Subject,
    table_sets::{of_set, places},
};

/// Loads the tables of a plan over so many connections; several sets of tables one after the other, each with a seed
/// larger by one than that of the set before.
///
/// # Errors
/// The first problem, or that a stop was requested.
pub fn load(
    context: Context<'_>,
    plan: &LoadPlan,
    streams: u64,
    subject: &mut Subject,
) -> Result<LoadRecord, Problem> {
    each_set(context, plan, subject, |plan, subject, (place, sets)| {
        let (record, mut session) = load_rows(context, plan, streams, subject, (place, ""))?;
        // The sets that follow are as large as this one.
        let size_bytes = record.size_bytes.saturating_mul(sets);
        let set = (Some(plan.set), place);
        let prewarm = prewarm_if_it_fits(context, &mut session, set, size_bytes, subject)?;
        let accounts = (plan.set == Set::Tpcb).then(|| accounts_state(&mut session)).transpose();
        let accounts = accounts.map_err(|error| error.into_problem("could not inspect the loaded tables"))?;
        Ok(LoadRecord { accounts, prewarm, ..record })
    })
}

/// Loads the tables of a plan once more, to time it; nothing else is done with them.
///
/// # Errors
/// As [`load`].
pub fn load_again(
    context: Context<'_>,
    plan: &LoadPlan,
    streams: u64,
    subject: &mut Subject,
    whose: &str,
) -> Result<LoadRecord, Problem> {
    each_set(context, plan, subject, |plan, subject, (place, _)| {
        load_rows(context, plan, streams, subject, (place, whose)).map(|(record, _)| record)
    })
}

/// Loads all sets of tables, one of so many after the other, and adds up their records.
fn each_set(
    context: Context<'_>,
    plan: &LoadPlan,
    subject: &mut Subject,
    load: impl Fn(&LoadPlan, &mut Subject, (&SetPlace, u64)) -> Result<LoadRecord, Problem>,
) -> Result<LoadRecord, Problem> {
    let places = places(context.prepared.plan.data.tpcc.as_ref());
    let mut whole: Option<LoadRecord> = None;
    for (place, number) in places.iter().zip(0..) {
        subject.make_place(place)?;
        let plan = LoadPlan { seed: plan.seed.wrapping_add(number), ..plan.clone() };
        let record = load(&plan, subject, (place, places.len() as u64));
        let record = record.map_err(|problem| of_set(place, problem))?;
        whole = Some(match whole {
            Some(whole) => whole.with_set(&record),
            None => record,
        });
    }
    whole.ok_or_else(|| Problem::could_not("there is nothing to load"))
}

/// Loads one set of tables; the session is one of those that did. What it shows begins with whose load it is, if that
/// is not empty.
fn load_rows(
    context: Context<'_>,
    plan: &LoadPlan,
    streams: u64,
    subject: &mut Subject,
    (place, whose): (&SetPlace, &str),
) -> Result<(LoadRecord, Session), Problem> {
    let Context { stop, events, .. } = context;
    let of = place.name().map(|name| format!(" {name}")).unwrap_or_default();
    events.counting(&format!("{whose}loading{of}"), plan.rows_total(), "rows");
    let show = &mut |at: LoadProgress| match at.stage {
        Stage::Copy => events.counted(at.rows),
        stage => events.doing(&format!("{whose}{}", stage.name())),
    };
    let mut sessions = vec![subject.set_session(place)?];
    if streams > 1 {
        // Ask for the connections first: the server may not have enough for all of them.
        let hint =
            "use fewer connections to load (--load-jobs), or raise max_connections and restart the server";
        check_connections(&mut sessions[0], streams).map_err(|problem| problem.hint(hint))?;
        for _ in 1..streams {
            sessions.push(subject.set_session(place)?);
        }
    }
    let survey = ready(&mut sessions, plan)?;
    // Without a connection for it, phases are not observed.
    let observer = subject.set_session(place).ok().map(|session| PhaseObserver::new(session, &survey, plan));
    let outcome = load_tables(&mut sessions, observer, plan, stop, show)?;
    let record = record_of(plan, streams, &outcome);
    let (planned, launched) = (outcome.planned, outcome.launched);
    let (asked, limits) = (survey.keys.workers, survey.keys.limits);
    let workers = records::key_workers(&KeyWorkers { asked, planned, launched, limits });
    Ok((LoadRecord { key_workers: Some(workers), ..record }, sessions.swap_remove(0)))
}

/// The record of a load. Sizes and phases are added by the caller.
fn record_of(plan: &LoadPlan, streams: u64, outcome: &LoadOutcome) -> LoadRecord {
    let copy_s = outcome.seconds(|stage| stage == Stage::Copy);
    let each_s = |amount: u64| (copy_s > 0.0).then(|| amount as f64 / copy_s);
    let by_server = plan.way == Way::Server;
    LoadRecord {
        terms: Some(LoadTerms::new(plan, streams)),
        rows: outcome.rows,
        rows_per_s: each_s(outcome.rows),
        copy_bytes: outcome.copy_bytes,
        copy_bytes_per_s: each_s(outcome.copy_bytes).filter(|_| !by_server).map(|rate| rate as u64),
        copy_s,
        vacuum_s: outcome.seconds(|stage| matches!(stage, Stage::Vacuum | Stage::Analyze)),
        index_s: outcome.seconds(|stage| stage > Stage::Analyze),
        stages: outcome.stages.iter().map(|time| records::stage(time, Some(outcome.rows))).collect(),
        size_bytes: outcome.size_bytes,
        copy_format: if by_server { "none" } else { "text" }.to_owned(),
        freeze: plan.way == Way::Stream,
        ..LoadRecord::default()
    }
}

/// Reads tables that fit into shared buffers, so that all blocks of a cell start from the same cache state. Larger
/// tables are measured as the load left them. Several servers are treated alike: if the tables fit on one of them, they
/// are read on all, each up to the size of its shared buffers; of tables that differ, the smallest decide. The plan's
/// own tables belong to no `set`. A plan whose stages say when tables are read has no other time for it.
fn prewarm_if_it_fits(
    Context { prepared, events, .. }: Context<'_>,
    session: &mut Session,
    (set, place): (Option<Set>, &SetPlace),
    size_bytes: u64,
    subject: &Subject,
) -> Result<Option<PrewarmRecord>, Problem> {
    if prepared.plan.prewarms().next().is_some() {
        return Ok(None);
    }
    let least_bytes = prepared.smallest_tables_bytes.unwrap_or(size_bytes);
    if least_bytes as f64 > subject.largest_buffers_bytes as f64 * BUFFERS_SHARE {
        return Ok(None);
    }
    events.doing("reading tables into shared buffers");
    let read = match set {
        Some(Set::Tpcb) => prewarm(session).map(Some),
        Some(Set::Scaleup | Set::Tpcc) | None => prewarm_own(session, &subject.set_scope(place)),
    };
    let read = read.map_err(|error| error.into_problem("could not read the tables into shared buffers"))?;
    let record = |done: PrewarmOutcome| PrewarmRecord {
        method: done.method.name().to_owned(),
        duration_s: done.duration_s,
    };
    Ok(read.map(record))
}

/// Reads the tables of a restarted server into shared buffers, if that was done after they were loaded.
///
/// # Errors
/// The tables could not be read.
pub fn prewarm_again(
    context: Context<'_>,
    subject: &mut Subject,
    record: &SubjectRecord,
) -> Result<(), Problem> {
    let loaded = record.load.as_ref().filter(|load| load.prewarm.is_some()).map(|load| load.size_bytes);
    let set_up = record.setup.as_ref().filter(|setup| setup.prewarm.is_some()).map(|setup| setup.size_bytes);
    let set = context.prepared.first_load().map(|plan| plan.set).filter(|_| loaded.is_some());
    let Some(size_bytes) = set_up.or(loaded) else { return Ok(()) };
    let set = set.filter(|_| set_up.is_none());
    for place in places(context.prepared.plan.data.tpcc.as_ref()) {
        let mut session = subject.set_session(&place)?;
        prewarm_if_it_fits(context, &mut session, (set, &place), size_bytes, subject)?;
    }
    Ok(())
}

/// Most characters of a statement that are shown while it runs.
const SHOWN: usize = 48;

/// Sets up the plan's own tables.
///
/// # Errors
/// The first statement that failed, or that a stop was requested.
pub fn set_up(context: Context<'_>, setup: &Steps, subject: &mut Subject) -> Result<SetupDone, Problem> {
    let Context { prepared, stop, events, .. } = context;
    let (begin, total) = (Instant::now(), setup.statements());
    let show = &mut |number: u64, label: &str| {
        events.doing(&format!("setting up, {number} of {total}: {}", short(label)));
    };
    let statements = subject.run_steps(context, setup, prepared.bench.max_clients(), show)?;
    let statements_s = begin.elapsed().as_secs_f64();
    let mut session = subject.session()?;
    events.doing("vacuuming");
    let outcome = settle(&mut session, &subject.table_scope(), stop)?;
    let none = (None, &SetPlace::Found);
    Ok(SetupDone {
        statements,
        statements_s,
        vacuum_s: outcome.vacuum_s,
        tables: outcome.tables,
        size_bytes: outcome.size_bytes,
        prewarm: prewarm_if_it_fits(context, &mut session, none, outcome.size_bytes, subject)?,
    })
}

/// A statement, shortened for the line of events.
fn short(label: &str) -> String {
    let label = redact_sql(label);
    match label.char_indices().nth(SHOWN) {
        Some((cut, _)) => format!("{}…", &label[..cut]),
        None => label,
    }
}
