//! The load before the measurement, and the balance check after it.

use pgdyno_core::{measure::CellRun, problem::Problem, stop::Stop};
use pgdyno_plan::BalanceCheckMode;
use pgdyno_postgres::{
    load::{
        LoadOutcome, LoadProgress, Lookout, PrewarmOutcome, Span, StageTime, accounts_state,
        check_connections, load_tables, prewarm, prewarm_own, ready,
    },
    verify::{BalanceMode, BalanceOutcome, Expected, Ledger, check_balance},
};
use pgdyno_record::{
    BalanceRecord, KeyWorkersRecord, LoadPhaseRecord, LoadRecord, LoadStageRecord, LoadTerms, PrewarmRecord,
    RangeRecord, RunRecord,
};
use pgdyno_rows::load::{LoadPlan, Set, Stage, Way};
use pgdyno_script::Builtin;
use pgdyno_wire::Session;

use super::{prepare::Prepared, subject::Subject};
use crate::{progress::Progress, waiting::waiting_for};

/// Loads tables as the plan says.
///
/// # Errors
/// What could not be done.
pub fn load(
    plan: &LoadPlan,
    streams: u64,
    subject: &mut Subject,
    stop: &Stop,
    progress: &Progress,
) -> Result<LoadRecord, Problem> {
    progress.counted("loading", plan.rows_total(), "rows");
    let show = &mut |at: LoadProgress| match at.stage {
        Stage::Copy => progress.at(at.rows),
        stage => progress.stage(stage.name()),
    };
    let mut sessions = vec![subject.session(stop)?];
    if streams > 1 {
        // The server is asked whether it has connections for all of them before they are made.
        let hint =
            "use fewer connections to load (--load-jobs), or raise max_connections and restart the server";
        check_connections(&mut sessions[0], streams).map_err(|problem| problem.hint(hint))?;
        for _ in 1..streams {
            sessions.push(subject.session(stop)?);
        }
    }
    let survey = ready(&mut sessions, plan)?;
    // Without a connection for it, phases are not seen.
    let lookout = subject.session(stop).ok().map(|session| Lookout::new(session, &survey, plan));
    let outcome = load_tables(&mut sessions, lookout, plan, stop, show)?;
    sessions.truncate(1);
    let session = &mut sessions[0];
    let prewarm = prewarm_if_it_fits(session, plan.set, outcome.size_bytes, subject, progress)?;
    let accounts = (plan.set == Set::Tpcb).then(|| accounts_state(session)).transpose();
    let accounts =
        accounts.map_err(|error| error.into_problem("could not look at the tables that were loaded"))?;
    let record = record_of(plan, streams, &outcome);
    let workers = KeyWorkersRecord {
        asked: survey.keys.workers,
        planned: outcome.planned.map(range),
        launched: outcome.launched.map(range),
    };
    Ok(LoadRecord { accounts, prewarm, key_workers: Some(workers), ..record })
}

/// What a load came to, but for what was looked at besides.
fn record_of(plan: &LoadPlan, streams: u64, outcome: &LoadOutcome) -> LoadRecord {
    let copy_s = outcome.seconds(|stage| stage == Stage::Copy);
    let each_s = |amount: u64| (copy_s > 0.0).then(|| amount as f64 / copy_s);
    let by_server = plan.way == Way::Server;
    LoadRecord {
        terms: Some(LoadTerms::of(plan, streams)),
        rows: outcome.rows,
        rows_per_s: each_s(outcome.rows),
        copy_bytes: outcome.copy_bytes,
        copy_bytes_per_s: each_s(outcome.copy_bytes).filter(|_| !by_server).map(|rate| rate as u64),
        copy_s,
        vacuum_s: outcome.seconds(|stage| matches!(stage, Stage::Vacuum | Stage::Analyze)),
        index_s: outcome.seconds(|stage| stage > Stage::Analyze),
        stages: outcome.stages.iter().map(stage_record).collect(),
        size_bytes: outcome.size_bytes,
        copy_format: if by_server { "none" } else { "text" }.to_owned(),
        freeze: plan.way == Way::Stream,
        prewarm: None,
        key_workers: None,
        accounts: None,
    }
}

fn stage_record(time: &StageTime) -> LoadStageRecord {
    let phase =
        |(name, duration_s): &(String, f64)| LoadPhaseRecord { name: name.clone(), duration_s: *duration_s };
    LoadStageRecord {
        name: time.stage.name().to_owned(),
        duration_s: time.seconds,
        wal_bytes: time.wal_bytes,
        phases: time.phases.0.iter().map(phase).collect(),
    }
}

fn range(span: Span) -> RangeRecord {
    RangeRecord { least: span.least, most: span.most }
}

/// Share of shared buffers that tables may fill to be read into them.
const BUFFERS_SHARE: f64 = 0.75;

/// Whether tables of this size are read into shared buffers.
pub fn fits_buffers(size_bytes: u64, buffers_bytes: u64) -> bool {
    size_bytes as f64 <= buffers_bytes as f64 * BUFFERS_SHARE
}

/// Reads tables that fit into shared buffers, so that all blocks of a cell start from the same cache. Larger ones are
/// measured as the load left them. Of several servers all are treated alike: where the tables fit into the buffers of
/// one, they are read in all, and each begins with as much of them as it will ever hold.
fn prewarm_if_it_fits(
    session: &mut Session,
    set: Set,
    size_bytes: u64,
    subject: &Subject,
    progress: &Progress,
) -> Result<Option<PrewarmRecord>, Problem> {
    if !fits_buffers(size_bytes, subject.largest_buffers_bytes) {
        return Ok(None);
    }
    progress.stage("reading tables into shared buffers");
    let read = match set {
        Set::Tpcb => prewarm(session).map(Some),
        Set::Scaleup | Set::Tpcc => prewarm_own(session, subject.whereabouts()),
    };
    let read = read.map_err(|error| error.into_problem("could not read the tables into shared buffers"))?;
    Ok(read.map(prewarm_record))
}

/// What the record keeps of it.
pub fn prewarm_record(done: PrewarmOutcome) -> PrewarmRecord {
    PrewarmRecord { method: done.method.name().to_owned(), duration_s: done.duration_s }
}

/// Checks the balances of the one server, where the plan wants it.
///
/// # Errors
/// Where the check could not be carried out.
pub fn check(
    prepared: &Prepared,
    subject: &mut Subject,
    record: &RunRecord,
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
    let expected = expected(scale, prepared, record, None);
    subject.revive(stop)?;
    let outcome = waiting_for("the balance check", || check_balance(&mut subject.admin, mode, &expected))?;
    Ok(Some(balance_record(mode.name(), outcome, &expected)))
}

/// Checks the balances of one subject of several by their sums, since history is emptied after every run that writes;
/// where the plan wants it.
///
/// # Errors
/// Where the check could not be carried out.
pub fn check_sums(
    prepared: &Prepared,
    subject: &mut Subject,
    ledger: Ledger,
    record: &RunRecord,
    whose: &str,
    stop: &Stop,
    progress: &Progress,
) -> Result<Option<BalanceRecord>, Problem> {
    let is_wanted = matches!(prepared.bench.balance, BalanceCheckMode::Full | BalanceCheckMode::Touched);
    let Some(scale) = prepared.bench.scale.filter(|_| is_wanted) else { return Ok(None) };
    let expected = expected(scale, prepared, record, Some(whose));
    sums(subject, ledger, &expected, stop, progress).map(Some)
}

/// Holds the sums of balances to what history has held, and that to the driver's counts.
///
/// # Errors
/// Where the check could not be carried out.
pub fn sums(
    subject: &mut Subject,
    ledger: Ledger,
    expected: &Expected,
    stop: &Stop,
    progress: &Progress,
) -> Result<BalanceRecord, Problem> {
    progress.stage("checking balances");
    subject.revive(stop)?;
    let outcome = waiting_for("the balance check", || ledger.check(&mut subject.admin, expected))?;
    Ok(balance_record("sums", outcome, expected))
}

/// What a check of this mode found, beside what it went by.
fn balance_record(mode: &str, found: BalanceOutcome, expected: &Expected) -> BalanceRecord {
    BalanceRecord {
        mode: mode.to_owned(),
        rows_examined: found.rows_examined,
        history_rows: found.history_rows,
        committed: expected.committed,
        in_doubt: expected.in_doubt,
        violations: found.violations,
        examples: found.examples,
        duration_s: found.duration_s,
    }
}

/// What history must hold by the driver's counts; `whose` names the subject of several.
fn expected(scale: u64, prepared: &Prepared, record: &RunRecord, whose: Option<&str>) -> Expected {
    let writes = |script: &str| Builtin::by_name(script).is_some_and(Builtin::writes);
    let own = |run: &&CellRun| run.workload.subject.as_deref() == whose;
    let writing = record.runs.iter().filter(own).filter(|run| writes(&run.workload.script));
    let (mut committed, mut in_doubt) = (0, 0);
    for run in writing {
        committed += run.counts_whole.committed;
        in_doubt += run.counts_whole.in_doubt;
    }
    let simple = |workload: &pgdyno_plan::WorkloadPlan| workload.as_builtin() == Some(Builtin::SimpleUpdate);
    let tellers_and_branches = !prepared.plan.workload.iter().any(simple);
    Expected { scale, committed, in_doubt, tellers_and_branches }
}
