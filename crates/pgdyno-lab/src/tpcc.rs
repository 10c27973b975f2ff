//! TPC-C's part of a run: its tables before, its terminals, its conditions afterwards.

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
    tpcc_facts::{TpccFacts, are_as_many},
};

/// Places that the record keeps of a check.
const EXAMPLES: usize = 10;
/// Most sessions that check.
const MOST_CHECKERS: u64 = 8;

/// Looks whether the tables are those that the plan means, makes functions where it calls them, and says what terminals
/// go by.
///
/// # Errors
/// In what the tables differ.
pub fn ready(prepared: &Prepared, subject: &mut Subject, stop: &Stop) -> Result<(), Problem> {
    let Some(wanted) = prepared.plan.data.tpcc else { return Ok(()) };
    let TpccFound { warehouses, loaded_by } = find_tpcc(&mut subject.session(stop)?)?;
    are_as_many(warehouses, wanted.warehouses)?;
    // What was loaded for this run has no ledger.
    let ours = prepared.load.as_ref().filter(|load| load.set == Set::Tpcc && !wanted.loaded);
    let loaded_by = loaded_by.or_else(|| ours.map(|load| load.seed));
    let constants = RunConstants::draw(prepared.seed, loaded_by.map(RunConstants::loaded));
    let isolation = subject.default_isolation(stop)?;
    works(prepared).try_for_each(|work| fits(&work, &isolation))?;
    let command = draw_seed() as u32;
    subject.tpcc = Some(TpccFacts {
        crowd: TerminalParams { warehouses, constants, seed: prepared.seed, command, run: 0 },
        load_constant_known: loaded_by.is_some(),
        isolation,
    });
    let mut texts = works(prepared).filter_map(|work| setup(work.shape));
    texts.next().map_or(Ok(()), |text| subject.make_functions(text, stop))
}

fn works(prepared: &Prepared) -> impl Iterator<Item = TpccWork> {
    prepared.material.work.iter().filter_map(|work| work.tpcc)
}

/// What the role or the database says where nothing is asked for; the plan was held to what it asks for itself.
fn fits(work: &TpccWork, isolation: &str) -> Result<(), Problem> {
    let strict = [Isolation::RepeatableRead, Isolation::Serializable].map(Isolation::sql);
    if work.isolation.is_some() || work.max_tries != 1 || !strict.contains(&isolation) {
        return Ok(());
    }
    let what = format!(
        "could not drive TPC-C: transactions are {isolation} here by default, fail by each other, and are not tried \
         again"
    );
    Err(Problem::wrong_request(what).hint("allow several tries, such as 10, or ask for read-committed"))
}

/// The terminals of a paced workload.
pub fn population((work, ground): (TpccWork, &TpccFacts)) -> Option<Population> {
    let pace = |transaction: Transaction| {
        let terms = transaction.terms();
        Pace {
            keying_ns: (terms.keying_s * 1e9) as u64,
            think_ns: (terms.think_s * 1e9) as u64,
            // A Delivery is queued, and its terminal goes on (clause 2.7.2).
            queued: transaction == Transaction::Delivery,
        }
    };
    let paces = Transaction::ALL.map(pace).to_vec();
    work.paced.then(|| Population { users: ground.crowd.warehouses * DISTRICTS, paces })
}

/// What the record keeps of how a run drove it.
pub fn run_of(work: &TpccWork, ground: &TpccFacts, shares: Shares) -> TpccRun {
    let isolation = work.isolation.map(|isolation| isolation.sql().to_owned());
    TpccRun {
        warehouses: ground.crowd.warehouses,
        shape: work.shape,
        isolation: isolation.or_else(|| Some(ground.isolation.clone())),
        max_tries: work.max_tries,
        paced: work.paced,
        weights: work.weights,
        load_constant_known: ground.load_constant_known,
        note: DERIVED.to_owned(),
        shares,
    }
}

/// Looks whether the tables are consistent after all runs, where they are TPC-C's and the plan does not say otherwise.
///
/// # Errors
/// Where the check could not be carried out.
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
