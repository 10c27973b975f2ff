//! The thread that reads the server, over a session of its own.

use std::{
    collections::HashMap,
    sync::mpsc::{self, RecvTimeoutError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use pgdyno_core::{observe::StatementSample, problem::Problem, stop::Stop};
use pgdyno_observe::activity::{
    BlockedReader, CounterReader, Pace, PositionReader, ProgressReader, SessionReader, StatementChange,
    StatementReader, StatementSupport, WaitReader, WaitTally,
};
use pgdyno_wire::{ConnectOptions, Session, WireError, connect_unless, try_connect_unless};

use crate::{
    model,
    news::{News, ServerPart},
    place,
    reading::{Absent, Statements, Subject, WriteRates},
};

/// Name of the session in `pg_stat_activity`.
const APPLICATION_NAME: &str = "pgdyno top";
/// Settings of the session: it does not wait for others.
const SETTINGS: [(&str, &str); 2] = [("statement_timeout", "5000"), ("lock_timeout", "1000")];
/// SQLSTATE of a startup parameter that a pooler refuses.
const REFUSED: &str = "08P01";
/// Longest wait for an answer. A server that hangs does not enforce its own timeouts.
const LONGEST_ANSWER: Duration = Duration::from_secs(6);
/// Longest time to connect again.
const LONGEST_CONNECT: Duration = Duration::from_secs(5);
/// Shortest and longest time between two attempts to connect.
const BACK_OFF: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(5)];
/// Time between two samples of what sessions wait for.
const SAMPLE_EVERY: Duration = Duration::from_millis(100);
/// Least time between two readings of `pg_stat_statements` while a view is shown.
const STATEMENTS_EVERY: Duration = Duration::from_secs(5);
/// Most statements of a reading.
const MOST_STATEMENTS: usize = 50;
/// Most texts of statements that are remembered.
const MOST_TEXTS: usize = 10_000;
/// Time after which the list of databases is read again.
const LIST_AGAIN: Duration = Duration::from_secs(30);

/// The running thread.
#[derive(Debug)]
pub(crate) struct ServerThread {
    wake: Option<mpsc::Sender<()>>,
    stop: Stop,
    thread: Option<JoinHandle<()>>,
}

impl ServerThread {
    /// Connects, and begins to read. `is_once` is for one reading alone: then nothing is read less often.
    ///
    /// # Errors
    /// The first connection cannot be made: what could not be done, with a hint.
    pub(crate) fn begin(
        options: &ConnectOptions,
        interval: Duration,
        is_once: bool,
        stop: &Stop,
        news: mpsc::Sender<News>,
    ) -> Result<Self, Problem> {
        let own = session_options(options, true);
        let first = match try_connect_unless(stop, &own) {
            Err(WireError::Server(error)) if error.code == REFUSED => {
                connect_unless(stop, &session_options(options, false))?
            }
            Ok(session) => session,
            // Once more, for the words of its error.
            Err(_) => connect_unless(stop, &own)?,
        };
        let (wake, woken) = mpsc::channel();
        let state = State { options: options.clone(), interval, is_once, stop: stop.clone(), news, woken };
        let thread = thread::Builder::new().name("server".to_owned()).spawn(move || state.run(first));
        let thread =
            thread.map_err(|error| Problem::could_not(format!("could not start a thread: {error}")))?;
        Ok(Self { wake: Some(wake), stop: stop.clone(), thread: Some(thread) })
    }

    /// Whether it has ended by itself, which only a fault of the program makes it do.
    pub(crate) fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

/// Ends the thread. A session that waits for the server gives up.
impl Drop for ServerThread {
    fn drop(&mut self) {
        self.stop.request("the view has ended");
        drop(self.wake.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // a panic is printed already
        }
    }
}

fn session_options(of: &ConnectOptions, with_settings: bool) -> ConnectOptions {
    let mut options = of.clone();
    options.application_name = Some(APPLICATION_NAME.to_owned());
    options.on_notice = None;
    options.startup.retain(|(name, _)| !SETTINGS.iter().any(|(own, _)| own == name));
    if with_settings {
        options.startup.extend(SETTINGS.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
    options
}

struct State {
    options: ConnectOptions,
    interval: Duration,
    is_once: bool,
    stop: Stop,
    news: mpsc::Sender<News>,
    woken: mpsc::Receiver<()>,
}

impl State {
    fn run(self, first: Session) {
        let (mut session, mut back_off) = (Some(first), BACK_OFF[0]);
        loop {
            let why = match session.take().map_or_else(|| self.connect(), Ok) {
                Ok(open) => {
                    back_off = BACK_OFF[0];
                    match self.read_on(open) {
                        Ok(()) => return,
                        Err(error) => error.to_string(),
                    }
                }
                Err(error) => error.to_string(),
            };
            if self.send(News::Lost { why }).is_none() || self.waits(back_off).is_none() {
                return;
            }
            back_off = (back_off * 2).min(BACK_OFF[1]);
        }
    }

    fn connect(&self) -> Result<Session, WireError> {
        let attempt = |with_settings| {
            let mut options = session_options(&self.options, with_settings);
            options.connect_timeout = options.connect_timeout.min(LONGEST_CONNECT);
            try_connect_unless(&self.stop, &options)
        };
        match attempt(true) {
            Err(WireError::Server(error)) if error.code == REFUSED => attempt(false),
            session => session,
        }
    }

    /// Reads until the view ends; an error if the session broke.
    fn read_on(&self, mut session: Session) -> Result<(), WireError> {
        session.heed(&self.stop);
        session.within(Some(LONGEST_ANSWER));
        let facts = place::facts(&mut session, &self.options)?;
        let watched = place::watched(&mut session);
        let is_sent = self.send(News::Connected { shown: Box::new(facts.shown.clone()), watched });
        let mut readers = Readers::begin(&mut session, facts.shown.version_num, facts.databases, self)?;
        if is_sent.is_none() {
            return Ok(());
        }
        loop {
            let Some(part) = readers.round(&mut session, self)? else { return Ok(()) };
            if self.send(News::Server(Box::new(part))).is_none() {
                return Ok(());
            }
        }
    }

    /// `None` if the view has ended.
    fn send(&self, news: News) -> Option<()> {
        self.news.send(news).ok().filter(|()| !self.stop.requested())
    }

    /// Waits; `None` if the view has ended.
    fn waits(&self, time: Duration) -> Option<()> {
        let is_over = self.woken.recv_timeout(time) == Err(RecvTimeoutError::Disconnected);
        (!is_over && !self.stop.requested()).then_some(())
    }
}

/// The readers of a session.
struct Readers {
    version_num: u32,
    databases: Vec<String>,
    listed: Instant,
    waits: WaitReader,
    tally: WaitTally,
    blocked: BlockedReader,
    sessions: SessionReader,
    position: PositionReader,
    counters: CounterReader,
    progress: ProgressReader,
    statements: Result<StatementReader, String>,
    pace: Pace,
    is_once: bool,
    texts: HashMap<i64, String>,
    counted: Instant,
    statements_at: Instant,
    last: ServerPart,
}

impl Readers {
    /// Begins with readings that rates are made from.
    fn begin(
        session: &mut Session,
        version_num: u32,
        databases: Vec<String>,
        of: &State,
    ) -> Result<Self, WireError> {
        // A little less, so that a round which comes early does not wait for another one.
        let pace = Pace::new(of.interval.max(STATEMENTS_EVERY) * 9 / 10);
        let now = Instant::now();
        let statements = statements(session, &databases)?;
        let mut readers = Self {
            version_num,
            waits: WaitReader::new(version_num, &databases, &[]),
            tally: WaitTally::default(),
            blocked: BlockedReader::new(version_num, &[]),
            sessions: SessionReader::new(version_num, &[]),
            position: PositionReader::new(version_num),
            counters: CounterReader::new(session, version_num, &databases)?,
            progress: ProgressReader::new(session)?,
            statements,
            databases,
            listed: now,
            pace,
            is_once: of.is_once,
            texts: HashMap::new(),
            counted: now,
            statements_at: now,
            last: ServerPart::default(),
        };
        let mut part = ServerPart::default();
        readers.read_counters(session, &mut part)?;
        readers.read_statements(session, &mut part)?;
        readers.read_rest(session, &mut part)?;
        readers.last = part;
        Ok(readers)
    }

    /// Samples for an interval, then reads everything; `None` if the view has ended.
    fn round(&mut self, session: &mut Session, of: &State) -> Result<Option<ServerPart>, WireError> {
        let mut part = ServerPart { writes: self.last.writes.clone(), ..ServerPart::default() };
        let (end, mut locks_are_likely) = (self.counted + of.interval, false);
        loop {
            let now = Instant::now();
            let due = (now + SAMPLE_EVERY).min(end.max(now));
            session.within(Some(LONGEST_ANSWER));
            if let Some(sample) = part.taken(Subject::Waits, self.waits.read(session))? {
                locks_are_likely |= WaitTally::locks_suspected(&sample.seen);
                self.tally.add(&sample.seen);
            }
            if of.waits(due.saturating_duration_since(Instant::now())).is_none() {
                return Ok(None);
            }
            if Instant::now() >= end {
                break;
            }
        }
        part.waits = Some(self.tally.take()).filter(|waits| waits.samples > 0);
        self.list_again(session)?;
        self.read_counters(session, &mut part)?;
        self.read_statements(session, &mut part)?;
        self.read_rest(session, &mut part)?;
        // The server copies its table of locks for this.
        part.blocked = match locks_are_likely {
            true => part.taken(Subject::Locks, self.blocked.read(session))?,
            false => Some(Vec::new()),
        };
        part.explain(self.version_num);
        self.last = part.clone();
        Ok(Some(part))
    }

    /// Databases that were created meanwhile are read from now on.
    fn list_again(&mut self, session: &mut Session) -> Result<(), WireError> {
        if self.listed.elapsed() < LIST_AGAIN {
            return Ok(());
        }
        self.listed = Instant::now();
        let databases = place::databases(session)?;
        if databases != self.databases {
            self.waits = WaitReader::new(self.version_num, &databases, &[]);
            self.counters = CounterReader::new(session, self.version_num, &databases)?;
            self.statements = statements(session, &databases)?;
            self.databases = databases;
        }
        Ok(())
    }

    /// Counters and what follows from them.
    fn read_counters(&mut self, session: &mut Session, part: &mut ServerPart) -> Result<(), WireError> {
        session.within(Some(LONGEST_ANSWER));
        let position = part.taken(Subject::Wal, self.position.read(session))?;
        let counters = part.taken(Subject::Counters, self.counters.read(session))?.flatten();
        let now = Instant::now();
        part.over_s = now.duration_since(std::mem::replace(&mut self.counted, now)).as_secs_f64();
        for (view, why) in self.counters.unreadable() {
            part.lack(Subject::Counters, format!("{view}: {why}"));
        }
        if let Some(counters) = &counters {
            part.databases = model::databases(counters, part.over_s);
            if part.databases.is_none() {
                part.lack(Subject::Counters, "counters were reset meanwhile".to_owned());
            }
            let sums: WriteRates = part.writes.take().unwrap_or_default();
            part.writes = Some(model::writes(&sums, counters, self.version_num, part.over_s));
            part.standbys = model::standbys(counters);
        }
        if let Some(now) = &position {
            let then = self.last.wal.as_ref().map_or(*now, |wal| wal.at);
            part.wal = Some(model::wal(&then, now, counters.as_ref(), self.version_num, part.over_s));
        }
        Ok(())
    }

    /// Statements, if it is time; else those of the last reading.
    fn read_statements(&mut self, session: &mut Session, part: &mut ServerPart) -> Result<(), WireError> {
        part.statements.clone_from(&self.last.statements);
        let begin = Instant::now();
        let reader = match &mut self.statements {
            Err(why) => {
                part.lack(Subject::Statements, why.clone());
                return Ok(());
            }
            Ok(_) if !self.is_once && !self.pace.is_due(begin) => return Ok(()),
            Ok(reader) => reader,
        };
        session.within(Some(LONGEST_ANSWER));
        let read = part.taken(Subject::Statements, reader.read(session, MOST_STATEMENTS))?;
        self.pace.answered(begin, Instant::now());
        let over_s = begin.duration_since(std::mem::replace(&mut self.statements_at, begin)).as_secs_f64();
        part.statements = match read {
            Some(StatementChange::Since(slowest)) => {
                Some(Statements { over_s, slowest: self.with_texts(slowest) })
            }
            Some(StatementChange::Reset) => {
                part.lack(Subject::Statements, "the statistics were reset meanwhile".to_owned());
                None
            }
            Some(StatementChange::First) | None => None,
        };
        Ok(())
    }

    /// Adds texts that came with an earlier reading.
    fn with_texts(&mut self, mut slowest: Vec<StatementSample>) -> Vec<StatementSample> {
        if self.texts.len() > MOST_TEXTS {
            self.texts.clear();
        }
        for one in &mut slowest {
            match &one.text {
                Some(text) => drop(self.texts.insert(one.query_id, text.clone())),
                None => one.text = self.texts.get(&one.query_id).cloned(),
            }
        }
        slowest
    }

    fn read_rest(&mut self, session: &mut Session, part: &mut ServerPart) -> Result<(), WireError> {
        session.within(Some(LONGEST_ANSWER));
        part.sessions = part.taken(Subject::Sessions, self.sessions.read(session))?;
        session.within(Some(LONGEST_ANSWER));
        let commands = part.taken(Subject::Progress, self.progress.read(session))?;
        let before = self.last.progress.as_deref().unwrap_or_default();
        part.progress = commands.map(|commands| model::progress(before, commands, part.over_s.max(1e-3)));
        Ok(())
    }
}

/// The reader of statements, or why there is none.
fn statements(
    session: &mut Session,
    databases: &[String],
) -> Result<Result<StatementReader, String>, WireError> {
    let support = StatementSupport::find(session)?;
    let StatementSupport::Ready { schema } = &support else {
        return Ok(Err(support.hint().unwrap_or_default().to_owned()));
    };
    match StatementReader::new(session, schema, databases) {
        Err(WireError::Server(error)) => Ok(Err(error.to_string())),
        reader => reader.map(Ok),
    }
}

impl ServerPart {
    /// What was read, or `None` with the server's reason. What breaks the session stays an error.
    fn taken<T>(&mut self, what: Subject, read: Result<T, WireError>) -> Result<Option<T>, WireError> {
        match read {
            Ok(read) => Ok(Some(read)),
            Err(WireError::Server(error)) if !matches!(error.severity.as_str(), "FATAL" | "PANIC") => {
                self.lack(what, error.to_string());
                Ok(None)
            }
            Err(broken) => Err(broken),
        }
    }

    fn lack(&mut self, what: Subject, why: String) {
        let absent = Absent { what, why };
        if !self.absent.contains(&absent) {
            self.absent.push(absent);
        }
    }

    /// Says what the major version lacks.
    fn explain(&mut self, version_num: u32) {
        let lacks: [(u32, Subject, &str); 5] = [
            (90_600, Subject::Waits, "9.5 reports waits for locks only; other wait events came with 9.6"),
            (
                90_600,
                Subject::Progress,
                "9.5 has no progress views: VACUUM has one since 9.6, the others came later",
            ),
            (90_600, Subject::Wal, "9.5 does not report when the last checkpoint was; 9.6 does"),
            (100_000, Subject::Waits, "background processes are not listed before 10"),
            (140_000, Subject::Wal, "records and full-page images are counted since 14"),
        ];
        for (_, what, why) in lacks.into_iter().filter(|(since, ..)| version_num < *since) {
            self.lack(what, why.to_owned());
        }
    }
}
