//! The TPC-C part of a run: its tables and its terminals.

use pgdyno_core::{
    measure::TpccRun,
    problem::Problem,
    tpcc::{DERIVED, DISTRICTS, RunConstants, Shares, Transaction},
};
use pgdyno_engine::{Pace, Population};
use pgdyno_plan::{Isolation, TpccWork};
use pgdyno_postgres::load::{TpccFound, find_tpcc};
use pgdyno_rows::load::Set;
use pgdyno_script::tpcc::{TerminalParams, setup};

use crate::{
    context::Context,
    draw_seed,
    subject::Subject,
    tpcc_facts::{TpccFacts, check_warehouses},
};

/// Checks that the tables match the plan, creates functions if the plan calls them, and returns parameters for the
/// terminals.
///
/// # Errors
/// How the tables differ.
pub fn ready(context: Context<'_>, subject: &mut Subject) -> Result<(), Problem> {
    let prepared = context.prepared;
    let Some(wanted) = prepared.plan.data.tpcc else { return Ok(()) };
    let TpccFound { warehouses, loaded_by } = find_tpcc(&mut subject.session()?)?;
    check_warehouses(warehouses, wanted.warehouses)?;
    // Tables loaded for this run have no ledger.
    let ours = prepared.first_load().filter(|load| load.set == Set::Tpcc);
    let loaded_by = loaded_by.or_else(|| ours.map(|load| load.seed));
    let constants = RunConstants::draw(prepared.seed, loaded_by.map(RunConstants::loaded));
    let isolation = subject.default_isolation()?;
    works(context).try_for_each(|work| fits(&work, &isolation))?;
    let command = draw_seed() as u32;
    subject.tpcc = Some(TpccFacts {
        terminals: TerminalParams { warehouses, constants, seed: prepared.seed, command, run: 0 },
        load_constant_known: loaded_by.is_some(),
        isolation,
    });
    let mut texts = works(context).filter_map(|work| setup(work.shape));
    texts.next().map_or(Ok(()), |text| subject.make_functions(text))
}

fn works(context: Context<'_>) -> impl Iterator<Item = TpccWork> {
    context.job.workload_files.work.iter().filter_map(|work| work.tpcc)
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

/// What a run needs to execute TPC-C.
pub struct InRun {
    /// Parameters of the terminals.
    pub terminals: TerminalParams,
    /// The terminals of a paced workload.
    pub population: Option<Population>,
    /// The record of how the run executes TPC-C; the run counts its shares.
    pub record: TpccRun,
}

/// What a run of a workload needs to execute TPC-C. `draws` is the number of its random streams.
pub fn in_run(work: &TpccWork, facts: &TpccFacts, seed: u64, draws: u32) -> InRun {
    let isolation = work.isolation.map(|isolation| isolation.sql().to_owned());
    let warehouses = facts.terminals.warehouses;
    let paces = || Transaction::ALL.map(pace).to_vec();
    InRun {
        terminals: facts.terminals.in_run(seed, draws),
        population: work.paced.then(|| Population { users: warehouses * DISTRICTS, paces: paces() }),
        record: TpccRun {
            warehouses,
            shape: work.shape,
            isolation: isolation.or_else(|| Some(facts.isolation.clone())),
            max_tries: work.max_tries,
            paced: work.paced,
            weights: work.weights,
            load_constant_known: facts.load_constant_known,
            note: DERIVED.to_owned(),
            shares: Shares::default(),
        },
    }
}

fn pace(transaction: Transaction) -> Pace {
    let terms = transaction.terms();
    Pace {
        keying_ns: (terms.keying_s * 1e9) as u64,
        think_ns: (terms.think_s * 1e9) as u64,
        // A Delivery is queued, so its terminal continues at once (clause 2.7.2).
        queued: transaction == Transaction::Delivery,
    }
}
