//! Reconnects clients in a separate thread, outside a worker's loop, so that slow steps (name lookup, handshake,
//! password hashing, an unresponsive server) do not delay other clients.
//!
//! The thread starts with the first lost connection. It reports a new connection by a byte on a socket that the loop
//! waits for like any other.

use std::{
    collections::BTreeMap,
    io::{self, Write},
    os::{fd::OwnedFd, unix::net::UnixStream},
    sync::{
        Arc,
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use pgdyno_core::stop::Stop;

use crate::{
    Clock, Probe,
    outage::{Connections, LONGEST_OUTAGE_NS},
    target::Dial,
};

/// Clients of a worker that are disconnected, and the thread that reconnects them.
pub(crate) struct Connector {
    connections: Arc<Connections>,
    away: BTreeMap<usize, Disconnected>,
    thread: Option<ConnectorThread>,
    /// Error of the last failed try.
    last_error: String,
}

/// A disconnected client.
struct Disconnected {
    since_ns: u64,
    tries: u32,
}

struct ConnectorThread {
    requests: Option<Sender<ConnectRequest>>,
    results: Receiver<ConnectResult>,
    stop: Stop,
    thread: Option<JoinHandle<()>>,
}

/// Request to connect a client.
struct ConnectRequest {
    seat: usize,
    at_ns: u64,
    dial: Dial,
}

/// Result of a connection attempt.
pub(crate) struct ConnectResult {
    /// Seat of the client.
    pub(crate) seat: usize,
    /// The new connection, or why it failed.
    pub(crate) socket: io::Result<OwnedFd>,
}

impl Connector {
    pub(crate) fn new(connections: Arc<Connections>) -> Self {
        Self { connections, away: BTreeMap::new(), thread: None, last_error: String::new() }
    }

    /// Whether all clients are connected.
    pub(crate) fn is_idle(&self) -> bool {
        self.away.is_empty()
    }

    /// Requests a new connection for a client: at once the first time, later after a back-off. Returns, once, the
    /// socket that becomes readable when a connection is ready.
    pub(crate) fn request(&mut self, seat: usize, dial: Dial, now_ns: u64) -> io::Result<Option<OwnedFd>> {
        let connections = &self.connections;
        let away = self.away.entry(seat).or_insert_with(|| {
            connections.lost(now_ns);
            Disconnected { since_ns: now_ns, tries: 0 }
        });
        let wait_ns = if away.tries == 0 { 0 } else { connections.wait_ns(away.tries) };
        away.tries = away.tries.saturating_add(1);
        let mut notified = None;
        if self.thread.is_none() {
            let (thread, socket) = ConnectorThread::start(Arc::clone(&self.connections))?;
            (self.thread, notified) = (Some(thread), Some(socket));
        }
        if let Some(requests) = self.thread.as_ref().and_then(|thread| thread.requests.as_ref()) {
            // Sending fails only after the thread has ended, which it does only when this sender is dropped.
            let _ = requests.send(ConnectRequest { seat, at_ns: now_ns + wait_ns, dial });
        }
        Ok(notified)
    }

    /// The next finished connection attempt; `None` if there is none yet.
    pub(crate) fn next_result(&mut self) -> Option<ConnectResult> {
        let result = self.thread.as_ref()?.results.try_recv().ok()?;
        if let Err(error) = &result.socket {
            self.last_error = error.to_string();
        }
        Some(result)
    }

    /// Notes that a client is connected again.
    pub(crate) fn arrived(&mut self, seat: usize, now_ns: u64) {
        if let Some(away) = self.away.remove(&seat) {
            self.connections.made(away.since_ns, now_ns);
        }
    }

    /// Notes that a client has ended, connected or not.
    pub(crate) fn client_ended(&mut self, seat: usize, now_ns: u64) {
        match self.away.remove(&seat) {
            Some(away) => self.connections.gave_up(away.since_ns, now_ns),
            None => self.connections.ended(now_ns),
        }
    }

    /// Ends the run if no client has been connected for too long.
    pub(crate) fn tend(&self, now_ns: u64, probe: &mut Probe) {
        if !self.is_idle() && self.connections.none_for_ns(now_ns) >= LONGEST_OUTAGE_NS {
            let (seconds, why) = (LONGEST_OUTAGE_NS / 1_000_000_000, &self.last_error);
            probe.stop_run(&format!("no client could connect again for {seconds} s: {why}"));
        }
    }

    /// Gives up all disconnected clients at the end of the run.
    pub(crate) fn close(&mut self, now_ns: u64) {
        while let Some((&seat, _)) = self.away.first_key_value() {
            self.client_ended(seat, now_ns);
        }
        self.thread = None;
    }
}

impl ConnectorThread {
    fn start(connections: Arc<Connections>) -> io::Result<(Self, OwnedFd)> {
        let (notifier, notified) = UnixStream::pair()?;
        // With one client per thread nobody reads the socket: a full one must not block this thread.
        notifier.set_nonblocking(true)?;
        let (requests, taken) = mpsc::channel();
        let (done, results) = mpsc::channel();
        let stop = Stop::default();
        let looping =
            ConnectorLoop { connections, waiting: BTreeMap::new(), done, notifier, stop: stop.clone() };
        let thread =
            thread::Builder::new().name("connector".to_owned()).spawn(move || looping.work(&taken))?;
        Ok((Self { requests: Some(requests), results, stop, thread: Some(thread) }, notified.into()))
    }
}

impl Drop for ConnectorThread {
    fn drop(&mut self) {
        self.stop.request("the run is over");
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // what it panicked for is not wanted any more
        }
    }
}

/// State of the connecting thread.
struct ConnectorLoop {
    connections: Arc<Connections>,
    /// Requests by the instant before which they must not be tried.
    waiting: BTreeMap<(u64, usize), Dial>,
    done: Sender<ConnectResult>,
    notifier: UnixStream,
    stop: Stop,
}

impl ConnectorLoop {
    fn work(mut self, requests: &Receiver<ConnectRequest>) {
        loop {
            let now_ns = Clock::now_ns();
            let until_ns = self.next(now_ns);
            let Some(until_ns) = until_ns else { continue };
            let wait = Duration::from_nanos(until_ns.saturating_sub(now_ns).min(3_600_000_000_000));
            match requests.recv_timeout(wait) {
                Ok(ConnectRequest { seat, at_ns, dial }) => {
                    self.waiting.insert((at_ns, seat), dial);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Makes the connection that is due; returns `None` if one was due, else the instant to check again.
    fn next(&mut self, now_ns: u64) -> Option<u64> {
        let Some((&(at_ns, seat), _)) = self.waiting.first_key_value() else { return Some(u64::MAX) };
        if at_ns > now_ns {
            return Some(at_ns);
        }
        if let Err(later_ns) = self.connections.may_try(now_ns) {
            return Some(later_ns);
        }
        let dial = self.waiting.remove(&(at_ns, seat))?;
        let socket = dial(&self.stop);
        if socket.is_err() {
            self.connections.refused(Clock::now_ns());
        }
        // After the run nobody receives it or reads the socket.
        let _ = self.done.send(ConnectResult { seat, socket });
        let _ = self.notifier.write(&[1]);
        (self.stop.requested()).then_some(u64::MAX)
    }
}
