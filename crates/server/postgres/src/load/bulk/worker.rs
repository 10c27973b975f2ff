//! A stream: executes tasks one after the other until all are done.

use std::{
    cell::RefCell,
    sync::{
        Condvar, Mutex, PoisonError,
        atomic::{AtomicU8, AtomicU64, Ordering},
        mpsc::Sender,
    },
    time::Duration,
};

use pgdyno_core::{problem::Problem, stop::Stop};
use pgdyno_rows::load::{Stage, Task, Work};
use pgdyno_wire::{ConnectOptions, Session, WireError, connect_unless};

use super::{
    BulkProgress,
    ledger::{Job, aim, be_present, holders, literal, settle},
    watch::Span,
    work::{TaskExecutor, failed, fill_settings},
};

/// First pause before looking again for tasks held by other processes; it doubles up to a second. Workers of
/// the same process are notified at once.
const PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// State shared by all workers.
pub(super) struct Shared<'a> {
    pub options: &'a ConnectOptions,
    pub job: &'a Job,
    pub tasks: &'a [Task],
    /// Last stage to be done.
    pub until: Stage,
    /// Stops all workers.
    pub halt: &'a Stop,
    /// Statements that a session runs first.
    pub settings: &'a str,
    /// Name of this loader in the ledger.
    pub loader: &'a str,
    /// Rows of tasks done here, including those in progress.
    pub rows: AtomicU64,
    /// Bytes of COPY data sent.
    pub bytes: AtomicU64,
    /// Number of tasks done here.
    pub done: AtomicU64,
    /// Number of tasks ended in this process, after each of which other workers may find a task.
    pub ends: EndedTasks,
    /// Number of tasks currently held here.
    pub held: AtomicU64,
    /// Last stage for which waiting was reported; 0 for none.
    pub waited: AtomicU8,
    /// Process IDs of the streams' backends.
    pub pids: Mutex<Vec<i32>>,
    /// Parallel workers that the server planned for keys.
    pub planned: Mutex<Option<Span>>,
}

/// A counter that workers can wait for.
#[derive(Debug, Default)]
pub(super) struct EndedTasks {
    count: Mutex<u64>,
    more: Condvar,
}

impl EndedTasks {
    fn so_far(&self) -> u64 {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn one_more(&self) {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.more.notify_all();
    }

    /// Waits until the count differs from `seen`, at most this long.
    fn wait(&self, seen: u64, at_most: Duration) {
        let count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.more.wait_timeout_while(count, at_most, |count| *count == seen));
    }
}

/// A stream.
pub(super) struct Worker<'a> {
    session: Session,
    /// A session in the database from which rows are copied.
    source: Option<RefCell<Session>>,
    shared: &'a Shared<'a>,
    progress: Sender<BulkProgress>,
}

impl<'a> Worker<'a> {
    /// Connects a stream.
    pub fn new(shared: &'a Shared<'a>, progress: Sender<BulkProgress>) -> Result<Self, Problem> {
        let mut session = connect_unless(shared.halt, shared.options)?;
        session.heed(shared.halt);
        settle(&mut session)
            .and_then(|()| aim(&mut session, &shared.job.target))
            .and_then(|()| session.execute(&fill_settings()))
            .and_then(|()| session.execute(shared.settings))
            .and_then(|()| be_present(&mut session, shared.job))
            .map_err(|error| error.into_problem("could not prepare a session for loading"))?;
        shared.pids.lock().unwrap_or_else(PoisonError::into_inner).push(session.backend_pid());
        let source = shared.job.plan.source_database.as_ref();
        let source = source.map(|database| Self::connect_source(shared, database)).transpose()?;
        Ok(Self { session, source, shared, progress })
    }

    fn connect_source(shared: &Shared<'_>, database: &str) -> Result<RefCell<Session>, Problem> {
        let mut session = connect_unless(shared.halt, &shared.options.with_database(database))?;
        session.heed(shared.halt);
        let settled = settle(&mut session);
        settled.map_err(|error| error.into_problem("could not prepare a session for copying"))?;
        Ok(RefCell::new(session))
    }

    /// Executes tasks until all are done.
    pub fn run(mut self) -> Result<(), Problem> {
        let mut pause = PAUSE;
        loop {
            let ends = self.shared.ends.so_far();
            let stage =
                self.stage().map_err(|error| error.into_problem("could not read the load's tasks"))?;
            let Some(stage) = stage else { return Ok(()) };
            let _ = self.progress.send(BulkProgress::Stage(stage)); // the receiver may be gone
            if self.step(stage)? {
                self.shared.ends.one_more();
                pause = PAUSE;
            } else {
                if pause == LONGEST_PAUSE {
                    self.say_who_is_waited_for(stage)
                        .map_err(|error| error.into_problem("could not read the load's tasks"))?;
                }
                self.shared.ends.wait(ends, pause);
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
            if self.shared.halt.requested() {
                return Err(Problem::could_not("could not finish: stopped"));
            }
        }
    }

    /// Reports, once per stage, that this process only waits for others.
    fn say_who_is_waited_for(&mut self, stage: Stage) -> Result<(), WireError> {
        let (held, waited) = (&self.shared.held, &self.shared.waited);
        if held.load(Ordering::Relaxed) > 0 || waited.load(Ordering::Relaxed) == stage as u8 {
            return Ok(());
        }
        let pids = holders(&mut self.session, self.shared.job, stage)?;
        if !pids.is_empty() && waited.swap(stage as u8, Ordering::Relaxed) != stage as u8 {
            let _ = self.progress.send(BulkProgress::Waits { stage, pids });
        }
        Ok(())
    }

    /// The first requested stage with an unfinished task, whether held or not.
    fn stage(&mut self) -> Result<Option<Stage>, WireError> {
        let (tasks, until) = (self.shared.job.tasks_table(), self.shared.until as u8);
        let sql = format!("SELECT min(stage) FROM {tasks} WHERE NOT done AND stage <= {until}");
        let number: Option<u8> = self.session.value(&sql)?.and_then(|text| text.parse().ok());
        Ok(Stage::ALL.into_iter().find(|stage| Some(*stage as u8) == number))
    }

    /// Executes a task of a stage; `false` if all unfinished ones are held.
    fn step(&mut self, stage: Stage) -> Result<bool, Problem> {
        let mut doing = None;
        let done = match stage {
            Stage::Vacuum => self.step_outside(stage, &mut doing),
            _ => self.step_inside(stage, &mut doing),
        };
        if done.is_err() {
            let _ = self.session.execute("ROLLBACK"); // the session stays usable, if it is alive
        }
        done.map_err(|error| {
            let what = doing.map_or_else(|| "could not take a task".to_owned(), failed);
            error.into_problem(&what)
        })
    }

    /// Executes a task in one transaction with its mark.
    fn step_inside(&mut self, stage: Stage, doing: &mut Option<Work>) -> Result<bool, WireError> {
        self.session.execute("BEGIN")?;
        let sql = format!(
            "SELECT number FROM {} WHERE stage = {} AND NOT done ORDER BY number LIMIT 1 FOR UPDATE SKIP LOCKED",
            self.shared.job.tasks_table(),
            stage as u8
        );
        let number: Option<usize> = self.session.value(&sql)?.and_then(|text| text.parse().ok());
        let Some(number) = number else {
            self.session.execute("COMMIT")?;
            return Ok(false);
        };
        let work = self.work(number)?;
        *doing = Some(work);
        self.carry_out(work)?;
        self.mark(number)?;
        self.session.execute("COMMIT")?;
        Ok(true)
    }

    /// Executes a task that cannot run in a transaction, and is idempotent; an advisory lock of the session holds it.
    fn step_outside(&mut self, stage: Stage, doing: &mut Option<Work>) -> Result<bool, WireError> {
        let table = self.shared.job.tasks_table();
        let left =
            format!("SELECT number FROM {table} WHERE stage = {} AND NOT done ORDER BY number", stage as u8);
        for row in self.session.query(&left)? {
            let Some(number) = row.parse::<usize>(0) else { continue };
            let lock = self.shared.job.task_lock(number);
            let take = format!("SELECT pg_catalog.pg_try_advisory_lock({lock})");
            if self.session.value(&take)?.as_deref() != Some("t") {
                continue;
            }
            let done = self.session.value(&format!("SELECT done FROM {table} WHERE number = {number}"))?;
            if done.as_deref() == Some("f") {
                let work = self.work(number)?;
                *doing = Some(work);
                self.carry_out(work)?;
                self.mark(number)?;
            }
            self.session.execute(&format!("SELECT pg_catalog.pg_advisory_unlock({lock})"))?;
            return Ok(true);
        }
        Ok(false)
    }

    fn work(&self, number: usize) -> Result<Work, WireError> {
        let task = self.shared.tasks.get(number).map(|task| task.work);
        task.ok_or_else(|| WireError::Protocol(format!("task {number} is none of this load's")))
    }

    fn mark(&mut self, number: usize) -> Result<(), WireError> {
        self.session.execute(&format!(
            "UPDATE {} SET done = true, loader = {} WHERE number = {number}",
            self.shared.job.tasks_table(),
            literal(self.shared.loader)
        ))?;
        self.shared.done.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn carry_out(&mut self, work: Work) -> Result<(), WireError> {
        let Shared { held, rows, bytes, planned, job, halt, .. } = self.shared;
        held.fetch_add(1, Ordering::Relaxed);
        let mut sent = |more| {
            rows.fetch_add(more, Ordering::Relaxed);
        };
        let executor =
            TaskExecutor { plan: &job.plan, over: &|| halt.requested(), source: self.source.as_ref() };
        let done = executor.carry_out(&mut self.session, work, &mut sent);
        held.fetch_sub(1, Ordering::Relaxed);
        let done = done?;
        bytes.fetch_add(done.bytes, Ordering::Relaxed);
        if let Some(workers) = done.planned_workers {
            let mut planned = planned.lock().unwrap_or_else(PoisonError::into_inner);
            *planned = Some(Span::and(*planned, workers));
        }
        Ok(())
    }
}
