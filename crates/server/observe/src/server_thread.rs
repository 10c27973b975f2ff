//! The thread with the observing session at one server.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, RecvTimeoutError},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use crate::activity::Pace;
use pgdyno_core::{measure::Waits, observe::What, stop::Stop};
use pgdyno_host::observe::WatchedServer;
use pgdyno_wire::{ConnectOptions, Session, WireError, try_connect_unless};

use crate::{
    command::Mark,
    cost::{Account, BackendCost, ThreadCost},
    queue::Sender,
    readers::{self, Sampled, Server, ServerReader},
    totals::{Counted, Counts},
    watched::SessionOptions,
};

/// Name of the session in `pg_stat_activity`.
const APPLICATION_NAME: &str = "pgdyno observer";
/// Settings of the session: it does not wait for others.
const SETTINGS: [(&str, &str); 2] = [("statement_timeout", "5000"), ("lock_timeout", "1000")];
/// Longest wait for an answer. A server that hangs does not enforce its own timeouts.
const LONGEST_ANSWER: Duration = Duration::from_secs(6);
/// Longest time to connect.
const LONGEST_CONNECT: Duration = Duration::from_secs(5);
/// Shortest and longest time between two attempts at something that failed.
const BACK_OFF: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(10)];
/// Time between two readings of the cost of the server's process.
const COUNT_EVERY: Duration = Duration::from_millis(500);

/// The running thread.
#[derive(Debug)]
pub(crate) struct ServerThread {
    sampled: Arc<Sampled>,
    own: Arc<Mutex<Vec<i32>>>,
    marks: mpsc::Sender<Mark>,
    thread: Option<JoinHandle<()>>,
}

impl ServerThread {
    pub(crate) fn begin(
        options: SessionOptions,
        server: &WatchedServer,
        lines: Sender,
        account: Account,
        (started, stop): (Instant, Stop),
    ) -> Self {
        let sampled = Arc::new(Sampled::default());
        let own = Arc::new(Mutex::new(pids(server)));
        let counted = Arc::new(Counted::new(options.version_num));
        let (marks, marked) = mpsc::channel();
        let is_here = server.postmaster.is_some();
        let readers = match options.clock_only {
            true => readers::of_clock(&read(&options), &account, started),
            false => readers::all(&read(&options), &sampled, &counted, started),
        };
        let state = State {
            readers: readers.into_iter().map(Reading::new).collect(),
            cost: ThreadCost::new(account.clone()),
            backend: None,
            account,
            is_here,
            own: Arc::clone(&own),
            gaps: Gaps { lines, started, begun: BTreeMap::new() },
            options,
            counted,
            begun: BTreeMap::new(),
            finished: false,
            stop,
        };
        let thread = thread::spawn(move || state.run(&marked));
        Self { sampled, own, marks, thread: Some(thread) }
    }

    /// Leaves the sessions of pgdyno out of its samples.
    pub(crate) fn follow(&self, server: &WatchedServer) {
        *self.own.lock().unwrap_or_else(PoisonError::into_inner) = pids(server);
    }

    /// Notifies the thread of times that begin and end: what is counted is read then.
    pub(crate) fn marks(&self) -> mpsc::Sender<Mark> {
        self.marks.clone()
    }

    /// Lets the thread end after the answer that it waits for.
    pub(crate) fn finish(&self) {
        let _ = self.marks.send(Mark::Finish); // it may have ended before
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    pub(crate) fn begin_waits(&self) {
        self.sampled.begin();
    }

    pub(crate) fn end_waits(&self) -> Option<Waits> {
        self.sampled.end()
    }
}

/// Ends the thread, at the latest after the answer that it waits for.
impl Drop for ServerThread {
    fn drop(&mut self) {
        self.finish();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // a panic is printed already
        }
    }
}

/// What readers know about the server.
fn read(options: &SessionOptions) -> Server {
    let mut databases = options.databases.clone();
    if options.stays_out {
        databases.push(options.connect.database.clone());
        databases.push(outside(&options.connect.database).to_owned());
    }
    Server { version_num: options.version_num, databases, is_inside: !options.stays_out }
}

fn pids(server: &WatchedServer) -> Vec<i32> {
    server.own.iter().filter_map(|pid| i32::try_from(*pid).ok()).collect()
}

struct State {
    options: SessionOptions,
    readers: Vec<Reading>,
    /// Process ids of pgdyno's other sessions.
    own: Arc<Mutex<Vec<i32>>>,
    account: Account,
    cost: ThreadCost,
    /// Whether the server is on this machine.
    is_here: bool,
    backend: Option<BackendCost>,
    gaps: Gaps,
    counted: Arc<Counted>,
    /// The sums at the begin of times.
    begun: BTreeMap<u64, Counts>,
    /// Whether the thread was requested to end.
    finished: bool,
    stop: Stop,
}

/// A reader with its times.
struct Reading {
    reader: Box<dyn ServerReader>,
    pace: Pace,
    /// Grows while it fails.
    back_off: Duration,
}

impl Reading {
    fn new(reader: Box<dyn ServerReader>) -> Self {
        Self { pace: reader.pace(), reader, back_off: BACK_OFF[0] }
    }

    fn is_due(&self, now: Instant, at_edge: bool) -> bool {
        self.pace.is_due(now) || (at_edge && self.reader.reads_at_edges() && self.pace.may_hurry(now))
    }
}

impl State {
    fn run(mut self, marked: &mpsc::Receiver<Mark>) {
        let mut back_off = BACK_OFF[0];
        while !self.ends() {
            let pause = match self.connect() {
                Ok(session) => {
                    self.gaps.end("session");
                    self.use_session(session, marked);
                    back_off = BACK_OFF[0];
                    back_off
                }
                Err(_) if self.stop.requested() => back_off,
                Err(why) => {
                    self.gaps.begin("session", &why);
                    back_off = longer(back_off);
                    back_off
                }
            };
            self.cost.count();
            if !self.ends() {
                self.note(marked.recv_timeout(pause), false);
            }
        }
        let gaps = &self.gaps;
        self.readers
            .iter_mut()
            .for_each(|reading| reading.reader.end(&mut |over_s, what| gaps.send(over_s, what)));
        self.gaps.end_all();
    }

    fn ends(&self) -> bool {
        self.finished || self.stop.requested()
    }

    /// Reads over a session until it breaks, or the thread ends.
    fn use_session(&mut self, mut session: Session, marked: &mpsc::Receiver<Mark>) {
        let mut counted = Instant::now();
        let mut mark = Err(RecvTimeoutError::Timeout);
        loop {
            let now = Instant::now();
            if counted + COUNT_EVERY <= now {
                self.count();
                counted = now;
            }
            if let Err(error) = self.read_due(&mut session, now, mark.is_ok()) {
                self.count();
                self.backend = None;
                // An answer that is no longer awaited is not missing.
                if !self.stop.requested() {
                    self.gaps.begin("session", &error.to_string());
                }
                return self.note(mark, false);
            }
            self.note(mark, true);
            if self.ends() {
                return self.count();
            }
            let next = self.readers.iter().filter_map(|reading| reading.pace.next()).min();
            let next = next.unwrap_or(now + COUNT_EVERY);
            mark = marked.recv_timeout(next.saturating_duration_since(Instant::now()));
        }
    }

    /// Notes a time that begins, or sends what was counted in one that ends; neither, if that was not read now.
    fn note(&mut self, mark: Result<Mark, RecvTimeoutError>, is_read: bool) {
        match mark {
            Ok(Mark::Begin(id)) if is_read => drop(self.begun.insert(id, self.counted.now())),
            Ok(Mark::End(id, digest)) => {
                let begun = self.begun.remove(&id).filter(|_| is_read);
                begun.into_iter().for_each(|begun| {
                    let _ = digest.send(self.counted.now().since(&begun)); // nobody may wait for it
                });
            }
            Ok(Mark::Begin(_)) | Err(RecvTimeoutError::Timeout) => {}
            Ok(Mark::Finish) | Err(RecvTimeoutError::Disconnected) => self.finished = true,
        }
    }

    fn count(&mut self) {
        self.backend.iter_mut().for_each(BackendCost::count);
        self.cost.count();
    }

    /// Asks all readers whose time has come, at an edge also those that count.
    ///
    /// # Errors
    /// The session broke. What the server refuses is a gap.
    fn read_due(&mut self, session: &mut Session, now: Instant, at_edge: bool) -> Result<(), WireError> {
        let own = self.own.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for reading in self.readers.iter_mut().filter(|reading| reading.is_due(now, at_edge)) {
            session.within(Some(LONGEST_ANSWER));
            let (name, begin) = (reading.reader.name(), Instant::now());
            let gaps = &self.gaps;
            let read = reading.reader.read(session, &own, &mut |over_s, what| gaps.send(over_s, what));
            match read {
                Ok(()) => {
                    self.gaps.end(name);
                    reading.back_off = BACK_OFF[0];
                    reading.pace.answered(begin, Instant::now());
                }
                Err(WireError::Server(error)) => {
                    self.gaps.begin(name, &error.to_string());
                    reading.back_off = longer(reading.back_off);
                    reading.pace.rest(Instant::now(), reading.back_off);
                }
                Err(broken) => return Err(broken),
            }
        }
        Ok(())
    }

    /// Opens a session, and gives it up again if it takes a connection that the clients will need.
    fn connect(&mut self) -> Result<Session, String> {
        let options = session_options(&self.options);
        let mut session = try_connect_unless(&self.stop, &options).map_err(|error| error.to_string())?;
        session.heed(&self.stop);
        session.within(Some(LONGEST_ANSWER));
        if let Some([free, present]) = connections(&mut session, self.options.version_num)
            && free < i64::from(self.options.leaves_free) - present
        {
            return Err(format!("only {free} connections are free, and the clients need them"));
        }
        // Behind a pooler it is no process id of the server.
        let is_process = self.is_here && !self.options.pooled;
        let pid = u32::try_from(session.backend_pid()).ok().filter(|_| is_process);
        self.backend = pid.and_then(|pid| BackendCost::new(self.account.clone(), pid));
        Ok(session)
    }
}

fn longer(time: Duration) -> Duration {
    (time * 2).min(BACK_OFF[1])
}

/// The database of a session that stays out of another one. The sessions that copy are there, too.
fn outside(database: &str) -> &'static str {
    if database == "postgres" { "template1" } else { "postgres" }
}

fn session_options(of: &SessionOptions) -> ConnectOptions {
    let mut options = of.connect.clone();
    options.application_name = Some(APPLICATION_NAME.to_owned());
    options.connect_timeout = options.connect_timeout.min(LONGEST_CONNECT);
    options.on_notice = None;
    if of.stays_out {
        options.database = outside(&options.database).to_owned();
    }
    if !of.pooled {
        options.startup.retain(|(name, _)| !SETTINGS.iter().any(|(own, _)| own == name));
        options.startup.extend(SETTINGS.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
    options
}

/// Connections that are free for ordinary roles, and those in use; `None` for a superuser, who may use reserved ones,
/// and if the server does not say.
fn connections(session: &mut Session, version_num: u32) -> Option<[i64; 2]> {
    let clients = if version_num < 100_000 { "" } else { "WHERE backend_type = 'client backend'" };
    let sql = format!(
        "SELECT (SELECT pg_catalog.sum(CASE name WHEN 'max_connections' THEN setting::int ELSE -setting::int END) \
         FROM pg_catalog.pg_settings WHERE name IN \
         ('max_connections', 'superuser_reserved_connections', 'reserved_connections')) - present, present \
         FROM (SELECT pg_catalog.count(*) AS present FROM pg_catalog.pg_stat_activity {clients}) AS now \
         WHERE pg_catalog.current_setting('is_superuser') = 'off'"
    );
    let rows = session.query(&sql).ok()?;
    let row = rows.first()?;
    Some([row.parse(0)?, row.parse(1)?])
}

/// What is missing at present: each cause is said when it begins, and again with its duration when it ends.
struct Gaps {
    lines: Sender,
    started: Instant,
    begun: BTreeMap<String, Missing>,
}

struct Missing {
    since: Instant,
    why: String,
    said: BTreeSet<String>,
}

impl Gaps {
    fn send(&self, over_s: f64, what: What) {
        self.lines.send(self.started.elapsed().as_secs_f64(), over_s, what);
    }

    fn begin(&mut self, missing: &str, why: &str) {
        let gap = self.begun.entry(missing.to_owned()).or_insert_with(|| Missing {
            since: Instant::now(),
            why: why.to_owned(),
            said: BTreeSet::new(),
        });
        if gap.said.insert(why.to_owned()) {
            self.lines.gap(self.started.elapsed().as_secs_f64(), 0.0, missing, why);
        }
    }

    fn end(&mut self, missing: &str) {
        if let Some(gap) = self.begun.remove(missing) {
            let over_s = gap.since.elapsed().as_secs_f64();
            self.lines.gap(self.started.elapsed().as_secs_f64(), over_s, missing, &gap.why);
        }
    }

    fn end_all(&mut self) {
        let all: Vec<String> = self.begun.keys().cloned().collect();
        all.iter().for_each(|missing| self.end(missing));
    }
}
