//! Loads with many streams; a kill at any point neither corrupts nor loses the load (docs/loading.md).

mod bounds;
mod dirs;
mod flush;
mod ledger;
mod progress;
mod proof;
mod room;
mod sampler;
mod scaleup;
mod shape;
mod survey;
mod tpcc;
mod watch;
mod work;
mod worker;

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU8, AtomicU64, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread::{self, ScopedJoinHandle},
    time::{Duration, Instant},
};

use pgdyno_core::{problem::Problem, stop::Stop};
use pgdyno_rows::load::{KeyLimit, KeySettings, LoadPlan, LoadRequest, Remains, Stage, Work, tasks};
use pgdyno_wire::{ConnectOptions, Session, WireError, connect_unless};

pub(super) use dirs::{LoadDirs, Sizes};
pub use ledger::Job;
pub(super) use ledger::{find, is_done, is_whole, literal};
pub use progress::{BulkProgress, LoadSample};
pub use proof::{Proof, TableProof};
pub use survey::{ImaginedServer, Room, Survey, check_connections, check_version};
pub(super) use survey::{by_file_system, survey};
pub(super) use watch::PhaseSampler;
pub use watch::{Phase, Phases, Span};
pub(super) use work::{Done, TaskExecutor, failed, fill_settings, shared_constants, table_statements};

use crate::{
    observe::{temp_written, wal_written},
    settings::set_if_known,
};
use flush::Flusher;
use room::FreeSpaceWatch;
use sampler::RateSampler;
use worker::{EndedTasks, Shared, Worker};

/// Interval of progress reports and of background work such as WAL flushes.
const TICK: Duration = Duration::from_millis(20);

/// A load from one process: a session for everything done once, and what its streams need.
#[derive(Debug)]
pub struct BulkLoad<'a> {
    options: &'a ConnectOptions,
    session: Session,
    streams: u64,
    stop: &'a Stop,
    /// Free bytes of the server's machine, if the user said how many there are.
    given_bytes: Option<u64>,
    /// Seconds in which the empty tables were created, if they were.
    created_s: Option<f64>,
}

/// How a process takes part in a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// Begins a new load.
    New,
    /// Resumes an interrupted load.
    Resume,
    /// Joins a running load.
    Join,
}

/// Result of a load.
#[derive(Debug, Clone, PartialEq)]
pub struct BulkOutcome {
    /// Number of tasks done by this process.
    pub tasks: u64,
    /// Number of rows sent by this process.
    pub rows: u64,
    /// Bytes of COPY data sent by this process.
    pub copy_bytes: u64,
    /// Times of all stages as seen by this process.
    pub stages: Vec<StageTime>,
    /// Parallel workers per key.
    pub workers: KeyWorkers,
    /// Seconds in which this process created the empty tables before all stages, if it did.
    pub created_s: Option<f64>,
    /// Duration of the load in seconds, without the proof.
    pub duration_s: f64,
    /// Size of tables and indexes in bytes.
    pub size_bytes: u64,
    /// Outcome of the proof.
    pub proof: Verified,
}

/// Time of a completed stage.
#[derive(Debug, Clone, PartialEq)]
pub struct StageTime {
    /// The stage.
    pub stage: Stage,
    /// Duration of the stage in seconds.
    pub seconds: f64,
    /// Times of the phases, as far as the server's progress views showed them.
    pub phases: Phases,
    /// Bytes of WAL written by the whole server during the stage; `None` if the role may not see that.
    pub wal_bytes: Option<u64>,
    /// Bytes of temporary files written for the database during the stage, as far as they were reported in time.
    pub temp_bytes: Option<u64>,
}

impl StageTime {
    /// Rate of this stage per second, for an amount of rows or bytes.
    pub fn rate(&self, amount: u64) -> f64 {
        amount as f64 / self.seconds.max(1e-9)
    }
}

/// Parallel workers of index builds, as requested, planned and launched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyWorkers {
    /// Most workers per key by the session's settings; `None` if the server has no such setting.
    pub asked: Option<u64>,
    /// Workers planned by the server.
    pub planned: Option<Span>,
    /// Workers observed running.
    pub launched: Option<Span>,
    /// What allows fewer workers than were requested by the user.
    pub limits: Vec<KeyLimit>,
}

/// Where the rows were compared.
#[derive(Debug, Clone, PartialEq)]
pub enum Verified {
    /// In this process.
    Here(Proof),
    /// In another process that shares the load.
    Elsewhere,
    /// Nowhere: the proof was not requested.
    Later,
    /// Nowhere: the load was to end before its last stages.
    Unfinished,
}

impl<'a> BulkLoad<'a> {
    /// Connects to the server for a load with this many streams.
    ///
    /// # Errors
    /// The server cannot be reached or cannot be loaded.
    pub fn new(options: &'a ConnectOptions, streams: u64, stop: &'a Stop) -> Result<Self, Problem> {
        let mut session = connect_unless(stop, options)?;
        session.heed(stop);
        ledger::settle(&mut session)
            .map_err(|error| error.into_problem("could not prepare a session for loading"))?;
        Ok(Self { options, session, streams: streams.max(1), stop, given_bytes: None, created_s: None })
    }

    /// Takes the user's word for the free bytes of the server's machine, in place of what its file systems report.
    pub fn with_room(&mut self, given_bytes: Option<u64>) {
        self.given_bytes = given_bytes;
    }

    /// Examines the server for a request, without changing anything.
    ///
    /// # Errors
    /// An obstacle to the load.
    pub fn survey(&mut self, request: &LoadRequest) -> Result<(LoadPlan, Survey), Problem> {
        let plan = request.plan(self.streams)?;
        let survey = self.survey_for(&plan)?;
        Ok((plan, survey))
    }

    /// Examines the server for a plan, without changing anything.
    ///
    /// # Errors
    /// An obstacle to the load.
    pub fn survey_for(&mut self, plan: &LoadPlan) -> Result<Survey, Problem> {
        survey::refuse_pooler(&mut self.session)?;
        let survey = survey::survey(&mut self.session, plan, Sizes::default(), self.streams)?;
        let survey = survey.with_room(self.given_bytes);
        ledger::refuse_existing(&mut self.session, &survey.target, plan.set)?;
        Ok(survey)
    }

    /// Begins a new load by creating its empty tables.
    ///
    /// # Errors
    /// There is not enough free space, or the server refuses.
    pub fn begin(&mut self, plan: &LoadPlan, survey: &Survey) -> Result<Job, Problem> {
        survey.check_room()?;
        let begin = Instant::now();
        let job = ledger::begin(&mut self.session, &survey.target, plan)?;
        self.created_s = Some(begin.elapsed().as_secs_f64());
        Ok(job)
    }

    /// The finished load of the first schema of the search path, whose tables must still exist.
    ///
    /// # Errors
    /// There is no such load.
    pub fn loaded(&mut self) -> Result<Job, Problem> {
        let target = survey::target(&mut self.session)?;
        let what = format!("could not copy schema {target:?}");
        let (lacks, hint) = match ledger::find(&mut self.session, &target)? {
            Some(job) if job.finished && ledger::is_whole(&mut self.session, &job)? => return Ok(job),
            Some(job) if job.finished => (
                "its tables were replaced since it was loaded, or emptied by a crash of the server",
                "drop them and load again",
            ),
            Some(_) => (
                "its load is not finished",
                "continue with `pgdyno load … --resume`, or complete it by `pgdyno load verify`",
            ),
            None => ("no load is known there", "load it by `pgdyno load tpcb`"),
        };
        Err(Problem::wrong_request(format!("{what}: {lacks}")).hint(hint))
    }

    /// The load of the first schema of the search path, finished or not, whose tables can be dropped.
    ///
    /// # Errors
    /// No load is known there, its tables were replaced, or somebody is loading.
    pub fn droppable(&mut self) -> Result<Job, Problem> {
        let target = survey::target(&mut self.session)?;
        let Some(job) = ledger::find(&mut self.session, &target)? else {
            let what = format!("could not drop a load: none is known in schema {target:?}");
            return Err(Problem::wrong_request(what)
                .hint("`pgdyno load drop` drops only what `pgdyno load` made. Nothing was changed."));
        };
        ledger::refuse_dropping(&mut self.session, &job).map(|()| job)
    }

    /// Drops the tables of a load, and its record in the database.
    ///
    /// # Errors
    /// The server refuses, for example because a view depends on them; then all of them stay.
    pub fn drop_tables(&mut self, job: &Job) -> Result<(), Problem> {
        let what = format!("could not drop {}", job.plan.title());
        ledger::drop_tables(&mut self.session, job).map_err(|error| error.into_problem(&what))
    }

    /// Begins a load, or finds the one to take part in.
    ///
    /// # Errors
    /// There is no load to execute.
    pub fn enter(&mut self, entry: Entry, request: &LoadRequest) -> Result<(Job, Survey), Problem> {
        if entry == Entry::New {
            let (plan, survey) = self.survey(request)?;
            let job = self.begin(&plan, &survey)?;
            return Ok((job, survey));
        }
        let target = survey::target(&mut self.session)?;
        let flag = if entry == Entry::Join { "--join" } else { "--resume" };
        let mut job = ledger::resume(&mut self.session, &target, request, flag)?;
        job.plan.key_workers = request.key_workers.or(job.plan.key_workers);
        let working_sessions = ledger::working_sessions(&mut self.session, &job)
            .map_err(|error| error.into_problem("could not list the sessions that work on the load"))?;
        if entry == Entry::Join && working_sessions == 0 {
            let problem = Problem::wrong_request("could not join the load: no other process works on it");
            return Err(problem.hint("continue it with --resume"));
        }
        // A process that joins at once finds this process, also before its streams are connected.
        ledger::be_present(&mut self.session, &job)
            .map_err(|error| error.into_problem("could not take part in the load"))?;
        let there = self.sizes(&job).map_err(|error| error.into_problem("could not read sizes"))?;
        let survey = survey::survey(&mut self.session, &job.plan, there, self.streams)?;
        Ok((job, survey.with_room(self.given_bytes)))
    }

    /// Executes the remaining tasks up to and including a stage. Proves the load if requested, the stage is the
    /// last one, and all tasks are done; a load that is to end early is never verified, even if no stage follows.
    ///
    /// # Errors
    /// A task fails; `--resume` continues from there.
    pub fn run(
        &mut self,
        job: &Job,
        survey: &Survey,
        (until, wants_proof): (Stage, bool),
        on_progress: &mut dyn FnMut(BulkProgress),
    ) -> Result<BulkOutcome, Problem> {
        let start = Instant::now();
        let tasks = tasks(&job.plan);
        let before = self.rows_before(job)?;
        let halt = Stop::default();
        let loader = format!("{}:{}", host_name(), std::process::id());
        let settings = key_settings(&survey.keys);
        let shared = Shared {
            options: self.options,
            job,
            tasks: &tasks,
            until,
            halt: &halt,
            settings: &settings,
            loader: &loader,
            rows: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            done: AtomicU64::new(0),
            ends: EndedTasks::default(),
            held: AtomicU64::new(0),
            waited: AtomicU8::new(0),
            pids: Mutex::default(),
            planned: Mutex::default(),
        };
        let mut attendant = BackgroundWork::new(survey, &job.plan);
        let stages = self.work(&shared, &mut attendant, before, on_progress);
        let stages = stages.map_err(|problem| with_resume_hint(problem, &job.plan, self.stop))?;
        let duration_s = start.elapsed().as_secs_f64();
        let wants_proof = wants_proof && Some(&until) == Stage::ALL.last();
        let proof = self.close(job, wants_proof, on_progress);
        let proof = proof.map_err(|problem| with_resume_hint(problem, &job.plan, self.stop))?;
        Ok(BulkOutcome {
            tasks: shared.done.into_inner(),
            rows: shared.rows.into_inner(),
            copy_bytes: shared.bytes.into_inner(),
            stages: attendant.times(stages),
            workers: KeyWorkers {
                asked: survey.keys.workers,
                planned: shared.planned.into_inner().unwrap_or_else(PoisonError::into_inner),
                launched: attendant.watch.launched(),
                limits: survey.keys.limits.clone(),
            },
            created_s: self.created_s,
            duration_s,
            size_bytes: self.sizes(job).map_or(0, Sizes::total_bytes),
            proof,
        })
    }

    /// Compares the tables with those of TPC-B at a scale or, without a scale, with the recorded load.
    ///
    /// # Errors
    /// The tables cannot be compared.
    pub fn verify(&mut self, scale: Option<u64>) -> Result<(LoadPlan, Proof), Problem> {
        let target = survey::target(&mut self.session)?;
        if scale.is_some() {
            let plan = LoadRequest { scale, ..LoadRequest::default() }.plan(self.streams)?;
            let proof = self.prove(&target, &plan, false)?;
            return Ok((plan, proof));
        }
        let job = self.known()?;
        let proof = self.prove(&target, &job.plan, true)?;
        if !job.finished && proof.faults().is_empty() {
            self.finish_if_done(&job)?;
        }
        Ok((job.plan, proof))
    }

    /// The load in the first schema of the search path, whether it is finished or not.
    ///
    /// # Errors
    /// There is none.
    pub fn known(&mut self) -> Result<Job, Problem> {
        let target = survey::target(&mut self.session)?;
        ledger::find(&mut self.session, &target)?.ok_or_else(|| {
            Problem::wrong_request(format!("could not verify: no load is known in schema {target:?}"))
                .hint("`load verify --scale N` compares tables loaded by another program")
        })
    }

    /// What is left of the load in the first schema of the search path; `None` if there is none, or all is done but
    /// perhaps the proof.
    ///
    /// # Errors
    /// A query fails.
    pub fn remains(&mut self) -> Result<Option<Remains>, Problem> {
        let target = survey::target(&mut self.session)?;
        let Some(job) = ledger::find(&mut self.session, &target)?.filter(|job| !job.finished) else {
            return Ok(None);
        };
        let sql = format!("SELECT number FROM {} WHERE done", job.tasks_table());
        let done = self.session.query(&sql);
        let done = done.map_err(|error| error.into_problem("could not read the load's tasks"))?;
        let numbers: Vec<_> = done.iter().filter_map(|row| row.parse(0)).collect();
        Ok(Some(Remains::new(&job.plan, &numbers)).filter(|remains| !remains.is_nothing()))
    }

    /// What is left of the load after it failed, seen from a new session: this one may have been ended.
    ///
    /// # Errors
    /// The server cannot be reached any more.
    pub fn remains_afterwards(&self) -> Result<Option<Remains>, Problem> {
        BulkLoad::new(self.options, 1, &Stop::default())?.remains()
    }

    /// Compares the tables with what a load must have left, by whatever program.
    ///
    /// # Errors
    /// The tables cannot be compared.
    pub fn verify_against(&mut self, plan: &LoadPlan) -> Result<Proof, Problem> {
        let target = survey::target(&mut self.session)?;
        self.prove(&target, plan, false)
    }

    /// Records a load as finished by this proof if all its tasks are done and its proof was deferred.
    fn finish_if_done(&mut self, job: &Job) -> Result<(), Problem> {
        let finish = |session: &mut Session| {
            if ledger::is_done(session, job)? { ledger::finish(session, job) } else { Ok(()) }
        };
        finish(&mut self.session).map_err(|error| error.into_problem("could not close the load"))
    }

    fn prove(&mut self, target: &str, plan: &LoadPlan, shaped: bool) -> Result<Proof, Problem> {
        let workers = self.streams.min(1024).to_string();
        let parallel = set_if_known("max_parallel_workers_per_gather", &workers, false);
        ledger::aim(&mut self.session, target)
            .and_then(|()| self.session.execute(&parallel))
            .map_err(|error| error.into_problem("could not prepare a session for checking"))?;
        proof::prove(&mut self.session, plan, shaped, self.streams, self.stop)
    }

    /// Finishes the load after the last task.
    fn close(
        &mut self,
        job: &Job,
        wants_proof: bool,
        on_progress: &mut dyn FnMut(BulkProgress),
    ) -> Result<Verified, Problem> {
        let done = ledger::is_done(&mut self.session, job);
        if !done.map_err(|error| error.into_problem("could not read the load's tasks"))? {
            return Ok(Verified::Unfinished);
        }
        if !wants_proof {
            return Ok(Verified::Later);
        }
        on_progress(BulkProgress::Proving);
        self.verify_once(job)
    }

    /// Verifies the load if no other process has; the first one to arrive verifies, the others wait for it.
    fn verify_once(&mut self, job: &Job) -> Result<Verified, Problem> {
        let what = "could not close the load";
        let lock = format!("SELECT pg_catalog.pg_advisory_lock({})", job.proof());
        self.session.execute(&lock).map_err(|error| error.into_problem(what))?;
        if ledger::find(&mut self.session, &job.target)?.is_some_and(|job| job.finished) {
            return Ok(Verified::Elsewhere);
        }
        let proof = self.prove(&job.target, &job.plan, true)?;
        if proof.faults().is_empty() {
            ledger::finish(&mut self.session, job).map_err(|error| error.into_problem(what))?;
        }
        Ok(Verified::Here(proof))
    }

    /// Number of rows of tasks done earlier.
    fn rows_before(&mut self, job: &Job) -> Result<u64, Problem> {
        let tasks = tasks(&job.plan);
        let sql = format!("SELECT number FROM {} WHERE done AND stage = 1", job.tasks_table());
        let done = self
            .session
            .query(&sql)
            .map_err(|error| error.into_problem("could not read the load's tasks"))?;
        let numbers = done.iter().filter_map(|row| row.parse::<usize>(0));
        let rows = numbers.map(|number| match tasks.get(number).map(|task| task.work) {
            Some(Work::Fill { table, part, .. }) => table.rows_of(part.rows()),
            _ => 0,
        });
        Ok(rows.sum())
    }

    /// Runs all streams until no task is left; returns the stages without their phases.
    fn work(
        &mut self,
        shared: &Shared<'_>,
        attendant: &mut BackgroundWork,
        before: u64,
        on_progress: &mut dyn FnMut(BulkProgress),
    ) -> Result<Vec<StageTime>, Problem> {
        let (sender, news) = mpsc::channel();
        let mut sampler = RateSampler::new(&mut self.session);
        let mut seen: Vec<StageStart> = Vec::new();
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
                    Ok(BulkProgress::Stage(stage)) if seen.iter().any(|known| known.stage >= stage) => {}
                    Ok(at) => {
                        if let BulkProgress::Stage(stage) = at {
                            seen.push(StageStart::now(stage, &mut self.session));
                        }
                        on_progress(at);
                    }
                    Err(RecvTimeoutError::Disconnected) => break,
                    Err(RecvTimeoutError::Timeout) => {}
                }
                let rows = shared.rows.load(Ordering::Relaxed);
                on_progress(BulkProgress::Rows(before + rows));
                sampler
                    .tend(&mut self.session, rows)
                    .into_iter()
                    .for_each(|at| on_progress(BulkProgress::Sample(at)));
                if self.stop.requested() {
                    shared.halt.request("interrupted");
                }
                let stage = seen.last().map(|begun| begun.stage);
                attendant.tend(&mut self.session, shared, stage, on_progress);
            }
            worst(streams)
        });
        let rows = shared.rows.load(Ordering::Relaxed);
        on_progress(BulkProgress::Sample(sampler.sample(&mut self.session, rows)));
        first_problem.map_or(Ok(()), |problem| Err(attendant.full.take().unwrap_or(problem)))?;
        let end = seen.last().map(|last| StageStart::now(last.stage, &mut self.session));
        let ends = seen.iter().skip(1).chain(&end);
        Ok(seen.iter().zip(ends).map(|(begun, end)| begun.until(end)).collect())
    }

    /// Bytes of the load's tables on disk.
    fn sizes(&mut self, job: &Job) -> Result<Sizes, WireError> {
        Sizes::find(&mut self.session, std::slice::from_ref(&job.target), job.plan.set)
    }
}

/// State at the beginning of a stage, or at the end of the last one.
pub(super) struct StageStart {
    stage: Stage,
    at: Instant,
    wal_bytes: Option<u64>,
    temp_bytes: Option<u64>,
}

impl StageStart {
    pub(super) fn now(stage: Stage, session: &mut Session) -> Self {
        let (wal_bytes, temp_bytes) = (wal_written(session), temp_written(session));
        Self { stage, at: Instant::now(), wal_bytes, temp_bytes }
    }

    /// The stage from this state to `end`, without its phases.
    pub(super) fn until(&self, end: &Self) -> StageTime {
        let since = |(end, begin): (u64, u64)| end.saturating_sub(begin);
        StageTime {
            stage: self.stage,
            seconds: end.at.duration_since(self.at).as_secs_f64(),
            phases: Phases::default(),
            wal_bytes: end.wal_bytes.zip(self.wal_bytes).map(since),
            temp_bytes: end.temp_bytes.zip(self.temp_bytes).map(since),
        }
    }
}

/// Background work during a load, in the session that has no other task.
struct BackgroundWork {
    flusher: Flusher,
    watch: PhaseSampler,
    free_space: FreeSpaceWatch,
    /// The file system that ran out of room, which ended the load.
    full: Option<Problem>,
}

impl BackgroundWork {
    fn new(survey: &Survey, plan: &LoadPlan) -> Self {
        Self {
            flusher: Flusher::new(survey.version_num),
            watch: PhaseSampler::for_plan(survey, plan),
            free_space: FreeSpaceWatch::new(&survey.room),
            full: None,
        }
    }

    fn tend(
        &mut self,
        session: &mut Session,
        shared: &Shared<'_>,
        stage: Option<Stage>,
        on_progress: &mut dyn FnMut(BulkProgress),
    ) {
        self.flusher.tend(session);
        let pids = || shared.pids.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(stage) = stage
            && let Some(words) = self.watch.tend(session, stage, &pids())
        {
            on_progress(BulkProgress::Doing { stage, words });
        }
        if self.full.is_some() {
            return;
        }
        if let Some(problem) = self.free_space.tend() {
            self.full = Some(problem);
            shared.halt.request("the disk is full");
        }
    }

    fn times(&mut self, stages: Vec<StageTime>) -> Vec<StageTime> {
        let with_phases = |time: StageTime| StageTime { phases: self.watch.phases(time.stage), ..time };
        stages.into_iter().map(with_phases).collect()
    }
}

/// The problem that caused the streams to end, rather than those of streams that were merely stopped.
fn worst(streams: Vec<ScopedJoinHandle<'_, Result<(), Problem>>>) -> Option<Problem> {
    let ended = streams.into_iter().map(|stream| {
        stream.join().unwrap_or_else(|_| Err(Problem::could_not("could not load: a stream panicked")))
    });
    let problems: Vec<Problem> = ended.filter_map(Result::err).collect();
    let stopped = |problem: &&Problem| problem.what.ends_with(": stopped");
    let own = problems.iter().find(|problem| !stopped(problem)).or(problems.first());
    own.cloned()
}

/// Adds to a problem what is kept, and how to resume.
fn with_resume_hint(problem: Problem, plan: &LoadPlan, stop: &Stop) -> Problem {
    let resume_hint = format!("{}: --resume continues from there", plan.kept());
    if stop.requested() {
        return Problem::could_not("could not finish the load: stopped").hint(resume_hint);
    }
    let hint =
        problem.hint.as_ref().map_or_else(|| resume_hint.clone(), |hint| format!("{hint}; {resume_hint}"));
    problem.hint(hint)
}

/// Statements that set up a session for building keys.
pub(super) fn key_settings(keys: &KeySettings) -> String {
    let workers = keys.workers.map(|workers| format!("; SET max_parallel_maintenance_workers = {workers}"));
    let parallel = keys.parallel_workers.map(|workers| format!("; SET max_parallel_workers = {workers}"));
    format!(
        "SET maintenance_work_mem = '{}kB'{}{}",
        keys.maintenance_bytes / 1024,
        workers.unwrap_or_default(),
        parallel.unwrap_or_default()
    )
}

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
