//! The load before the measurement, and the balance check after it.

use pgdyno_core::{
    measure::CellRun,
    plan::{BalanceCheckMode, Builtin},
    problem::Problem,
    rows::tpcb::rows_total,
};
use pgdyno_engine::Stop;
use pgdyno_postgres::{
    load::{CopyFormat, LoadProgress, LoadStep, TpcbLoad, accounts_state, load_tpcb, prewarm},
    verify::{BalanceMode, Expected, check_balance},
    wire::Session,
};
use pgdyno_record::{BalanceRecord, LoadRecord, PrewarmRecord, RunRecord};

use super::{prepare::Prepared, subject::Subject};
use crate::progress::Progress;

/// Loads the TPC-B tables at a scale.
///
/// # Errors
/// What could not be done.
pub fn load(
    scale: u64,
    prepared: &Prepared,
    subject: &mut Subject,
    stop: &Stop,
    progress: &Progress,
) -> Result<LoadRecord, Problem> {
    let load = TpcbLoad { scale, seed: prepared.seed, format: CopyFormat::FASTEST };
    progress.counted("loading", rows_total(scale), "rows");
    let show = &mut |at: LoadProgress| match at.step {
        LoadStep::Copy => progress.at(at.rows),
        LoadStep::Vacuum => progress.stage("vacuuming"),
        LoadStep::Index => progress.stage("building primary keys"),
    };
    let mut session = subject.session(stop)?;
    let outcome = load_tpcb(&mut session, &load, stop, show)?;
    let buffers_bytes = subject.facts.shared_buffers_bytes;
    let prewarm = prewarm_if_it_fits(&mut session, outcome.size_bytes, buffers_bytes, progress)?;
    let accounts = accounts_state(&mut session)
        .map_err(|error| error.into_problem("could not look at the tables that were loaded"))?;
    Ok(LoadRecord {
        accounts: Some(accounts),
        rows: outcome.rows,
        copy_bytes: outcome.copy_bytes,
        copy_s: outcome.copy_s,
        vacuum_s: outcome.vacuum_s,
        index_s: outcome.index_s,
        size_bytes: outcome.size_bytes,
        copy_format: outcome.format.name().to_owned(),
        freeze: true,
        prewarm,
    })
}

/// Share of shared buffers that tables may fill to be read into them.
const BUFFERS_SHARE: f64 = 0.75;

/// Whether tables of this size are read into shared buffers.
pub fn fits_buffers(size_bytes: u64, buffers_bytes: u64) -> bool {
    size_bytes as f64 <= buffers_bytes as f64 * BUFFERS_SHARE
}

/// Reads tables that fit into shared buffers, so that all blocks of a cell start from the same cache. Larger ones are
/// measured as the load left them.
fn prewarm_if_it_fits(
    session: &mut Session,
    size_bytes: u64,
    buffers_bytes: u64,
    progress: &Progress,
) -> Result<Option<PrewarmRecord>, Problem> {
    if !fits_buffers(size_bytes, buffers_bytes) {
        return Ok(None);
    }
    progress.stage("reading tables into shared buffers");
    let outcome = prewarm(session)
        .map_err(|error| error.into_problem("could not read the tables into shared buffers"))?;
    Ok(Some(PrewarmRecord { method: outcome.method.name().to_owned(), duration_s: outcome.duration_s }))
}

/// Checks the balances, where the plan wants it; `whose` names the subject of several.
///
/// # Errors
/// Where the check could not be carried out.
pub fn check(
    prepared: &Prepared,
    subject: &mut Subject,
    record: &RunRecord,
    whose: Option<&str>,
    stop: &Stop,
    progress: &Progress,
) -> Result<Option<BalanceRecord>, Problem> {
    let mode = match prepared.bench.balance {
        BalanceCheckMode::Full => BalanceMode::Full,
        BalanceCheckMode::Touched => BalanceMode::Touched,
        BalanceCheckMode::Auto | BalanceCheckMode::Off => return Ok(None),
    };
    let Some(scale) = prepared.bench.scale else { return Ok(None) };
    progress.stage("checking balances");
    let expected = expected(scale, prepared, record, whose);
    subject.revive(stop)?;
    let outcome = check_balance(&mut subject.admin, mode, &expected)?;
    Ok(Some(BalanceRecord {
        mode: outcome.mode.name().to_owned(),
        rows_examined: outcome.rows_examined,
        history_rows: outcome.history_rows,
        committed: expected.committed,
        in_doubt: expected.in_doubt,
        violations: outcome.violations,
        examples: outcome.examples,
        duration_s: outcome.duration_s,
    }))
}

/// What history must hold by the driver's counts.
fn expected(scale: u64, prepared: &Prepared, record: &RunRecord, whose: Option<&str>) -> Expected {
    let writes = |script: &str| Builtin::by_name(script).is_some_and(Builtin::writes);
    let own = |run: &&CellRun| run.workload.subject.as_deref() == whose;
    let writing = record.runs.iter().filter(own).filter(|run| writes(&run.workload.script));
    let (mut committed, mut in_doubt) = (0, 0);
    for run in writing {
        committed += run.counts_whole.committed;
        in_doubt += run.counts_whole.in_doubt;
    }
    let simple =
        |workload: &pgdyno_core::plan::WorkloadPlan| workload.as_builtin() == Some(Builtin::SimpleUpdate);
    let tellers_and_branches = !prepared.plan.workload.iter().any(simple);
    Expected { scale, committed, in_doubt, tellers_and_branches }
}
