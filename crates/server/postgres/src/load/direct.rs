//! Loads without a ledger, for callers that discard an interrupted load: executes the tasks of the bulk loader
//! on existing sessions.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use pgdyno_core::{problem::Problem, stop::Stop};
use pgdyno_rows::load::{LoadPlan, LoadRequest, Stage, Work, tasks};
use pgdyno_wire::{Session, WireError};

use super::bulk::{
    Done, PhaseSampler, Phases, Sizes, Span, StageStart, StageTime, Survey, TaskExecutor, failed,
    fill_settings, key_settings, shared_constants, survey, table_statements,
};

/// Pause between two progress reports while other streams finish their tasks.
const PAUSE: Duration = Duration::from_millis(20);

/// Progress of the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadProgress {
    /// Current stage.
    pub stage: Stage,
    /// Rows sent so far, in all tables.
    pub rows: u64,
    /// Total number of rows to send.
    pub rows_total: u64,
}

/// Result of a load.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadOutcome {
    /// Number of rows in all tables.
    pub rows: u64,
    /// Bytes of COPY data.
    pub copy_bytes: u64,
    /// Times of all stages that had tasks; the first one includes creating the tables.
    pub stages: Vec<StageTime>,
    /// Parallel workers that the server planned for the key of the main table; `None` if it did not report them.
    pub planned: Option<Span>,
    /// Parallel workers observed running.
    pub launched: Option<Span>,
    /// Size of tables and indexes in bytes after the load.
    pub size_bytes: u64,
}

impl LoadOutcome {
    /// Total seconds of the selected stages.
    pub fn seconds(&self, which: impl Fn(Stage) -> bool) -> f64 {
        self.stages.iter().filter(|time| which(time.stage)).map(|time| time.seconds).sum()
    }
}

/// A session that observes the loading sessions.
pub struct PhaseObserver {
    session: Session,
    watch: PhaseSampler,
}

impl PhaseObserver {
    /// An observer of a load, for a server that was examined.
    pub fn new(session: Session, survey: &Survey, plan: &LoadPlan) -> Self {
        Self { session, watch: PhaseSampler::for_plan(survey, plan) }
    }

    /// Observes these backends until a stage is over.
    fn look(&mut self, stage: Stage, pids: &[i32], over: &AtomicBool) {
        while !over.load(Ordering::Relaxed) {
            let _ = self.watch.tend(&mut self.session, stage, pids); // its words are for who shows them
            thread::sleep(PAUSE);
        }
    }
}

/// Checks that a server supports the plan and has room for it, and sets up the loading sessions for building
/// keys. Changes nothing in the database.
///
/// # Errors
/// An obstacle to the load.
pub fn ready(sessions: &mut [Session], plan: &LoadPlan) -> Result<Survey, Problem> {
    let streams = sessions.len() as u64;
    let Some(first) = sessions.first_mut() else {
        return Err(Problem::wrong_request("could not load without a session"));
    };
    let survey = survey(first, plan, Sizes::default(), streams)?;
    survey.check_room()?;
    let settings = key_settings(&survey.keys);
    let set = sessions.iter_mut().try_for_each(|session| session.execute(&settings));
    set.map_err(|error| error.into_problem("could not prepare a session for loading"))?;
    Ok(survey)
}

/// Loads the tables of a plan into the sessions' current schema, where they must not exist yet.
///
/// A single session creates and fills the tables in one transaction, so a failed load leaves nothing. With
/// several sessions the tables are created first, and remain.
///
/// # Errors
/// A statement fails, or a stop is requested.
///
/// # Panics
/// Panics without a session.
pub fn load_tables(
    sessions: &mut [Session],
    observer: Option<PhaseObserver>,
    plan: &LoadPlan,
    stop: &Stop,
    progress: &mut dyn FnMut(LoadProgress),
) -> Result<LoadOutcome, Problem> {
    let loading = Loading {
        plan,
        stop,
        alone: sessions.len() == 1,
        halt: Stop::default(),
        rows: AtomicU64::new(0),
        bytes: AtomicU64::new(0),
        planned: Mutex::default(),
        pids: sessions.iter().map(Session::backend_pid).collect(),
        observer: observer.map(Mutex::new),
    };
    loading.run(sessions, progress)
}

struct Loading<'a> {
    plan: &'a LoadPlan,
    stop: &'a Stop,
    /// Whether there is only one session.
    alone: bool,
    /// Stops the tasks of all sessions.
    halt: Stop,
    rows: AtomicU64,
    bytes: AtomicU64,
    /// Parallel workers planned for keys.
    planned: Mutex<Option<Span>>,
    /// Process IDs of the sessions' backends.
    pids: Vec<i32>,
    /// Observer of phases, if requested.
    observer: Option<Mutex<PhaseObserver>>,
}

/// Why a session stopped early, and in which task.
struct Failure {
    work: Option<Work>,
    error: WireError,
}

impl From<WireError> for Failure {
    fn from(error: WireError) -> Self {
        Self { work: None, error }
    }
}

impl Loading<'_> {
    fn run(
        &self,
        sessions: &mut [Session],
        progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<LoadOutcome, Problem> {
        let mut stages = Vec::new();
        for stage in self.stages() {
            let begun = StageStart::now(stage, &mut sessions[0]);
            let done = match stage {
                Stage::Copy => self.fill(sessions, progress),
                _ => self.stage(sessions, stage, progress),
            };
            if let Err(failure) = done {
                let _ = sessions[0].execute("ROLLBACK"); // the session stays usable, if it is alive
                return Err(self.problem(failure, !(self.alone && stage == Stage::Copy)));
            }
            let end = StageStart::now(stage, &mut sessions[0]);
            stages.push(StageTime { phases: self.phases(stage), ..begun.until(&end) });
        }
        let size_bytes = self.size(&mut sessions[0]).map_err(|error| self.problem(error.into(), true))?;
        let (rows, copy_bytes) = (self.rows.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed));
        let planned = *self.planned.lock().unwrap_or_else(PoisonError::into_inner);
        let launched = self.watched(PhaseSampler::launched).flatten();
        Ok(LoadOutcome { rows, copy_bytes, stages, planned, launched, size_bytes })
    }

    /// Stages that have tasks.
    fn stages(&self) -> impl Iterator<Item = Stage> {
        let tasks = tasks(self.plan);
        Stage::ALL.into_iter().filter(move |stage| tasks.iter().any(|task| task.stage == *stage))
    }

    fn phases(&self, stage: Stage) -> Phases {
        self.watched(|watch| watch.phases(stage)).unwrap_or_default()
    }

    fn watched<R>(&self, read: impl FnOnce(&mut PhaseSampler) -> R) -> Option<R> {
        let observer = self.observer.as_ref()?;
        Some(read(&mut observer.lock().unwrap_or_else(PoisonError::into_inner).watch))
    }

    /// Creates and fills tables; with a single session in one transaction.
    fn fill(&self, sessions: &mut [Session], progress: &mut dyn FnMut(LoadProgress)) -> Result<(), Failure> {
        if self.alone {
            sessions[0].execute("BEGIN")?;
        } else {
            sessions.iter_mut().try_for_each(|session| session.execute(&fill_settings()))?;
        }
        let statements = table_statements(self.plan).into_iter().chain(shared_constants(self.plan));
        for sql in statements {
            self.unless_stopped()?;
            sessions[0].execute(&sql)?;
        }
        self.stage(sessions, Stage::Copy, progress)?;
        if self.alone {
            sessions[0].execute("COMMIT")?;
        }
        Ok(())
    }

    fn unless_stopped(&self) -> Result<(), Failure> {
        if self.stop.requested() { Err(WireError::Stopped.into()) } else { Ok(()) }
    }

    /// Executes all tasks of a stage, each in any free session. The first session belongs to the calling thread.
    fn stage(
        &self,
        sessions: &mut [Session],
        stage: Stage,
        progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<(), Failure> {
        let tasks = tasks(self.plan).into_iter().filter(|task| task.stage == stage);
        let works: Vec<Work> = tasks.map(|task| task.work).collect();
        if works.is_empty() {
            return Ok(());
        }
        let next = AtomicUsize::new(0);
        let mut report = || {
            let rows = self.rows.load(Ordering::Relaxed);
            progress(LoadProgress { stage, rows, rows_total: self.plan.rows_total() });
        };
        report();
        let Some((first, others)) = sessions.split_first_mut() else { return Ok(()) };
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            let (works, next, over) = (&works, &next, &over);
            // No server reports progress of rows.
            if let Some(observer) = self.observer.as_ref().filter(|_| stage != Stage::Copy) {
                let look = move || {
                    let mut observer = observer.lock().unwrap_or_else(PoisonError::into_inner);
                    observer.look(stage, &self.pids, over);
                };
                scope.spawn(look);
            }
            let others = others
                .iter_mut()
                .map(|session| scope.spawn(move || self.take(session, works, next, &mut || ())));
            let others: Vec<_> = others.collect();
            let own = self.take(first, works, next, &mut report);
            while others.iter().any(|other| !other.is_finished()) {
                thread::sleep(PAUSE);
                report();
            }
            over.store(true, Ordering::Relaxed);
            let gone = || Err(WireError::Closed.into());
            let others = others.into_iter().map(|other| other.join().unwrap_or_else(|_| gone()));
            worst([own].into_iter().chain(others).filter_map(Result::err).collect())
        })
    }

    /// Executes tasks until none is left, or another session has failed.
    fn take(
        &self,
        session: &mut Session,
        works: &[Work],
        next: &AtomicUsize,
        report: &mut dyn FnMut(),
    ) -> Result<(), Failure> {
        let over = || self.stop.requested() || self.halt.requested();
        let executor = TaskExecutor { plan: self.plan, over: &over, source: None };
        while let Some(&work) = works.get(next.fetch_add(1, Ordering::Relaxed)) {
            let done = if over() {
                Err(WireError::Stopped)
            } else {
                self.carry_out(&executor, session, work, report)
            };
            let done = done.map_err(|error| {
                self.halt.request("another stream failed");
                Failure { work: Some(work), error }
            })?;
            self.bytes.fetch_add(done.bytes, Ordering::Relaxed);
            if let Some(workers) = done.planned_workers {
                let mut planned = self.planned.lock().unwrap_or_else(PoisonError::into_inner);
                *planned = Some(Span::and(*planned, workers));
            }
        }
        Ok(())
    }

    /// Executes one task. Filling a whole table truncates it first in the same transaction; with a single
    /// session there is only one transaction.
    fn carry_out(
        &self,
        executor: &TaskExecutor<'_>,
        session: &mut Session,
        work: Work,
        report: &mut dyn FnMut(),
    ) -> Result<Done, WireError> {
        let own_transaction = !self.alone && matches!(work, Work::Fill { .. });
        if own_transaction {
            session.execute("BEGIN")?;
        }
        let done = executor.carry_out(session, work, &mut |rows| {
            self.rows.fetch_add(rows, Ordering::Relaxed);
            report();
        })?;
        if own_transaction {
            session.execute("COMMIT")?;
        }
        Ok(done)
    }

    /// Bytes of tables and indexes.
    fn size(&self, session: &mut Session) -> Result<u64, WireError> {
        let (names, one) = (self.plan.set.names(), self.plan.set.main().generator().table());
        let size = format!(
            "SELECT sum(pg_catalog.pg_total_relation_size(c.oid)) FROM pg_catalog.pg_class c \
             WHERE c.relkind = 'r' AND c.relname ~ '{names}' \
             AND c.relnamespace = (SELECT b.relnamespace FROM pg_catalog.pg_class b \
             WHERE b.oid = '{one}'::pg_catalog.regclass)"
        );
        Ok(session.value(&size)?.and_then(|text| text.parse().ok()).unwrap_or(0))
    }

    fn problem(&self, failure: Failure, kept: bool) -> Problem {
        let what = format!("could not load {}", self.plan.title());
        match failure {
            Failure { error: WireError::Stopped, .. } => {
                let problem = Problem::could_not(format!("{what}: stopped"));
                problem.hint(if kept {
                    "incomplete tables remain: drop them before loading again"
                } else {
                    "everything was rolled back"
                })
            }
            Failure { work, error } => error.into_problem(&work.map_or(what, failed)),
        }
    }
}

/// The failure to report: not that of a session that was merely stopped.
fn worst(mut failures: Vec<Failure>) -> Result<(), Failure> {
    let stopped = |failure: &Failure| matches!(failure.error, WireError::Stopped);
    let first = failures.iter().position(|failure| !stopped(failure)).unwrap_or(0);
    if failures.is_empty() { Ok(()) } else { Err(failures.swap_remove(first)) }
}

/// SQL that creates the empty tables of a scale, without keys.
///
/// # Errors
/// The scale is out of range.
pub fn tpcb_tables(scale: u64) -> Result<String, Problem> {
    let plan = LoadRequest { scale: Some(scale), ..LoadRequest::default() }.plan(1)?;
    Ok(table_statements(&plan).join("; "))
}
