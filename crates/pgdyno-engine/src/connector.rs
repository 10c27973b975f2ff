//! Makes connections again, in a thread beside a worker's loop: whatever takes long there (a name that is looked up, a
//! handshake, a password, a server that does not answer) keeps no other client waiting.
//!
//! The thread is there from the first loss on. It tells that it is done by a byte on a socket, which the loop waits for
//! as for any other.

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

/// Clients of a worker that are without a connection, and the thread that sees to it.
pub(crate) struct Connector {
    connections: Arc<Connections>,
    away: BTreeMap<usize, Away>,
    maker: Option<ConnectorThread>,
    /// Why the last try failed.
    last_error: String,
}

/// A client without a connection.
struct Away {
    since_ns: u64,
    tries: u32,
}

struct ConnectorThread {
    orders: Option<Sender<Order>>,
    made: Receiver<Made>,
    stop: Stop,
    thread: Option<JoinHandle<()>>,
}

/// A connection to be made.
struct Order {
    seat: usize,
    at_ns: u64,
    dial: Dial,
}

/// What came of it.
pub(crate) struct Made {
    /// Whose it is.
    pub(crate) seat: usize,
    /// The connection.
    pub(crate) socket: io::Result<OwnedFd>,
}

impl Connector {
    pub(crate) fn new(connections: Arc<Connections>) -> Self {
        Self { connections, away: BTreeMap::new(), maker: None, last_error: String::new() }
    }

    /// Whether all clients have their connections.
    pub(crate) fn is_idle(&self) -> bool {
        self.away.is_empty()
    }

    /// Has a client's connection made again: at once the first time, later after a while. Gives, once, the socket that
    /// becomes readable when something is made.
    pub(crate) fn order(&mut self, seat: usize, dial: Dial, now_ns: u64) -> io::Result<Option<OwnedFd>> {
        let connections = &self.connections;
        let away = self.away.entry(seat).or_insert_with(|| {
            connections.lost(now_ns);
            Away { since_ns: now_ns, tries: 0 }
        });
        let wait_ns = if away.tries == 0 { 0 } else { connections.wait_ns(away.tries) };
        away.tries = away.tries.saturating_add(1);
        let mut bell = None;
        if self.maker.is_none() {
            let (maker, socket) = ConnectorThread::start(Arc::clone(&self.connections))?;
            (self.maker, bell) = (Some(maker), Some(socket));
        }
        if let Some(orders) = self.maker.as_ref().and_then(|maker| maker.orders.as_ref()) {
            // The thread ends only with its orders.
            let _ = orders.send(Order { seat, at_ns: now_ns + wait_ns, dial });
        }
        Ok(bell)
    }

    /// What has been made; `None` where nothing is there yet.
    pub(crate) fn made(&mut self) -> Option<Made> {
        let made = self.maker.as_ref()?.made.try_recv().ok()?;
        Some(self.note(made))
    }

    /// The same, after waiting up to `wait_ns` nanoseconds for it.
    pub(crate) fn made_within(&mut self, wait_ns: u64) -> Option<Made> {
        let made = self.maker.as_ref()?.made.recv_timeout(Duration::from_nanos(wait_ns)).ok()?;
        Some(self.note(made))
    }

    fn note(&mut self, made: Made) -> Made {
        if let Err(error) = &made.socket {
            self.last_error = error.to_string();
        }
        made
    }

    /// A client has its connection again.
    pub(crate) fn arrived(&mut self, seat: usize, now_ns: u64) {
        if let Some(away) = self.away.remove(&seat) {
            self.connections.made(away.since_ns, now_ns);
        }
    }

    /// A client is done, and has no connection or needs none.
    pub(crate) fn client_ended(&mut self, seat: usize, now_ns: u64) {
        match self.away.remove(&seat) {
            Some(away) => self.connections.gave_up(away.since_ns, now_ns),
            None => self.connections.ended(now_ns),
        }
    }

    /// Ends the run where no client has had a connection for too long.
    pub(crate) fn tend(&self, now_ns: u64, probe: &mut Probe) {
        if !self.is_idle() && self.connections.none_for_ns(now_ns) >= LONGEST_OUTAGE_NS {
            let (seconds, why) = (LONGEST_OUTAGE_NS / 1_000_000_000, &self.last_error);
            probe.stop_run(&format!("no client could connect again for {seconds} s: {why}"));
        }
    }

    /// The run is over: nobody is waited for any more.
    pub(crate) fn close(&mut self, now_ns: u64) {
        while let Some((&seat, _)) = self.away.first_key_value() {
            self.client_ended(seat, now_ns);
        }
        self.maker = None;
    }
}

impl ConnectorThread {
    fn start(connections: Arc<Connections>) -> io::Result<(Self, OwnedFd)> {
        let (bell, ears) = UnixStream::pair()?;
        // Nobody listens where one client is a thread: what is not heard must not keep the thread.
        bell.set_nonblocking(true)?;
        let (orders, taken) = mpsc::channel();
        let (done, made) = mpsc::channel();
        let stop = Stop::default();
        let shop = Shop { connections, waiting: BTreeMap::new(), done, bell, stop: stop.clone() };
        let thread = thread::Builder::new().name("connector".to_owned()).spawn(move || shop.work(&taken))?;
        Ok((Self { orders: Some(orders), made, stop, thread: Some(thread) }, ears.into()))
    }
}

impl Drop for ConnectorThread {
    fn drop(&mut self) {
        self.stop.request("the run is over");
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // what it panicked for is not wanted any more
        }
    }
}

/// The thread's part.
struct Shop {
    connections: Arc<Connections>,
    /// Orders by the instant before which they are not to be tried.
    waiting: BTreeMap<(u64, usize), Dial>,
    done: Sender<Made>,
    bell: UnixStream,
    stop: Stop,
}

impl Shop {
    fn work(mut self, orders: &Receiver<Order>) {
        loop {
            let now_ns = Clock::now_ns();
            let until_ns = self.next(now_ns);
            let Some(until_ns) = until_ns else { continue };
            let wait = Duration::from_nanos(until_ns.saturating_sub(now_ns).min(3_600_000_000_000));
            match orders.recv_timeout(wait) {
                Ok(Order { seat, at_ns, dial }) => {
                    self.waiting.insert((at_ns, seat), dial);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Makes the connection that is due; `None` where there was one, else the instant to look again.
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
        // After the run nobody takes it, and nobody hears the bell.
        let _ = self.done.send(Made { seat, socket });
        let _ = self.bell.write(&[1]);
        (self.stop.requested()).then_some(u64::MAX)
    }
}
