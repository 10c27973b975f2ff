//! Runs the workers side by side and collects their measurements.

use std::{
    io,
    sync::{
        Arc, Barrier, OnceLock,
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use pgdyno_core::stop::Stop;

use crate::{
    Arrivals, Begin, Bookkeeping, Client, Clock, EngineError, Listeners, LogRecord, Mark, MergedInterval,
    Poisson, Probe, Report, Settings, SocketDriver, Target, Timeline,
    arrivals::OpenLoop,
    chooser::Chooser,
    collector::Collector,
    concurrency_limit::ConcurrencyLimit,
    outage::Connections,
    pin_current_thread,
    recorder::Recorder,
    report::Ended,
    steps::LoadProfile,
    users::Users,
    worker_channel::{Spare, WorkerChannel, WorkerMessage},
    worker_schedule::WorkerSchedule,
};

/// Runs the clients of every worker side by side until the schedule ends or a stop is requested.
///
/// `workers` holds the clients of every thread. `on_interval` gets every interval as soon as all workers have closed
/// it, `on_mark` is called at the edges of the measured interval; both on the calling thread.
///
/// # Errors
/// [`EngineError`] if the run fails as a whole; failures of single attempts or clients are in the report.
pub fn run<T: Target + 'static>(
    driver: SocketDriver,
    workers: Vec<Vec<Client<T>>>,
    settings: &Settings,
    stop: &Stop,
    mut on_interval: impl FnMut(&MergedInterval),
    mut on_mark: impl FnMut(Mark),
) -> Result<Report, EngineError> {
    let listeners =
        Listeners { on_interval: &mut on_interval, on_mark: &mut on_mark, on_log: &mut |_, _| () };
    run_keeping(driver, workers, settings, &Bookkeeping::default(), stop, listeners)
}

/// Like [`run`], and records what `bookkeeping` requests. If clients end by number of attempts
/// ([`Bookkeeping::by_number`]), `settings` must have a duration that the run does not reach.
///
/// # Errors
/// [`EngineError`] if the run fails as a whole; failures of single attempts or clients are in the report.
pub fn run_keeping<T: Target + 'static>(
    driver: SocketDriver,
    workers: Vec<Vec<Client<T>>>,
    settings: &Settings,
    bookkeeping: &Bookkeeping,
    stop: &Stop,
    listeners: Listeners<'_>,
) -> Result<Report, EngineError> {
    run_returning(driver, workers, settings, bookkeeping, stop, listeners).map(|(report, _)| report)
}

/// The clients of every worker.
pub type ClientsOfWorkers<T> = Vec<Vec<Client<T>>>;

/// Like [`run_keeping`], and returns the clients of every worker for another run, with their connections, if
/// [`Bookkeeping::returns_clients`] is set. Clients that lost their connection, or whose last answer did not come, are
/// not among them.
///
/// # Errors
/// As [`run_keeping`].
pub fn run_returning<T: Target + 'static>(
    driver: SocketDriver,
    workers: Vec<Vec<Client<T>>>,
    settings: &Settings,
    bookkeeping: &Bookkeeping,
    stop: &Stop,
    listeners: Listeners<'_>,
) -> Result<(Report, ClientsOfWorkers<T>), EngineError> {
    let Listeners { on_interval, on_mark, on_log } = listeners;
    let clients: usize = workers.iter().map(Vec::len).sum();
    let running = WorkerThreads::start(driver, workers, settings, bookkeeping, stop);
    let mut collector = Collector::new(running.timeline, running.threads.len(), &bookkeeping.steps);
    let mut marks =
        vec![(running.timeline.end_ns, Mark::MeasureEnd), (running.timeline.measure_ns, Mark::MeasureStart)];
    while let Some((worker, handed)) = running.next(&mut marks, on_mark) {
        match handed {
            WorkerMessage::Log(mut records) => {
                on_log(worker, &records);
                records.clear();
                let _ = running.returns[worker].logs.send(records); // a worker that has ended needs no spare
            }
            WorkerMessage::Interval(report) => {
                let spare = collector.take(worker, report)?;
                if !bookkeeping.tallies_only {
                    let _ = running.returns[worker].spares.send(spare);
                }
                while let Some(merged) = collector.next_complete() {
                    on_interval(&merged);
                }
            }
        }
    }
    if marks.len() == 1 {
        on_mark(Mark::MeasureEnd); // stopped within the measured interval: it ends here
    }
    let connections = Arc::clone(&running.connections);
    let (reports, clients_left) = running.join()?.into_iter().unzip();
    let mut report = collector.finish(reports, settings, stop);
    report.outage = connections.outage();
    if report.stopped.is_none() && clients > 0 && report.clients_lost as usize == clients {
        report.stopped = Some(report.errors.why("every client ended"));
    }
    Ok((report, clients_left))
}

type Tagged = (usize, WorkerMessage);

/// The threads of a run.
struct WorkerThreads<T> {
    timeline: Timeline,
    connections: Arc<Connections>,
    threads: Vec<JoinHandle<io::Result<Ended<T>>>>,
    reports: Receiver<Tagged>,
    returns: Vec<Returns>,
}

/// Channels that return a worker's buffers, emptied.
struct Returns {
    spares: Sender<Spare>,
    logs: Sender<Vec<LogRecord>>,
}

impl<T: Target + 'static> WorkerThreads<T> {
    /// Starts the workers. They wait for each other, so that the schedule begins for all at one instant.
    fn start(
        driver: SocketDriver,
        workers: Vec<Vec<Client<T>>>,
        settings: &Settings,
        bookkeeping: &Bookkeeping,
        stop: &Stop,
    ) -> Self {
        let total: usize = workers.iter().map(Vec::len).sum();
        let count = workers.len();
        let gate = Arc::new(Gate::new(count));
        let connections = Arc::new(Connections::new(total, settings.seed));
        let begin = bookkeeping.begin.clone();
        let bookkeeping = Arc::new(bookkeeping.clone());
        let (tagged, reports) = mpsc::channel();
        let (mut threads, mut returns) = (Vec::new(), Vec::new());
        for (index, clients) in workers.into_iter().enumerate() {
            let (spares_back, spares) = mpsc::channel();
            let (logs_back, spare_logs) = mpsc::channel();
            returns.push(Returns { spares: spares_back, logs: logs_back });
            let job = Box::new(Job {
                settings: settings.clone(),
                bookkeeping: Arc::clone(&bookkeeping),
                workers: count,
                share: clients.len() as f64 / total.max(1) as f64,
                stop: stop.clone(),
                channel: WorkerChannel { worker: index, to: tagged.clone(), spares, spare_logs },
                gate: Arc::clone(&gate),
                connections: Arc::clone(&connections),
            });
            let thread = thread::Builder::new().name(format!("worker {index}"));
            threads
                .push(thread.spawn(move || job.work(driver, clients)).expect("the system has a thread left"));
        }
        Self { timeline: gate.open(settings, &begin), connections, threads, reports, returns }
    }

    /// Receives the next message of any worker; `None` when all have ended. Calls the marks that come due meanwhile.
    fn next(&self, marks: &mut Vec<(u64, Mark)>, on_mark: &mut dyn FnMut(Mark)) -> Option<Tagged> {
        loop {
            let now_ns = Clock::now_ns();
            let wait_ns = match marks.last() {
                Some(&(at_ns, mark)) if at_ns <= now_ns => {
                    on_mark(mark);
                    marks.pop();
                    continue;
                }
                Some(&(at_ns, _)) => (at_ns - now_ns).min(3_600_000_000_000),
                None => 3_600_000_000_000,
            };
            match self.reports.recv_timeout(Duration::from_nanos(wait_ns)) {
                Ok(report) => return Some(report),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn join(self) -> Result<Vec<Ended<T>>, EngineError> {
        let joined = self.threads.into_iter().map(|thread| thread.join().map_err(|_| EngineError::Panicked));
        joined.map(|result| Ok(result??)).collect()
    }
}

/// Start barrier: all workers wait for each other, so that the schedule begins for all at one instant.
struct Gate {
    ready: Barrier,
    opened: Barrier,
    timeline: OnceLock<Timeline>,
}

impl Gate {
    fn new(workers: usize) -> Self {
        Self {
            ready: Barrier::new(workers + 1),
            opened: Barrier::new(workers + 1),
            timeline: OnceLock::new(),
        }
    }

    /// Sets the schedule when all workers are ready.
    fn open(&self, settings: &Settings, begin: &Begin) -> Timeline {
        self.ready.wait();
        let start_ns = begin.instant_ns();
        let measure_ns = start_ns + settings.warmup_ns;
        let end_ns = measure_ns + settings.duration_ns;
        let timeline = Timeline { start_ns, measure_ns, end_ns, interval_ns: settings.interval_ns };
        let _ = self.timeline.set(timeline); // only this thread opens the gate
        self.opened.wait();
        timeline
    }

    fn pass(&self) -> Timeline {
        self.ready.wait();
        self.opened.wait();
        *self.timeline.get().expect("the gate is opened with a timeline")
    }
}

/// Input of one worker thread.
struct Job {
    settings: Settings,
    /// Shared, since it holds the random streams of all workers.
    bookkeeping: Arc<Bookkeeping>,
    workers: usize,
    share: f64,
    stop: Stop,
    channel: WorkerChannel,
    gate: Arc<Gate>,
    connections: Arc<Connections>,
}

impl Job {
    fn work<T: Target>(
        self: Box<Self>,
        driver: SocketDriver,
        clients: Vec<Client<T>>,
    ) -> io::Result<Ended<T>> {
        let stop = self.stop.clone();
        let result = self.start(clients.len()).and_then(|schedule| driver.drive(clients, schedule));
        result.inspect_err(|error| stop.request(&error.to_string()))
    }

    /// Waits for the other workers, and returns the schedule when it begins. Not inlined into `work`: its temporaries
    /// would stay on the stack of every worker for the whole run, and there may be hundreds of workers.
    #[inline(never)]
    #[expect(clippy::boxed_local, reason = "out of the box it would be on the caller's stack")]
    fn start(self: Box<Self>, clients: usize) -> io::Result<Box<WorkerSchedule>> {
        let pinned = self.pin();
        // Lets sleeps end within a microsecond of their instant, as far as the kernel can.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        let probe = Probe::keeping(self.settings.statements, &self.bookkeeping);
        // Done before the barrier: creating a million users takes time.
        let mut chooser = Chooser::new(&self.bookkeeping.mix, self.channel.worker);
        let users = self.users(&mut chooser);
        let timeline = self.gate.pass();
        pinned?;
        let limit = self.limit(timeline, clients);
        let schedule = self.schedule(timeline, probe, (chooser, users), limit);
        thread::sleep(Duration::from_nanos(timeline.start_ns.saturating_sub(Clock::now_ns())));
        Ok(schedule)
    }

    /// The users of this worker, if the run has users.
    fn users(&self, chooser: &mut Chooser) -> Option<Users> {
        let worker = self.channel.worker;
        let seed = self.settings.seed.wrapping_add(worker as u64);
        let population = self.bookkeeping.users.as_ref()?;
        Some(Users::new(population, (worker, self.workers), seed, chooser))
    }

    /// How many of this worker's clients may be active, if the run is a closed loop.
    fn limit(&self, timeline: Timeline, clients: usize) -> ConcurrencyLimit {
        let profile = LoadProfile::new(&self.bookkeeping.steps, timeline);
        let limit = ConcurrencyLimit::new(profile, self.channel.worker, self.workers, clients);
        limit.ramping(&timeline, self.settings.ramp_ns, self.settings.seed)
    }

    fn schedule(
        self,
        timeline: Timeline,
        probe: Probe,
        (chooser, users): (Chooser, Option<Users>),
        limit: ConcurrencyLimit,
    ) -> Box<WorkerSchedule> {
        let profile = LoadProfile::new(&self.bookkeeping.steps, timeline);
        let arrivals = match users {
            Some(users) => Arrivals::Users(users.beginning_at(timeline.start_ns)),
            None => self.arrivals(timeline.start_ns, profile.as_ref()),
        };
        let open_loop = !matches!(arrivals, Arrivals::Closed);
        let Self { settings, bookkeeping, stop, channel, connections, .. } = self;
        let mut schedule = Box::new(WorkerSchedule {
            timeline,
            drain_ns: settings.drain_ns,
            arrivals,
            chooser,
            limit,
            recorder: Recorder::new(timeline, open_loop, &bookkeeping, profile, channel),
            by_number: bookkeeping.by_number,
            end_with_first_lost: bookkeeping.end_with_first_lost,
            returns_clients: bookkeeping.returns_clients,
            stop,
            stopped_at_ns: None,
            clients_lost: 0,
            connections,
            probe,
        });
        schedule.begin();
        schedule
    }

    fn pin(&self) -> io::Result<()> {
        match self.settings.cpus.as_slice() {
            [] => Ok(()),
            cpus => pin_current_thread(&[cpus[self.channel.worker % cpus.len()]]),
        }
    }

    /// Arrivals of this worker, shared by its clients; their rate is the worker's share of the clients.
    fn arrivals(&self, start_ns: u64, profile: Option<&LoadProfile>) -> Arrivals {
        let seed = self.settings.seed.wrapping_add(self.channel.worker as u64);
        let rates = match profile {
            Some(profile) => profile.rates(self.share),
            None => self.settings.rate_per_s.map(|rate_per_s| vec![(u64::MAX, rate_per_s * self.share)]),
        };
        rates.map_or(Arrivals::Closed, |rates| {
            Arrivals::Open(OpenLoop::from_process(Poisson::changing(start_ns, &rates, seed)))
        })
    }
}
