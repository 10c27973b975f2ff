//! The load before the measurement, and the balance check after it.

use pgdyno_core::{measure::CellRun, problem::Problem, stop::Stop};
use pgdyno_plan::BalanceCheckMode;
use pgdyno_postgres::{
    load::{
        LoadOutcome, LoadProgress, PhaseObserver, PrewarmOutcome, Span, StageTime, accounts_state,
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

use crate::{Events, Job, Prepared, subject::Subject, waiting::waiting_for};

/// Loads the tables of the plan.
///
/// # Errors
/// The first problem.
pub fn load(
    plan: &LoadPlan,
    streams: u64,
    subject: &mut Subject,
    stop: &Stop,
    events: &Events,
) -> Result<LoadRecord, Problem> {
    events.counting("loading", plan.rows_total(), "rows");
    let show = &mut |at: LoadProgress| match at.stage {
        Stage::Copy => events.counted(at.rows),
        stage => events.doing(stage.name()),
    };
    let mut sessions = vec![subject.session(stop)?];
    if streams > 1 {
        // Ask for the connections first: the server may not have enough for all of them.
        let hint =
            "use fewer connections to load (--load-jobs), or raise max_connections and restart the server";
        check_connections(&mut sessions[0], streams).map_err(|problem| problem.hint(hint))?;
        for _ in 1..streams {
            sessions.push(subject.session(stop)?);
        }
    }
    let survey = ready(&mut sessions, plan)?;
    // Without a connection for it, phases are not observed.
    let observer = subject.session(stop).ok().map(|session| PhaseObserver::new(session, &survey, plan));
    let outcome = load_tables(&mut sessions, observer, plan, stop, show)?;
    sessions.truncate(1);
    let session = &mut sessions[0];
    let prewarm = prewarm_if_it_fits(session, plan.set, outcome.size_bytes, subject, events)?;
    let accounts = (plan.set == Set::Tpcb).then(|| accounts_state(session)).transpose();
    let accounts = accounts.map_err(|error| error.into_problem("could not inspect the loaded tables"))?;
    let record = record_of(plan, streams, &outcome);
    let workers = KeyWorkersRecord {
        asked: survey.keys.workers,
        planned: outcome.planned.map(range),
        launched: outcome.launched.map(range),
    };
    Ok(LoadRecord { accounts, prewarm, key_workers: Some(workers), ..record })
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

/// Tables are read into shared buffers if they fit into this share of them.
const BUFFERS_SHARE: f64 = 0.75;

/// Whether tables of this size are read into shared buffers.
pub fn fits_buffers(size_bytes: u64, buffers_bytes: u64) -> bool {
    size_bytes as f64 <= buffers_bytes as f64 * BUFFERS_SHARE
}

/// Reads tables that fit into shared buffers, so that all blocks of a cell start from the same cache state. Larger
/// tables are measured as the load left them. Several servers are treated alike: if the tables fit on one of them, they
/// are read on all, each up to the size of its shared buffers.
fn prewarm_if_it_fits(
    session: &mut Session,
    set: Set,
    size_bytes: u64,
    subject: &Subject,
    events: &Events,
) -> Result<Option<PrewarmRecord>, Problem> {
    if !fits_buffers(size_bytes, subject.largest_buffers_bytes) {
        return Ok(None);
    }
    events.doing("reading tables into shared buffers");
    let read = match set {
        Set::Tpcb => prewarm(session).map(Some),
        Set::Scaleup | Set::Tpcc => prewarm_own(session, subject.table_scope()),
    };
    let read = read.map_err(|error| error.into_problem("could not read the tables into shared buffers"))?;
    Ok(read.map(prewarm_record))
}

/// The record of prewarming.
pub fn prewarm_record(done: PrewarmOutcome) -> PrewarmRecord {
    PrewarmRecord { method: done.method.name().to_owned(), duration_s: done.duration_s }
}

/// How the balances of a server are checked after all runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckMode {
    /// Row by row, against history.
    Rows(BalanceMode),
    /// By sums, because history is emptied between runs.
    Sums,
}

/// How the balances of a server are checked; `None` if that is not requested or not possible.
pub fn check_mode(job: &Job, prepared: &Prepared, server: usize) -> Option<CheckMode> {
    prepared.bench.scale?;
    if job.comparison().is_some() {
        return job.is_known_to_write(server).then_some(CheckMode::Sums);
    }
    let rows = match prepared.bench.balance {
        BalanceCheckMode::Full => BalanceMode::Full,
        BalanceCheckMode::Touched => BalanceMode::Touched,
        BalanceCheckMode::Auto | BalanceCheckMode::Off => return None,
    };
    Some(if job.has_several() { CheckMode::Sums } else { CheckMode::Rows(rows) })
}

/// Checks the balances of a server.
///
/// # Errors
/// The check could not be executed.
pub fn check(
    mode: CheckMode,
    subject: &mut Subject,
    ledger: Ledger,
    expected: &Expected,
    stop: &Stop,
    events: &Events,
) -> Result<BalanceRecord, Problem> {
    events.doing("checking balances");
    subject.revive(stop)?;
    let outcome = waiting_for("the balance check", events, || match mode {
        CheckMode::Rows(mode) => check_balance(&mut subject.admin, mode, expected),
        CheckMode::Sums => ledger.check(&mut subject.admin, expected),
    })?;
    Ok(balance_record(mode.name(), outcome, expected))
}

impl CheckMode {
    /// Name in the record.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rows(mode) => mode.name(),
            Self::Sums => "sums",
        }
    }
}

/// The record of a balance check.
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

/// The rows that history of one server must hold, or must have held, according to the driver's counts.
pub fn expected(job: &Job, prepared: &Prepared, record: &RunRecord, server: usize) -> Expected {
    let writes = |script: &str| Builtin::by_name(script).is_some_and(Builtin::writes);
    let is_there = |run: &&CellRun| {
        let place = record.place_of(&run.workload);
        place.is_some_and(|place| job.subjects[place].server == Some(server))
    };
    // After a resume, servers were recreated and have no rows of earlier runs.
    let since = record.first_run_of_session().min(record.runs.len());
    let writing = record.runs[since..].iter().filter(is_there).filter(|run| writes(&run.workload.script));
    let (mut committed, mut in_doubt) = (0, 0);
    for run in writing {
        committed += run.counts_whole.committed;
        in_doubt += run.counts_whole.in_doubt;
    }
    let tellers_and_branches = !job.builtins_at(server).contains(&Builtin::SimpleUpdate);
    Expected { scale: prepared.bench.scale.unwrap_or(1), committed, in_doubt, tellers_and_branches }
}
