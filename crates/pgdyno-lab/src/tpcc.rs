//! The TPC-C part of a run: its tables before, its terminals, its consistency conditions afterwards.

use pgdyno_core::{
    measure::TpccRun,
    problem::Problem,
    stop::Stop,
    tpcc::{DERIVED, DISTRICTS, RunConstants, Shares, Transaction},
    units,
};
use pgdyno_engine::{Pace, Population};
use pgdyno_plan::{Isolation, TpccWork};
use pgdyno_postgres::{
    load::{TpccFound, find_tpcc},
    verify::{CONDITIONS, check_tpcc},
};
use pgdyno_record::ConsistencyRecord;
use pgdyno_rows::load::Set;
use pgdyno_script::tpcc::{TerminalParams, setup};

use crate::{
    Events, Prepared, draw_seed,
    subject::Subject,
    tpcc_facts::{TpccFacts, check_warehouses},
};

/// Examples of violations that the record keeps per check.
const EXAMPLES: usize = 10;
/// Most sessions used by a check.
const MOST_CHECKERS: u64 = 8;

/// Checks that the tables match the plan, creates functions if the plan calls them, and returns parameters for the
/// terminals.
///
/// # Errors
/// How the tables differ.
pub fn ready(prepared: &Prepared, subject: &mut Subject, stop: &Stop) -> Result<(), Problem> {
    let Some(wanted) = prepared.plan.data.tpcc else { return Ok(()) };
    let TpccFound { warehouses, loaded_by } = find_tpcc(&mut subject.session(stop)?)?;
    check_warehouses(warehouses, wanted.warehouses)?;
    // Tables loaded for this run have no ledger.
    let ours = prepared.load.as_ref().filter(|load| load.set == Set::Tpcc && !wanted.loaded);
    let loaded_by = loaded_by.or_else(|| ours.map(|load| load.seed));
    let constants = RunConstants::draw(prepared.seed, loaded_by.map(RunConstants::loaded));
    let isolation = subject.default_isolation(stop)?;
    works(prepared).try_for_each(|work| fits(&work, &isolation))?;
    let command = draw_seed() as u32;
    subject.tpcc = Some(TpccFacts {
        terminals: TerminalParams { warehouses, constants, seed: prepared.seed, command, run: 0 },
        load_constant_known: loaded_by.is_some(),
        isolation,
    });
    let mut texts = works(prepared).filter_map(|work| setup(work.shape));
    texts.next().map_or(Ok(()), |text| subject.make_functions(text, stop))
}

fn works(prepared: &Prepared) -> impl Iterator<Item = TpccWork> {
    prepared.workload_files.work.iter().filter_map(|work| work.tpcc)
}

/// Checks the default isolation level of role or database. A level in the plan itself was checked with the plan.
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

/// The terminals of a paced workload.
pub fn population((work, facts): (TpccWork, &TpccFacts)) -> Option<Population> {
    let pace = |transaction: Transaction| {
        let terms = transaction.terms();
        Pace {
            keying_ns: (terms.keying_s * 1e9) as u64,
            think_ns: (terms.think_s * 1e9) as u64,
            // A Delivery is queued, so its terminal continues at once (clause 2.7.2).
            queued: transaction == Transaction::Delivery,
        }
    };
    let paces = Transaction::ALL.map(pace).to_vec();
    work.paced.then(|| Population { users: facts.terminals.warehouses * DISTRICTS, paces })
}

/// The record of how a run executed TPC-C.
pub fn run_of(work: &TpccWork, facts: &TpccFacts, shares: Shares) -> TpccRun {
    let isolation = work.isolation.map(|isolation| isolation.sql().to_owned());
    TpccRun {
        warehouses: facts.terminals.warehouses,
        shape: work.shape,
        isolation: isolation.or_else(|| Some(facts.isolation.clone())),
        max_tries: work.max_tries,
        paced: work.paced,
        weights: work.weights,
        load_constant_known: facts.load_constant_known,
        note: DERIVED.to_owned(),
        shares,
    }
}

/// Checks the consistency of TPC-C's tables after all runs, unless the plan turns the check off.
///
/// # Errors
/// The check could not be executed.
pub fn check(
    prepared: &Prepared,
    subject: &mut Subject,
    stop: &Stop,
    events: &Events,
) -> Result<Option<ConsistencyRecord>, Problem> {
    if prepared.plan.data.tpcc.is_none() || !prepared.plan.check.consistency {
        return Ok(None);
    }
    subject.revive(stop)?;
    let jobs = (prepared.host.cpu.allowed.len() as u64).clamp(1, MOST_CHECKERS);
    events.doing("checking consistency");
    let found = check_tpcc(&subject.table_options(), jobs, stop, &mut |done, all| {
        events.now(format!("checking consistency: {done} of {}", units::plural(all, "part")));
    })?;
    let places = found.violations.iter().flat_map(|violation| {
        violation.places.iter().map(|place| format!("{} in {place}", violation.condition.name))
    });
    Ok(Some(ConsistencyRecord {
        warehouses: found.warehouses,
        conditions: CONDITIONS.len() as u32,
        rows_examined: found.rows_examined,
        violations: found.violations.len() as u64,
        examples: places.take(EXAMPLES).collect(),
        duration_s: found.duration_s,
    }))
}
