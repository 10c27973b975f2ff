//! Watches a run: the host with its devices, the processes of its servers, and the servers themselves.
//!
//! One thread reads the host and all processes, at every full second of the run; one thread for each server has a
//! session of its own there, so that a server that hangs does not stop the readings of the host, and another one
//! follows the server's log; one thread writes `observations.ndjson`. Between them is a queue of bounded length: when
//! it is full, lines are dropped and counted. Nothing that an observer meets ends the run.

pub mod activity;
mod command;
mod cost;
mod host_thread;
mod log_sums;
mod log_thread;
pub mod profile;
mod queue;
mod readers;
mod server_log;
mod server_thread;
mod span;
mod totals;
mod watched;

use std::{
    collections::BTreeMap,
    fs::File,
    thread,
    time::{Duration, Instant},
};

use pgdyno_core::{
    measure::Waits,
    observe::{ObserveLevel, ObserverCost, ServerClock},
    stop::Stop,
};
pub use pgdyno_host::observe::{Places, ServerId, WatchedServer};

use cost::Account;
use host_thread::HostThread;
pub use log_sums::LogSums;
use log_thread::LogThread;
pub use queue::Onlooker;
use queue::Queue;
pub use readers::server_identity;
pub use server_log::ServerLog;
use server_thread::ServerThread;
use span::ServerSpan;
pub use span::Span;
pub use watched::{SessionOptions, Watched};

/// Longest wait for the last answers to sessions before their statements are cancelled.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// What observing a whole run cost.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ended {
    /// Seconds that were observed.
    pub over_s: f64,
    /// CPUs that it took.
    pub cost: ObserverCost,
    /// Lines that were dropped because they could not be written fast enough.
    pub dropped_lines: u64,
    /// Why lines could not be written.
    pub unwritten: Option<String>,
    /// The clocks of the servers.
    pub clocks: Vec<ServerClock>,
}

/// Everything that watches a run.
#[derive(Debug)]
pub struct Observers {
    level: ObserveLevel,
    begun: Instant,
    started: Instant,
    queue: Queue,
    account: Account,
    host: Option<HostThread>,
    servers: BTreeMap<ServerId, WatchedBy>,
    next: ServerId,
    stop: Stop,
}

/// A server with the threads that watch it. The log is read until the session is closed.
#[derive(Debug)]
struct WatchedBy {
    watched: Watched,
    session: Option<ServerThread>,
    log: Option<LogThread>,
}

impl WatchedBy {
    fn span(&self, id: u64) -> ServerSpan {
        let session = self.session.iter().map(ServerThread::marks);
        let threads = self.log.iter().map(LogThread::marks).chain(session);
        ServerSpan::begin(id, self.watched.subject.clone(), threads)
    }
}

impl Observers {
    /// Begins to observe a run that `started` then; lines are appended to `file`. With [`ObserveLevel::None`] no thread
    /// is started, and the onlooker is never called.
    pub fn begin(
        level: ObserveLevel,
        started: Instant,
        file: Option<File>,
        onlooker: Option<Onlooker>,
    ) -> Self {
        let account = Account::default();
        let file = file.filter(|_| level != ObserveLevel::None);
        let is_on = file.is_some();
        let queue = Queue::begin(file, onlooker, account.clone());
        let host = is_on.then(|| HostThread::begin(started, queue.sender(), account.clone()));
        let level = if is_on { level } else { ObserveLevel::None };
        let (begun, stop) = (Instant::now(), Stop::default());
        let servers = BTreeMap::new();
        Self { level, begun, started, queue, account, host, servers, next: 0, stop }
    }

    /// Observers that observe nothing.
    pub fn none() -> Self {
        Self::begin(ObserveLevel::None, Instant::now(), None, None)
    }

    /// What is observed.
    pub fn level(&self) -> ObserveLevel {
        self.level
    }

    /// Begins to watch a server.
    pub fn watch(&mut self, watched: Watched) -> ServerId {
        let id = self.next;
        self.next += 1;
        if let Some(host) = &self.host {
            host.watch(id, watched.subject.clone(), watched.server.clone());
        }
        let by = match self.level {
            ObserveLevel::None => WatchedBy { watched, session: None, log: None },
            ObserveLevel::Host | ObserveLevel::All => self.watch_server(watched),
        };
        self.servers.insert(id, by);
        id
    }

    fn watch_server(&self, watched: Watched) -> WatchedBy {
        let sender = self.queue.sender().of(watched.subject.clone());
        let log = watched.log.clone();
        let log = log.map(|log| LogThread::begin(log, sender.clone(), self.account.clone(), self.started));
        let session = watched.session.clone().filter(|_| self.level == ObserveLevel::All);
        let session = session.map(|session| {
            let times = (self.started, self.stop.clone());
            ServerThread::begin(session, &watched.server, sender, self.account.clone(), times)
        });
        WatchedBy { watched, session, log }
    }

    /// Follows a server: to another postmaster after a restart, to other places, with more sessions of pgdyno.
    pub fn follow(&mut self, id: ServerId, change: impl FnOnce(&mut WatchedServer)) {
        let Some(WatchedBy { watched, session, .. }) = self.servers.get_mut(&id) else { return };
        let before = watched.server.clone();
        change(&mut watched.server);
        if watched.server == before {
            return;
        }
        session.iter().for_each(|thread| thread.follow(&watched.server));
        if let Some(host) = &self.host {
            host.watch(id, watched.subject.clone(), watched.server.clone());
        }
    }

    /// Ends watching a server, before it is stopped. Returns what was known of it.
    pub fn forget(&mut self, id: ServerId) -> Option<Watched> {
        // With it end its threads.
        let watched = self.servers.remove(&id)?.watched;
        if let Some(host) = &self.host {
            host.forget(id);
        }
        Some(watched)
    }

    /// The server of this number, or the only one, as it is known now, with all of pgdyno's own sessions; `None` if it
    /// is not watched, or if there are several.
    pub fn server(&self, id: Option<ServerId>) -> Option<WatchedServer> {
        let by = match id {
            Some(id) => self.servers.get(&id)?,
            None if self.servers.len() == 1 => self.servers.values().next()?,
            None => return None,
        };
        let mut server = by.watched.server.clone();
        server.own.extend(self.account.backends());
        Some(server)
    }

    /// Begins a time of which a digest is wanted, of the host and of these servers, or of all if none is named.
    pub fn span(&self, servers: &[ServerId]) -> Option<Span> {
        let host = self.host.as_ref()?;
        let wanted = |id: &ServerId| servers.is_empty() || servers.contains(id);
        let watched = self.servers.iter().filter(|(id, _)| wanted(id)).map(|(_, by)| by);
        Some(host.span(servers.to_vec(), |id| watched.map(|by| by.span(id)).collect()))
    }

    /// Begins to sum up what the clients of a server wait for.
    pub fn begin_waits(&self, id: ServerId) {
        self.session(id).into_iter().for_each(ServerThread::begin_waits);
    }

    /// Ends summing up; `None` if nothing was sampled.
    pub fn end_waits(&self, id: ServerId) -> Option<Waits> {
        self.session(id)?.end_waits().filter(|waits| waits.looks > 0)
    }

    fn session(&self, id: ServerId) -> Option<&ServerThread> {
        self.servers.get(&id)?.session.as_ref()
    }

    /// Waits a moment for sessions in the middle of an answer: a statement that is cancelled is an error in the log of
    /// the server. After that they end at once, whatever they wait for.
    fn await_sessions(&self) {
        let sessions = || self.servers.values().filter_map(|by| by.session.as_ref());
        sessions().for_each(ServerThread::finish);
        let begun = Instant::now();
        while begun.elapsed() < LAST_ANSWERS && !sessions().all(ServerThread::is_finished) {
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends all observers, and waits until everything is written. `None` if there were none.
    pub fn end(&mut self) -> Option<Ended> {
        let host = self.host.take()?;
        self.level = ObserveLevel::None;
        self.await_sessions();
        self.stop.request("the run has ended");
        self.servers.clear();
        drop(host);
        let over_s = self.begun.elapsed().as_secs_f64();
        let written = self.queue.end();
        let cost = self.account.cost(Duration::from_secs_f64(over_s), &cost::Spent::default());
        let (dropped_lines, unwritten, clocks) = (written.dropped, written.failed, written.clocks);
        Some(Ended { over_s, cost, dropped_lines, unwritten, clocks })
    }
}

/// Observers of a run that fails end, too.
impl Drop for Observers {
    fn drop(&mut self) {
        self.end();
    }
}
