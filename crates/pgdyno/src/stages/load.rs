//! The load before the measurement, and the balance check after it.

use pgdyno_core::{
    plan::{BalanceCheckMode, Builtin},
    problem::Problem,
    rows::tpcb::rows_total,
};
use pgdyno_engine::Stop;
use pgdyno_postgres::{
    load::{CopyFormat, LoadProgress, LoadStep, TpcbLoad, load_tpcb},
    verify::{BalanceMode, Expected, check_balance},
};
use pgdyno_record::{BalanceRecord, LoadRecord, RunRecord};

use super::{prepare::Prepared, subject::Subject};
use crate::progress::Progress;

/// Loads the tables.
///
/// # Errors
/// What could not be done.
pub fn load(
    prepared: &Prepared,
    subject: &mut Subject,
    stop: &Stop,
    progress: &Progress,
) -> Result<LoadRecord, Problem> {
    let scale = prepared.bench.scale;
    let load = TpcbLoad { scale, seed: prepared.seed, format: CopyFormat::FASTEST };
    progress.counted("loading", rows_total(scale), "rows");
    let show = &mut |at: LoadProgress| match at.step {
        LoadStep::Copy => progress.at(at.rows),
        LoadStep::Vacuum => progress.stage("vacuuming"),
        LoadStep::Index => progress.stage("building primary keys"),
    };
    let outcome = load_tpcb(&mut subject.admin, &load, stop, show)?;
    Ok(LoadRecord {
        rows: outcome.rows,
        copy_bytes: outcome.copy_bytes,
        copy_s: outcome.copy_s,
        vacuum_s: outcome.vacuum_s,
        index_s: outcome.index_s,
        size_bytes: outcome.size_bytes,
        copy_format: outcome.format.name().to_owned(),
        freeze: true,
    })
}

/// Checks the balances, where the plan wants it.
///
/// # Errors
/// Where the check could not be carried out.
pub fn check(
    prepared: &Prepared,
    subject: &mut Subject,
    record: &RunRecord,
    progress: &Progress,
) -> Result<Option<BalanceRecord>, Problem> {
    let mode = match prepared.bench.balance {
        BalanceCheckMode::Full => BalanceMode::Full,
        BalanceCheckMode::Touched => BalanceMode::Touched,
        BalanceCheckMode::Auto | BalanceCheckMode::Off => return Ok(None),
    };
    progress.stage("checking balances");
    let expected = expected(prepared, record);
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
fn expected(prepared: &Prepared, record: &RunRecord) -> Expected {
    let writes = |script: &str| Builtin::by_name(script).is_some_and(Builtin::writes);
    let writing = record.runs.iter().filter(|run| writes(&run.workload.script));
    let (mut committed, mut in_doubt) = (0, 0);
    for run in writing {
        committed += run.counts_whole.committed;
        in_doubt += run.counts_whole.in_doubt;
    }
    let simple = |workload: &pgdyno_core::plan::WorkloadPlan| workload.script == Builtin::SimpleUpdate;
    let tellers_and_branches = !prepared.plan.workload.iter().any(simple);
    Expected { scale: prepared.bench.scale, committed, in_doubt, tellers_and_branches }
}
