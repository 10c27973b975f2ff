//! The TPC-C part of a run: its tables and its terminals.

use std::collections::{BTreeMap, BTreeSet};

use pgdyno_core::{
    measure::TpccRun,
    problem::Problem,
    tpcc::{DERIVED, RunConstants, Shares},
};
use pgdyno_engine::Population;
use pgdyno_plan::{Isolation, SetPlace, TpccWork};
use pgdyno_postgres::driving::population::population;
use pgdyno_postgres::load::find_tpcc;
use pgdyno_rows::load::Set;
use pgdyno_script::tpcc::{TerminalParams, setup};
use pgdyno_wire::ConnectOptions;

use crate::{
    context::Context,
    draw_seed,
    subject::{Subject, run_state::with_sessions_of},
    table_sets::{TableSet, of_set},
    tpcc_facts::{TpccFacts, check_warehouses},
};

/// Checks that the tables match the plan, creates functions if the plan calls them, and returns parameters for the
/// terminals.
///
/// # Errors
/// How the tables differ.
pub fn ready(context: Context<'_>, subject: &mut Subject, server: usize) -> Result<(), Problem> {
    let Some(wanted) = &context.prepared.plan.data.tpcc else { return Ok(()) };
    let command = draw_seed() as u32;
    let mut sets = Vec::new();
    for (place, number) in wanted.places().into_iter().zip(0..) {
        let set = table_set(context, (subject, server), (place.clone(), number), wanted.warehouses, command);
        sets.push(set.map_err(|problem| of_set(&place, problem))?);
    }
    let text = works(context).find_map(|work| setup(work.shape));
    // Once for the schemas of a database, and once for each database.
    let mut databases = BTreeSet::new();
    for set in sets.iter().filter(|set| databases.insert(set.clients.database.as_str())) {
        text.map_or(Ok(()), |text| subject.make_functions(set, text))?;
    }
    subject.sets = sets;
    Ok(())
}

/// Finds a set of tables, the `number`th from 0, on a server of the job.
fn table_set(
    context: Context<'_>,
    (subject, server): (&mut Subject, usize),
    (place, number): (SetPlace, u64),
    warehouses: u64,
    command: u32,
) -> Result<TableSet, Problem> {
    let prepared = context.prepared;
    let found = find_tpcc(&mut subject.set_session(&place)?)?;
    check_warehouses(found.warehouses, warehouses)?;
    // Tables loaded for this run have no ledger.
    let ours = prepared.first_load().filter(|load| load.set == Set::Tpcc);
    let loaded_by = found.loaded_by.or_else(|| ours.map(|load| load.seed.wrapping_add(number)));
    let constants = RunConstants::draw(prepared.seed, loaded_by.map(RunConstants::loaded));
    let clients = subject.client_options(&place)?;
    let isolation = subject.default_isolation(&clients)?;
    let isolation_of = isolation_of_subjects(context, subject, server, &clients)?;
    let is_usual = context.job.subjects_at(server).any(|(_, subject)| subject.drive.is_none());
    let levels = || isolation_of.values().chain(is_usual.then_some(&isolation));
    works(context).try_for_each(|work| levels().try_for_each(|level| fits(&work, level)))?;
    let facts = TpccFacts {
        terminals: TerminalParams { warehouses, constants, seed: prepared.seed, command, run: 0 },
        load_constant_known: loaded_by.is_some(),
        isolation,
        isolation_of,
    };
    Ok(TableSet { place, clients, facts })
}

/// The isolation levels of subjects whose sessions have settings of their own.
fn isolation_of_subjects(
    context: Context<'_>,
    subject: &Subject,
    server: usize,
    clients: &ConnectOptions,
) -> Result<BTreeMap<usize, String>, Problem> {
    let own = context.job.subjects_at(server).filter_map(|(at, job)| Some((at, job.drive.as_ref()?)));
    own.map(|(at, drive)| {
        let options = with_sessions_of(clients.clone(), Some(drive));
        Ok((at, subject.default_isolation(&options)?))
    })
    .collect()
}

fn works(context: Context<'_>) -> impl Iterator<Item = TpccWork> {
    context.job.workload_files.work.iter().filter_map(|work| work.tpcc)
}

/// Checks the default isolation level of role, database or sessions. A level in the plan itself was checked with the
/// plan.
fn fits(work: &TpccWork, isolation: &str) -> Result<(), Problem> {
    let strict = [Isolation::RepeatableRead, Isolation::Serializable].map(Isolation::sql);
    if work.isolation.is_some() || work.max_tries != 1 || !strict.contains(&isolation) {
        return Ok(());
    }
    let what = format!(
        "could not run TPC-C: transactions are {isolation} here by default, so they can fail with a serialization \
         failure, and are not retried"
    );
    Err(Problem::wrong_request(what).hint("allow several tries, such as 10, or request read-committed"))
}

/// The terminals of a paced workload, and the record of how a subject's run executes TPC-C; the run counts its
/// shares.
pub fn in_run_of(work: &TpccWork, facts: &TpccFacts, subject: usize) -> (Option<Population>, TpccRun) {
    let isolation = work.isolation.map(|isolation| isolation.sql().to_owned());
    let warehouses = facts.terminals.warehouses;
    let record = TpccRun {
        warehouses,
        shape: work.shape,
        isolation: isolation.or_else(|| Some(facts.isolation_of(subject).to_owned())),
        max_tries: work.max_tries,
        paced: work.paced,
        transactions: work.transactions,
        sets: None,
        drivers: (work.drivers > 0).then_some(work.drivers),
        weights: work.weights,
        load_constant_known: facts.load_constant_known,
        note: DERIVED.to_owned(),
        shares: Shares::default(),
    };
    (population(work, warehouses), record)
}
