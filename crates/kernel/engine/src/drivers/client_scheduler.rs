//! Scheduling of many clients in one thread: which client begins, which waits for an instant, which gets what event.
//! The sending and receiving is left to [`Sockets`].

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
    io,
};

use pgdyno_core::measure::Outcome;

use super::{
    MOST_FINAL_READS,
    sockets::{Arrival, Sending, Sockets, WaitLimit},
};
use crate::{
    Client, Clock, Event, Probe, Step, Target,
    connector::{ConnectResult, Connector},
    recorder::Attempt,
    report::Ended,
    worker_schedule::{Next, WorkerSchedule},
};

/// A client and its state.
#[derive(Debug)]
struct Seat<T> {
    target: T,
    attempt: Option<Attempt>,
    /// Instant that the client waits for; [`NEVER_NS`] if it waits for none.
    wakes_at_ns: u64,
}

const NEVER_NS: u64 = u64::MAX;
/// Time limit for the final queries of all clients ([`Event::Parting`]), in nanoseconds.
const PARTING_NS: u64 = 2_000_000_000;

/// Scheduler of all clients of a worker.
pub(super) struct ClientScheduler<T, S> {
    seats: Vec<Seat<T>>,
    sockets: S,
    /// Clients that wait for an attempt to fall due, the longest waiting first.
    idle: VecDeque<usize>,
    /// Clients that wait for an instant. Entries of a client that has meanwhile lost its connection are stale and
    /// ignored.
    timers: BinaryHeap<Reverse<(u64, usize)>>,
    busy: usize,
    /// Clients that have sent their final query and wait for the answer.
    asking: Vec<bool>,
    next_due_ns: u64,
    connector: Connector,
    schedule: Box<WorkerSchedule>,
}

impl<T: Target, S: Sockets> ClientScheduler<T, S> {
    /// Runs a schedule to its end.
    pub(super) fn work(
        clients: Vec<Client<T>>,
        schedule: Box<WorkerSchedule>,
        sockets: S,
    ) -> io::Result<Ended<T>> {
        let mut scheduler = Self::with(clients, schedule, sockets)?;
        scheduler.go_round()?;
        scheduler.part()?;
        scheduler.connector.close(Clock::now_ns());
        let clients = if scheduler.schedule.returns_clients { scheduler.release()? } else { Vec::new() };
        Ok((scheduler.schedule.finish(), clients))
    }

    /// Boxed, not on the stack: there may be hundreds of workers.
    #[inline(never)]
    fn with(clients: Vec<Client<T>>, schedule: Box<WorkerSchedule>, mut sockets: S) -> io::Result<Box<Self>> {
        let mut seats = Vec::with_capacity(clients.len());
        for (index, Client { target, io }) in clients.into_iter().enumerate() {
            if let Some(socket) = io {
                sockets.add(index, socket)?;
            }
            seats.push(Seat { target, attempt: None, wakes_at_ns: NEVER_NS });
        }
        let (idle, timers) = ((0..seats.len()).collect(), BinaryHeap::with_capacity(seats.len()));
        let connector = schedule.connector();
        let asking = vec![false; seats.len()];
        Ok(Box::new(Self {
            seats,
            sockets,
            idle,
            timers,
            busy: 0,
            asking,
            next_due_ns: 0,
            connector,
            schedule,
        }))
    }

    fn go_round(&mut self) -> io::Result<()> {
        loop {
            let now_ns = Clock::now_ns();
            self.connector.tend(now_ns, &mut self.schedule.probe);
            self.schedule.tend(now_ns);
            self.begin_due(now_ns)?;
            self.wake(now_ns)?;
            if self.is_over(now_ns)? {
                return Ok(());
            }
            self.sockets.wait(self.wait_limit(now_ns))?;
            self.take_arrivals()?;
        }
    }

    /// Whether all work is done; gives up attempts that have timed out.
    fn is_over(&mut self, now_ns: u64) -> io::Result<bool> {
        let all_lost = self.busy == 0 && self.idle.is_empty() && self.connector.is_idle();
        Ok(match self.schedule.give_up_at_ns(now_ns) {
            None => all_lost,
            Some(_) if self.busy == 0 => true,
            Some(give_up_ns) if now_ns >= give_up_ns => {
                self.abandon_all(now_ns)?;
                true
            }
            Some(_) => false,
        })
    }

    /// Lets clients without an attempt send their final query, and waits for the answers.
    fn part(&mut self) -> io::Result<()> {
        let until_ns = Clock::now_ns() + PARTING_NS;
        for index in std::mem::take(&mut self.idle) {
            self.ask(index)?;
        }
        while self.asking.contains(&true) && !self.schedule.is_stopped() {
            let Some(left_ns) = until_ns.checked_sub(Clock::now_ns()) else { break };
            self.sockets.wait(WaitLimit { left_ns, exact: false })?;
            // Data for other clients comes too late for the run.
            while let Some((index, arrival)) = self.sockets.next()? {
                if self.asking.get(index) == Some(&true) {
                    let (seat, now_ns) = (&mut self.seats[index], Clock::now_ns());
                    self.asking[index] =
                        !is_answered(&mut seat.target, &arrival, now_ns, &mut self.schedule.probe);
                }
            }
        }
        Ok(())
    }

    /// Gives back the clients that can begin another run: connected, and waiting for no answer.
    fn release(&mut self) -> io::Result<Vec<Client<T>>> {
        self.sockets.quiesce()?;
        while let Some((index, arrival)) = self.sockets.next()? {
            let Some(seat) = self.seats.get_mut(index) else { continue };
            match arrival {
                // What a server says of itself between two runs, such as a changed setting.
                Arrival::Bytes(bytes) => {
                    let now_ns = Clock::now_ns();
                    seat.target.step(Event::Received(bytes), now_ns, &mut self.schedule.probe);
                }
                Arrival::Gone(_) => self.sockets.remove(index)?,
                Arrival::Writable => {}
            }
        }
        let mut clients = Vec::with_capacity(self.seats.len());
        for (index, seat) in std::mem::take(&mut self.seats).into_iter().enumerate() {
            let io = self.sockets.release(index)?;
            if io.is_some() && !self.asking[index] {
                clients.push(Client { target: seat.target, io });
            }
        }
        Ok(clients)
    }

    /// Lets a client send its final query; returns whether it has one. Errors of the query are ignored.
    fn ask(&mut self, index: usize) -> io::Result<bool> {
        if self.schedule.is_stopped() || self.notify(index, Event::Parting, Clock::now_ns()) != Step::Send {
            return Ok(false);
        }
        let sent = self.sockets.send(index, self.seats[index].target.outgoing())?;
        self.asking[index] = matches!(sent, Sending::Handed);
        Ok(self.asking[index])
    }

    fn abandon_all(&mut self, now_ns: u64) -> io::Result<()> {
        for (index, seat) in self.seats.iter_mut().enumerate() {
            if let Some(attempt) = seat.attempt.take() {
                self.schedule.ended(attempt, now_ns, seat.target.abandon());
                self.sockets.remove(index)?;
            }
        }
        self.busy = 0;
        Ok(())
    }

    /// Hands attempts that have fallen due to idle clients.
    fn begin_due(&mut self, now_ns: u64) -> io::Result<()> {
        // Each client once: one whose attempt needs no wait is idle again at once, and `now_ns` is then out of date.
        for _ in 0..self.idle.len() {
            let Some(&index) = self.idle.front() else { break };
            match self.schedule.next(now_ns) {
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
        seat.target.step(Event::Begin, attempt.begin_ns, &mut self.schedule.probe)
    }

    /// Wakes clients whose instant has come.
    fn wake(&mut self, now_ns: u64) -> io::Result<()> {
        while let Some(&Reverse((at_ns, index))) = self.timers.peek() {
            if at_ns > now_ns {
                break;
            }
            self.timers.pop();
            if self.seats[index].wakes_at_ns == at_ns {
                self.seats[index].wakes_at_ns = NEVER_NS;
                let step = self.notify(index, Event::Woken, now_ns);
                self.carry_out(index, step, now_ns)?;
            }
        }
        Ok(())
    }

    #[inline]
    fn notify(&mut self, index: usize, event: Event<'_>, now_ns: u64) -> Step {
        self.seats[index].target.step(event, now_ns, &mut self.schedule.probe)
    }

    /// How long to wait: until the next instant that needs action.
    fn wait_limit(&self, now_ns: u64) -> WaitLimit {
        let timer_ns = self.timers.peek().map_or(u64::MAX, |&Reverse((at_ns, _))| at_ns);
        let exact_ns = timer_ns.min(self.next_due_ns);
        let by_ns = self.schedule.give_up_at_ns(now_ns).unwrap_or(u64::MAX);
        let until_ns = self.schedule.tend_by_ns(now_ns).min(exact_ns).min(by_ns);
        WaitLimit { left_ns: until_ns.saturating_sub(now_ns), exact: until_ns == exact_ns }
    }

    fn take_arrivals(&mut self) -> io::Result<()> {
        while let Some((index, arrival)) = self.sockets.next()? {
            let now_ns = Clock::now_ns();
            if index == self.seats.len() {
                self.take_connections(now_ns)?;
                continue;
            }
            if self.asking[index] {
                if is_answered(&mut self.seats[index].target, &arrival, now_ns, &mut self.schedule.probe) {
                    self.asking[index] = false;
                    self.sockets.remove(index)?;
                }
                continue;
            }
            let step = match arrival {
                Arrival::Writable => Step::Send,
                Arrival::Gone(error) => self.gone(index, error, now_ns),
                Arrival::Bytes(bytes) => {
                    let Seat { target, attempt, .. } = &mut self.seats[index];
                    let step = target.step(Event::Received(bytes), now_ns, &mut self.schedule.probe);
                    // A server may send notices between attempts; they end nothing.
                    if attempt.is_none() && !matches!(step, Step::Last(_) | Step::Reconnect(_)) {
                        Step::Receive
                    } else {
                        step
                    }
                }
            };
            self.carry_out(index, step, now_ns)?;
        }
        Ok(())
    }

    fn gone(&mut self, index: usize, error: Option<io::Error>, now_ns: u64) -> Step {
        match self.notify(index, Event::Gone(error), now_ns) {
            step @ (Step::Last(_) | Step::Reconnect(_)) => step,
            Step::Done(outcome) => Step::Last(outcome),
            // A target that wants to continue without its connection is abandoned.
            _ => Step::Last(self.seats[index].target.abandon()),
        }
    }

    /// Executes a client's steps until it has to wait. `now_ns` is the time at which `step` was returned.
    fn carry_out(&mut self, index: usize, mut step: Step, mut now_ns: u64) -> io::Result<()> {
        let (mut sent, mut ended) = (false, false);
        loop {
            step = match step {
                Step::Receive => return Ok(()),
                Step::WaitUntil(at_ns) => {
                    self.seats[index].wakes_at_ns = at_ns;
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
                Step::Done(outcome) => {
                    // An attempt that needed no wait still took time, and nothing else reads the clock for it.
                    if std::mem::take(&mut sent) || std::mem::replace(&mut ended, true) {
                        now_ns = Clock::now_ns();
                        self.schedule.tend(now_ns);
                    }
                    match self.done(index, outcome, now_ns) {
                        Some(step) => step,
                        None => return Ok(()),
                    }
                }
                Step::Reconnect(outcome) => return self.reconnect(index, outcome),
                Step::Last(outcome) => return self.last(index, outcome),
            };
        }
    }

    /// Replaces the connection by a new one.
    fn connect(&mut self, index: usize) -> io::Result<Step> {
        self.sockets.remove(index)?;
        match self.seats[index].target.connect() {
            Ok(socket) => {
                self.sockets.add(index, socket)?;
                Ok(self.notify(index, Event::Connected, Clock::now_ns()))
            }
            Err(error) => Ok(self.gone(index, Some(error), Clock::now_ns())),
        }
    }

    /// Hands bytes to the kernel; `None` if the socket is full.
    #[inline]
    fn send(&mut self, index: usize, now_ns: u64) -> io::Result<Option<Step>> {
        let target = &self.seats[index].target;
        Ok(match self.sockets.send(index, target.outgoing())? {
            Sending::Handed => Some(self.notify(index, Event::Sent, now_ns)),
            Sending::Full => None,
            Sending::Broken(error) => Some(self.break_off(index, error)),
        })
    }

    /// Handles a failed send. The peer may have sent an error before it closed, which explains more than a broken pipe.
    fn break_off(&mut self, index: usize, error: Option<io::Error>) -> Step {
        let now_ns = Clock::now_ns();
        for _ in 0..MOST_FINAL_READS {
            let Some(bytes) = self.sockets.read_remaining(index) else { break };
            let event = Event::Received(bytes);
            let step = self.seats[index].target.step(event, now_ns, &mut self.schedule.probe);
            if matches!(step, Step::Last(_) | Step::Reconnect(_)) {
                return step;
            }
        }
        self.gone(index, error, now_ns)
    }

    /// Records the end of an attempt, and begins the next if one is due.
    #[inline]
    fn done(&mut self, index: usize, outcome: Outcome, end_ns: u64) -> Option<Step> {
        let seat = &mut self.seats[index];
        let attempt = seat.attempt.take()?;
        seat.wakes_at_ns = NEVER_NS;
        self.schedule.ended(attempt, end_ns, outcome);
        if let Next::Begin(attempt) = self.next_for(end_ns) {
            return Some(self.begin(index, attempt));
        }
        self.busy -= 1;
        self.idle.push_back(index);
        None
    }

    /// Chooses the client's next attempt. In an open loop the client that has waited longest goes first, so that no
    /// connection stays cold.
    #[inline]
    fn next_for(&mut self, now_ns: u64) -> Next {
        if self.schedule.open_loop() && !self.idle.is_empty() {
            Next::At(now_ns)
        } else {
            self.schedule.next(now_ns)
        }
    }

    fn last(&mut self, index: usize, outcome: Outcome) -> io::Result<()> {
        let now_ns = Clock::now_ns();
        self.settle(index, outcome, now_ns);
        // A client that has done its share of attempts may send a final query.
        if !(self.schedule.probe.finished && self.ask(index)?) {
            self.sockets.remove(index)?;
        }
        self.connector.client_ended(index, now_ns);
        self.schedule.client_lost();
        Ok(())
    }

    /// Ends the attempt of a client that does not begin another now.
    fn settle(&mut self, index: usize, outcome: Outcome, now_ns: u64) {
        self.seats[index].wakes_at_ns = NEVER_NS;
        if let Some(attempt) = self.seats[index].attempt.take() {
            self.schedule.ended(attempt, now_ns, outcome);
            self.busy -= 1;
        } else {
            self.idle.retain(|&idle| idle != index);
        }
    }

    /// Requests a new connection for a client that continues once it is there. Meanwhile it is neither busy nor idle.
    fn reconnect(&mut self, index: usize, outcome: Outcome) -> io::Result<()> {
        let now_ns = Clock::now_ns();
        self.settle(index, outcome, now_ns);
        self.sockets.remove(index)?;
        let dial = self.seats[index].target.dial();
        match self.connector.request(index, dial, now_ns)? {
            Some(notified) => self.sockets.add(self.seats.len(), notified),
            None => Ok(()),
        }
    }

    /// Hands clients the connections that were made for them.
    fn take_connections(&mut self, now_ns: u64) -> io::Result<()> {
        while let Some(ConnectResult { seat, socket }) = self.connector.next_result() {
            let step = match socket {
                Ok(socket) => {
                    self.connector.arrived(seat, now_ns);
                    self.sockets.add(seat, socket)?;
                    self.idle.push_back(seat);
                    self.notify(seat, Event::Connected, now_ns);
                    continue;
                }
                Err(error) => self.gone(seat, Some(error), now_ns),
            };
            self.carry_out(seat, step, now_ns)?;
        }
        Ok(())
    }
}

/// Whether an arrival completes a client's final query.
fn is_answered<T: Target>(target: &mut T, arrival: &Arrival<'_>, now_ns: u64, probe: &mut Probe) -> bool {
    match arrival {
        Arrival::Bytes(bytes) => target.step(Event::Received(bytes), now_ns, probe) != Step::Receive,
        Arrival::Gone(_) => true,
        Arrival::Writable => false,
    }
}
