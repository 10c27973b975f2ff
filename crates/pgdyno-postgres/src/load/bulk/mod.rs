//! Loading by many streams, which a kill at any point neither spoils nor loses: docs/loading.md.

mod ledger;
mod proof;
mod survey;
mod worker;

use std::{
    sync::{
        atomic::{AtomicU8, AtomicU64, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread::{self, ScopedJoinHandle},
    time::{Duration, Instant},
};

use pgdyno_core::{
    load::{KeySettings, Stage, TpcbPlan, Wish, Work, tasks},
    problem::Problem,
};
use pgdyno_engine::Stop;

pub use ledger::Job;
pub use proof::{Proof, TableProof};
pub use survey::{Room, Survey};

use crate::wire::{ConnectOptions, Session, connect_unless};
use worker::{Shared, Worker};

/// How often a caller is told how far it is.
const TICK: Duration = Duration::from_millis(100);

/// A load from one process: a session for what is done once, and what its streams need.
#[derive(Debug)]
pub struct BulkLoad<'a> {
    options: &'a ConnectOptions,
    session: Session,
    streams: u64,
    stop: &'a Stop,
}

/// How a process comes to a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// It begins one.
    New,
    /// It goes on with one that broke off.
    Resume,
    /// It shares one that is under way.
    Join,
}

/// How far it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BulkProgress {
    /// A stage begins.
    Stage(Stage),
    /// So many rows have been sent by this process or were there before it.
    Rows(u64),
    /// All tasks of a stage that are left are held by other processes' sessions.
    Waits {
        /// The stage.
        stage: Stage,
        /// The server's processes that hold them.
        pids: Vec<u32>,
    },
    /// Rows are compared with what they must be.
    Proving,
}

/// What a load came to.
#[derive(Debug, Clone, PartialEq)]
pub struct BulkOutcome {
    /// Tasks that this process did.
    pub tasks: u64,
    /// Rows that it sent.
    pub rows: u64,
    /// Bytes of COPY data that it sent.
    pub copy_bytes: u64,
    /// Seconds of every stage, as this process saw it.
    pub stages: Vec<(Stage, f64)>,
    /// Seconds of all of it, without the proof.
    pub duration_s: f64,
    /// Bytes of tables and indexes.
    pub size_bytes: u64,
    /// The proof; `None` where another process had made it already.
    pub proof: Option<Proof>,
}

impl<'a> BulkLoad<'a> {
    /// Connects to the server that is loaded by so many streams.
    ///
    /// # Errors
    /// Why it cannot be reached or loaded.
    pub fn new(options: &'a ConnectOptions, streams: u64, stop: &'a Stop) -> Result<Self, Problem> {
        let mut session = connect_unless(stop, options)?;
        session.heed(stop);
        ledger::settle(&mut session)
            .map_err(|error| error.into_problem("could not prepare a session for loading"))?;
        Ok(Self { options, session, streams: streams.max(1), stop })
    }

    /// Looks at the server with a wish in mind, and changes nothing.
    ///
    /// # Errors
    /// What keeps it from being carried out.
    pub fn survey(&mut self, wish: &Wish) -> Result<(TpcbPlan, Survey), Problem> {
        let plan = wish.plan(self.streams)?;
        let survey = survey::survey(&mut self.session, &plan, self.streams)?;
        ledger::refuse_existing(&mut self.session, &survey.target)?;
        Ok((plan, survey))
    }

    /// Begins a load, or finds the one to take part in.
    ///
    /// # Errors
    /// Why there is none to carry out.
    pub fn enter(&mut self, entry: Entry, wish: &Wish) -> Result<(Job, Survey), Problem> {
        if entry == Entry::New {
            let (plan, survey) = self.survey(wish)?;
            survey.check_room()?;
            let job = ledger::begin(&mut self.session, &survey.target, &plan)?;
            return Ok((job, survey));
        }
        let target = survey::target(&mut self.session)?;
        let flag = if entry == Entry::Join { "--join" } else { "--resume" };
        let job = ledger::go_on(&mut self.session, &target, wish, flag)?;
        let at_work = ledger::at_work(&mut self.session, &job)
            .map_err(|error| error.into_problem("could not look who is at work"))?;
        if entry == Entry::Join && at_work == 0 {
            let problem = Problem::wrong_request("could not join the load: nobody is at work on it");
            return Err(problem.hint("go on with --resume"));
        }
        let survey = survey::survey(&mut self.session, &job.plan, self.streams)?;
        Ok((job, survey))
    }

    /// Carries out what is left of a load, and proves it.
    ///
    /// # Errors
    /// What could not be done; `--resume` goes on from there.
    pub fn run(
        &mut self,
        job: &Job,
        keys: &KeySettings,
        tell: &mut dyn FnMut(BulkProgress),
    ) -> Result<BulkOutcome, Problem> {
        let start = Instant::now();
        let tasks = tasks(&job.plan);
        let before = self.rows_before(job)?;
        let halt = Stop::default();
        let loader = format!("{}:{}", host_name(), std::process::id());
        let settings = key_settings(keys);
        let shared = Shared {
            options: self.options,
            job,
            tasks: &tasks,
            halt: &halt,
            settings: &settings,
            loader: &loader,
            rows: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            done: AtomicU64::new(0),
            held: AtomicU64::new(0),
            waited: AtomicU8::new(0),
        };
        let stages = self.work(&shared, before, tell).map_err(|problem| can_go_on(problem, self.stop))?;
        let duration_s = start.elapsed().as_secs_f64();
        tell(BulkProgress::Proving);
        let proof = self.prove_once(job).map_err(|problem| can_go_on(problem, self.stop))?;
        Ok(BulkOutcome {
            tasks: shared.done.into_inner(),
            rows: shared.rows.into_inner(),
            copy_bytes: shared.bytes.into_inner(),
            stages,
            duration_s,
            size_bytes: self.size_bytes(),
            proof,
        })
    }

    /// Compares the tables with those of a scale, or of the load that is known where none is given.
    ///
    /// # Errors
    /// Why they cannot be compared.
    pub fn verify(&mut self, scale: Option<u64>) -> Result<(u64, Proof), Problem> {
        let target = survey::target(&mut self.session)?;
        let scale = match scale {
            Some(scale) => scale,
            None => {
                let known = ledger::find(&mut self.session, &target)?.map(|job| job.plan.scale);
                known.ok_or_else(|| {
                    Problem::wrong_request(format!("could not verify: no load is known in schema {target:?}"))
                        .hint("say --scale N to compare tables that another program loaded")
                })?
            }
        };
        self.prove(&target, scale).map(|proof| (scale, proof))
    }

    fn prove(&mut self, target: &str, scale: u64) -> Result<Proof, Problem> {
        let parallel = format!("SET max_parallel_workers_per_gather = {}", self.streams.min(1024));
        ledger::aim(&mut self.session, target)
            .and_then(|()| self.session.execute(&parallel))
            .map_err(|error| error.into_problem("could not prepare a session for checking"))?;
        proof::prove(&mut self.session, scale, self.streams, self.stop)
    }

    /// The first process that comes here proves; the others wait for it.
    fn prove_once(&mut self, job: &Job) -> Result<Option<Proof>, Problem> {
        let what = "could not close the load";
        let lock = format!("SELECT pg_catalog.pg_advisory_lock({})", job.proof());
        self.session.execute(&lock).map_err(|error| error.into_problem(what))?;
        if ledger::find(&mut self.session, &job.target)?.is_some_and(|job| job.finished) {
            return Ok(None);
        }
        let proof = self.prove(&job.target, job.plan.scale)?;
        if proof.faults().is_empty() {
            let sql = format!("UPDATE pgdyno_load.job SET finished = pg_catalog.now() WHERE id = {}", job.id);
            self.session.execute(&sql).map_err(|error| error.into_problem(what))?;
        }
        Ok(Some(proof))
    }

    /// Rows of tasks that were done before.
    fn rows_before(&mut self, job: &Job) -> Result<u64, Problem> {
        let tasks = tasks(&job.plan);
        let sql = format!("SELECT number FROM {} WHERE done AND stage = 1", job.tasks_table());
        let done =
            self.session.query(&sql).map_err(|error| error.into_problem("could not look for tasks"))?;
        let numbers = done.iter().filter_map(|row| row.parse::<usize>(0));
        let rows = numbers.map(|number| match tasks.get(number).map(|task| task.work) {
            Some(Work::Copy { part, .. }) => part.rows(),
            _ => 0,
        });
        Ok(rows.sum())
    }

    /// All streams until no task is left; gives the seconds of every stage.
    fn work(
        &self,
        shared: &Shared<'_>,
        before: u64,
        tell: &mut dyn FnMut(BulkProgress),
    ) -> Result<Vec<(Stage, f64)>, Problem> {
        let (sender, news) = mpsc::channel();
        let mut seen: Vec<(Stage, Instant)> = Vec::new();
        let first_problem = thread::scope(|scope| {
            let streams = (0..self.streams).map(|_| {
                let sender = sender.clone();
                scope.spawn(move || {
                    let done = Worker::new(shared, sender).and_then(Worker::run);
                    if done.is_err() {
                        shared.halt.request("another stream failed");
                    }
                    done
                })
            });
            let streams: Vec<ScopedJoinHandle<'_, _>> = streams.collect();
            drop(sender);
            loop {
                match news.recv_timeout(TICK) {
                    Ok(BulkProgress::Stage(stage)) if seen.iter().any(|(known, _)| *known >= stage) => {}
                    Ok(at) => {
                        if let BulkProgress::Stage(stage) = at {
                            seen.push((stage, Instant::now()));
                        }
                        tell(at);
                    }
                    Err(RecvTimeoutError::Disconnected) => break,
                    Err(RecvTimeoutError::Timeout) => {}
                }
                tell(BulkProgress::Rows(before + shared.rows.load(Ordering::Relaxed)));
                if self.stop.requested() {
                    shared.halt.request("interrupted");
                }
            }
            worst(streams)
        });
        first_problem.map_or(Ok(()), Err)?;
        let ends = seen.iter().skip(1).map(|(_, instant)| *instant).chain([Instant::now()]);
        let seconds = |begin: Instant, end: Instant| end.duration_since(begin).as_secs_f64();
        Ok(seen.iter().zip(ends).map(|((stage, begin), end)| (*stage, seconds(*begin, end))).collect())
    }

    fn size_bytes(&mut self) -> u64 {
        let sql = "SELECT sum(pg_catalog.pg_total_relation_size(c.oid)) FROM pg_catalog.pg_class c \
                   JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
                   WHERE n.nspname = pg_catalog.current_schema() AND c.relkind = 'r' AND c.relname ~ '^pgbench_'";
        self.session.value(sql).ok().flatten().and_then(|text| text.parse().ok()).unwrap_or(0)
    }
}

/// The problem that ended the streams: not that of one which was only told to stop.
fn worst(streams: Vec<ScopedJoinHandle<'_, Result<(), Problem>>>) -> Option<Problem> {
    let ended = streams.into_iter().map(|stream| {
        stream.join().unwrap_or_else(|_| Err(Problem::could_not("could not load: a stream panicked")))
    });
    let problems: Vec<Problem> = ended.filter_map(Result::err).collect();
    let told = |problem: &&Problem| problem.what.ends_with(": stopped");
    let own = problems.iter().find(|problem| !told(problem)).or(problems.first());
    own.cloned()
}

/// Adds how to go on: what is committed stays.
fn can_go_on(problem: Problem, stop: &Stop) -> Problem {
    let go_on = "what is done stays: --resume goes on from there";
    if stop.requested() {
        return Problem::could_not("could not finish the load: stopped").hint(go_on);
    }
    let hint = problem.hint.as_ref().map_or_else(|| go_on.to_owned(), |hint| format!("{hint}; {go_on}"));
    problem.hint(hint)
}

fn key_settings(keys: &KeySettings) -> String {
    let workers = keys.workers.map(|workers| format!("; SET max_parallel_maintenance_workers = {workers}"));
    format!("SET maintenance_work_mem = '{}kB'{}", keys.maintenance_bytes / 1024, workers.unwrap_or_default())
}

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
