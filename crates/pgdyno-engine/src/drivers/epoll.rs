//! Many sockets a thread, by readiness.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
    io,
    os::fd::{AsFd, OwnedFd},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, epoll, poll},
    io::Errno,
    net::{RecvFlags, SendFlags, recv, send},
};

use super::{Driver, LAST_WORDS};
use pgdyno_core::measure::Outcome;

use crate::{
    Client, Clock, Event, Step, Target, WorkerReport,
    recorder::Attempt,
    shift::{Next, Shift},
};

/// Bytes taken from a socket at once. One buffer a worker: what a target needs of a cut message it keeps itself.
const RECEIVE_BYTES: usize = 64 * 1024;
/// Readiness events taken at once.
const EVENTS: usize = 256;

/// The driver for sockets: level-triggered epoll, one loop a thread, any number of clients. Clients without a
/// socket work too (they wait by time only); [`Step::Disk`] is not possible here.
#[derive(Debug, Clone, Copy, Default)]
pub struct EpollDriver;

impl Driver for EpollDriver {
    fn drive<T: Target>(self, clients: Vec<Client<T>>, shift: Shift) -> io::Result<WorkerReport> {
        let mut floor = Floor::open(clients, shift)?;
        floor.work()?;
        Ok(floor.shift.finish())
    }
}

/// A client and what it is doing.
#[derive(Debug)]
struct Seat<T> {
    client: Client<T>,
    attempt: Option<Attempt>,
    /// Bytes of `outgoing` already handed to the kernel.
    sent: usize,
    /// Whether the kernel was asked to tell when the socket can be written.
    wants_write: bool,
}

/// All clients of a worker.
struct Floor<T> {
    epoll: OwnedFd,
    seats: Vec<Seat<T>>,
    /// Clients that wait for an attempt to fall due, the longest waiting first.
    idle: VecDeque<usize>,
    /// Clients that wait for an instant.
    timers: BinaryHeap<Reverse<(u64, usize)>>,
    busy: usize,
    next_due_ns: u64,
    shift: Shift,
    buffer: Vec<u8>,
}

impl<T: Target> Floor<T> {
    fn open(clients: Vec<Client<T>>, shift: Shift) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for (index, client) in clients.iter().enumerate() {
            if let Some(io) = &client.io {
                rustix::io::ioctl_fionbio(io, true)?;
                epoll::add(&epoll, io, epoll::EventData::new_u64(index as u64), epoll::EventFlags::IN)?;
            }
        }
        let seats: Vec<_> = clients
            .into_iter()
            .map(|client| Seat { client, attempt: None, sent: 0, wants_write: false })
            .collect();
        let idle = (0..seats.len()).collect();
        let buffer = vec![0; RECEIVE_BYTES];
        Ok(Self { epoll, seats, idle, timers: BinaryHeap::new(), busy: 0, next_due_ns: 0, shift, buffer })
    }

    fn work(&mut self) -> io::Result<()> {
        let mut events = Vec::with_capacity(EVENTS);
        loop {
            let now_ns = Clock::now_ns();
            self.shift.tend(now_ns);
            self.begin_due(now_ns)?;
            self.wake(now_ns)?;
            if self.is_over(now_ns) {
                return Ok(());
            }
            self.wait(now_ns, &mut events)?;
            for event in events.drain(..) {
                self.ready(event)?;
            }
        }
    }

    /// Whether nothing more is to be done; attempts out of time are given up.
    fn is_over(&mut self, now_ns: u64) -> bool {
        let all_lost = self.busy == 0 && self.idle.is_empty();
        match self.shift.give_up_at_ns(now_ns) {
            None => all_lost,
            Some(_) if self.busy == 0 => true,
            Some(give_up_ns) if now_ns >= give_up_ns => {
                self.abandon_all(now_ns);
                true
            }
            Some(_) => false,
        }
    }

    fn abandon_all(&mut self, now_ns: u64) {
        for seat in &mut self.seats {
            if let Some(attempt) = seat.attempt.take() {
                self.shift.ended(attempt, now_ns, seat.client.target.abandon());
            }
        }
        self.busy = 0;
    }

    /// Gives attempts that have fallen due to idle clients.
    fn begin_due(&mut self, now_ns: u64) -> io::Result<()> {
        // Each client once: one whose attempt waits for nothing is idle again, and `now_ns` has grown old.
        for _ in 0..self.idle.len() {
            let Some(&index) = self.idle.front() else { break };
            match self.shift.next(now_ns) {
                Next::Begin(attempt) => {
                    self.idle.pop_front();
                    self.busy += 1;
                    let step = self.begin(index, attempt);
                    self.carry_out(index, step, attempt.begin_ns)?;
                }
                Next::At(due_ns) => {
                    self.next_due_ns = due_ns;
                    return Ok(());
                }
                Next::Never => {
                    self.next_due_ns = u64::MAX;
                    return Ok(());
                }
            }
        }
        self.next_due_ns = if self.idle.is_empty() { u64::MAX } else { now_ns };
        Ok(())
    }

    #[inline]
    fn begin(&mut self, index: usize, attempt: Attempt) -> Step {
        let seat = &mut self.seats[index];
        seat.attempt = Some(attempt);
        seat.client.target.step(Event::Begin, attempt.begin_ns, &mut self.shift.probe)
    }

    /// Tells clients whose instant has come.
    fn wake(&mut self, now_ns: u64) -> io::Result<()> {
        while let Some(&Reverse((at_ns, index))) = self.timers.peek() {
            if at_ns > now_ns {
                break;
            }
            self.timers.pop();
            if self.seats[index].attempt.is_some() {
                let step = self.tell(index, Event::Woken, now_ns);
                self.carry_out(index, step, now_ns)?;
            }
        }
        Ok(())
    }

    #[inline]
    fn tell(&mut self, index: usize, event: Event<'_>, now_ns: u64) -> Step {
        self.seats[index].client.target.step(event, now_ns, &mut self.shift.probe)
    }

    /// Waits for readiness, not beyond the next instant at which something is to be done.
    fn wait(&mut self, now_ns: u64, events: &mut Vec<epoll::Event>) -> io::Result<()> {
        let timer_ns = self.timers.peek().map_or(u64::MAX, |&Reverse((at_ns, _))| at_ns);
        let exact_ns = timer_ns.min(self.next_due_ns);
        let by_ns = self.shift.give_up_at_ns(now_ns).unwrap_or(u64::MAX);
        let until_ns = self.shift.tend_by_ns(now_ns).min(exact_ns).min(by_ns);
        let mut left_ns = until_ns.saturating_sub(now_ns);
        if until_ns == exact_ns && left_ns > 0 {
            // epoll_wait counts milliseconds; ppoll on the epoll descriptor counts nanoseconds.
            let timeout = timespec(left_ns);
            let mut readable = [PollFd::new(&self.epoll, PollFlags::IN)];
            ignoring_signals(poll(&mut readable, Some(&timeout)))?;
            left_ns = 0;
        }
        let timeout = timespec(left_ns.div_ceil(1_000_000) * 1_000_000);
        let spare = rustix::buffer::spare_capacity(events);
        ignoring_signals(epoll::wait(&self.epoll, spare, Some(&timeout)))?;
        Ok(())
    }

    /// Takes what a ready socket has.
    fn ready(&mut self, event: epoll::Event) -> io::Result<()> {
        let index = event.data.u64() as usize;
        let flags = event.flags;
        if flags.contains(epoll::EventFlags::OUT) && self.seats[index].wants_write {
            self.carry_out(index, Step::Send, Clock::now_ns())?;
        }
        let unwell = flags.intersects(epoll::EventFlags::ERR | epoll::EventFlags::HUP);
        if flags.contains(epoll::EventFlags::IN) || unwell { self.receive(index) } else { Ok(()) }
    }

    fn receive(&mut self, index: usize) -> io::Result<()> {
        let Some(io) = &self.seats[index].client.io else { return Ok(()) };
        let received = recv(io, self.buffer.as_mut_slice(), RecvFlags::empty());
        let now_ns = Clock::now_ns();
        let step = match received {
            Err(Errno::AGAIN | Errno::INTR) => return Ok(()),
            Ok((_, 0)) => self.gone(index, None, now_ns),
            Err(error) => self.gone(index, Some(error.into()), now_ns),
            Ok((_, bytes)) => {
                let Seat { client, attempt, .. } = &mut self.seats[index];
                let event = Event::Received(&self.buffer[..bytes]);
                let step = client.target.step(event, now_ns, &mut self.shift.probe);
                // Between attempts a server may send notices: they end nothing.
                if attempt.is_none() && !matches!(step, Step::Last(_)) { Step::Receive } else { step }
            }
        };
        self.carry_out(index, step, now_ns)
    }

    fn gone(&mut self, index: usize, error: Option<io::Error>, now_ns: u64) -> Step {
        match self.tell(index, Event::Gone(error), now_ns) {
            Step::Last(outcome) | Step::Done(outcome) => Step::Last(outcome),
            // A target that wants to go on without its connection is told no.
            _ => Step::Last(self.seats[index].client.target.abandon()),
        }
    }

    /// Does what a client wants until it has to wait. `now_ns` is the instant that `step` came from.
    fn carry_out(&mut self, index: usize, mut step: Step, mut now_ns: u64) -> io::Result<()> {
        let (mut sent, mut ended) = (false, false);
        loop {
            step = match step {
                Step::Receive => return Ok(()),
                Step::WaitUntil(at_ns) => {
                    self.timers.push(Reverse((at_ns, index)));
                    return Ok(());
                }
                Step::Send => {
                    sent = true;
                    match self.send(index, now_ns)? {
                        Some(step) => step,
                        None => return Ok(()),
                    }
                }
                Step::Connect => self.connect(index)?,
                Step::Disk(_) => {
                    return Err(io::Error::new(
                        io::ErrorKind::Unsupported,
                        "a synchronous write has no readiness: disk targets need the blocking driver",
                    ));
                }
                Step::Done(outcome) => {
                    // An attempt that waited for nothing ended later than it began, and nobody else looks at the clock.
                    if std::mem::take(&mut sent) || std::mem::replace(&mut ended, true) {
                        now_ns = Clock::now_ns();
                        self.shift.tend(now_ns);
                    }
                    match self.done(index, outcome, now_ns) {
                        Some(step) => step,
                        None => return Ok(()),
                    }
                }
                Step::Last(outcome) => return self.last(index, outcome),
            };
        }
    }

    /// Puts a new connection in the place of the old one.
    fn connect(&mut self, index: usize) -> io::Result<Step> {
        let seat = &mut self.seats[index];
        if let Some(io) = seat.client.io.take() {
            epoll::delete(&self.epoll, &io)?;
        }
        (seat.sent, seat.wants_write) = (0, false);
        match seat.client.target.connect() {
            Ok(io) => {
                rustix::io::ioctl_fionbio(&io, true)?;
                epoll::add(&self.epoll, &io, epoll::EventData::new_u64(index as u64), epoll::EventFlags::IN)?;
                self.seats[index].client.io = Some(io);
                Ok(self.tell(index, Event::Connected, Clock::now_ns()))
            }
            Err(error) => Ok(self.gone(index, Some(error), Clock::now_ns())),
        }
    }

    /// Hands bytes to the kernel; `None` where the socket is full.
    fn send(&mut self, index: usize, now_ns: u64) -> io::Result<Option<Step>> {
        let Seat { client, sent, wants_write, .. } = &mut self.seats[index];
        let Some(io) = &client.io else { return Ok(Some(self.gone(index, None, Clock::now_ns()))) };
        let left = &client.target.outgoing()[*sent..];
        match send(io, left, SendFlags::NOSIGNAL) {
            Ok(bytes) if bytes == left.len() => {
                *sent = 0;
                if std::mem::take(wants_write) {
                    watch(&self.epoll, io, index, false)?;
                }
                Ok(Some(client.target.step(Event::Sent, now_ns, &mut self.shift.probe)))
            }
            Ok(bytes) => {
                *sent += bytes;
                Ok(Some(Step::Send))
            }
            Err(Errno::INTR) => Ok(Some(Step::Send)),
            Err(Errno::AGAIN) => {
                if !std::mem::replace(wants_write, true) {
                    watch(&self.epoll, io, index, true)?;
                }
                Ok(None)
            }
            Err(error) => Ok(Some(self.break_off(index, error.into()))),
        }
    }

    /// Sending failed. What the peer said before it closed is still to be had, and tells more than a broken pipe.
    fn break_off(&mut self, index: usize, error: io::Error) -> Step {
        let now_ns = Clock::now_ns();
        for _ in 0..LAST_WORDS {
            let Seat { client: Client { io: Some(io), target }, .. } = &mut self.seats[index] else { break };
            let Ok((_, bytes @ 1..)) = recv(io, self.buffer.as_mut_slice(), RecvFlags::empty()) else {
                break;
            };
            let event = Event::Received(&self.buffer[..bytes]);
            if let Step::Last(outcome) = target.step(event, now_ns, &mut self.shift.probe) {
                return Step::Last(outcome);
            }
        }
        self.gone(index, Some(error), now_ns)
    }

    /// Records the end of an attempt, and begins the next where one is due.
    #[inline]
    fn done(&mut self, index: usize, outcome: Outcome, end_ns: u64) -> Option<Step> {
        let attempt = self.seats[index].attempt.take()?;
        self.shift.ended(attempt, end_ns, outcome);
        if let Next::Begin(attempt) = self.next_for(end_ns) {
            return Some(self.begin(index, attempt));
        }
        self.busy -= 1;
        self.idle.push_back(index);
        None
    }

    /// In an open loop a client that waits longer goes first, so that no connection stays cold.
    #[inline]
    fn next_for(&mut self, now_ns: u64) -> Next {
        if self.shift.open_loop() && !self.idle.is_empty() {
            Next::At(now_ns)
        } else {
            self.shift.next(now_ns)
        }
    }

    fn last(&mut self, index: usize, outcome: Outcome) -> io::Result<()> {
        let seat = &mut self.seats[index];
        if let Some(attempt) = seat.attempt.take() {
            self.shift.ended(attempt, Clock::now_ns(), outcome);
            self.busy -= 1;
        } else {
            self.idle.retain(|&idle| idle != index);
        }
        if let Some(io) = seat.client.io.take() {
            epoll::delete(&self.epoll, &io)?;
        }
        self.shift.client_lost();
        Ok(())
    }
}

/// Tells the kernel which readiness of a socket matters.
fn watch(epoll: &OwnedFd, io: impl AsFd, index: usize, write: bool) -> io::Result<()> {
    let flags = if write { epoll::EventFlags::IN | epoll::EventFlags::OUT } else { epoll::EventFlags::IN };
    Ok(epoll::modify(epoll, io, epoll::EventData::new_u64(index as u64), flags)?)
}

fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as _ }
}

/// A signal ends a wait early; the loop comes round again.
fn ignoring_signals<R>(result: rustix::io::Result<R>) -> rustix::io::Result<Option<R>> {
    match result {
        Err(Errno::INTR) => Ok(None),
        other => other.map(Some),
    }
}
