//! Blocking driver: one client per thread.

use std::{io, os::fd::OwnedFd, time::Duration};

use pgdyno_core::measure::Outcome;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    net::{RecvFlags, SendFlags, recv, send},
};

use super::{Driver, MOST_FINAL_READS};
use crate::{
    Client, Clock, DiskOp, Event, Step, Target, WorkerReport,
    connector::{ConnectResult, Connector},
    recorder::Attempt,
    worker_schedule::{Next, WorkerSchedule},
};

/// Most bytes received in one call.
const RECEIVE_BYTES: usize = 64 * 1024;

/// Driver for synchronous work, and for the least overhead: a worker has exactly one client, and every step is a
/// blocking call. Receiving wakes up ten times a second to check for a stop request.
#[derive(Debug, Clone, Copy, Default)]
pub struct BlockingDriver;

impl Driver for BlockingDriver {
    fn drive<T: Target>(
        self,
        clients: Vec<Client<T>>,
        schedule: Box<WorkerSchedule>,
    ) -> io::Result<WorkerReport> {
        let [client] = <[_; 1]>::try_from(clients).map_err(|_| {
            io::Error::new(io::ErrorKind::InvalidInput, "the blocking driver takes one client a worker")
        })?;
        let connector = schedule.connector();
        let mut worker = BlockingWorker { client, schedule, connector, buffer: Vec::new(), tend_at_ns: 0 };
        worker.work()?;
        worker.connector.close(Clock::now_ns());
        Ok(worker.schedule.finish())
    }
}

/// A worker with its only client.
struct BlockingWorker<T> {
    client: Client<T>,
    schedule: Box<WorkerSchedule>,
    connector: Connector,
    /// Receive buffer; grows to [`RECEIVE_BYTES`] on first use, since disk and null targets need none.
    buffer: Vec<u8>,
    tend_at_ns: u64,
}

/// What the client does after an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    Next,
    Reconnect,
    Last,
}

impl<T: Target> BlockingWorker<T> {
    fn work(&mut self) -> io::Result<()> {
        let mut now_ns = Clock::now_ns();
        self.schedule.tend(now_ns);
        loop {
            match self.schedule.next(now_ns) {
                Next::Never => return Ok(()),
                Next::At(due_ns) => {
                    let wake_ns = due_ns.min(self.schedule.tend_by_ns(now_ns));
                    std::thread::sleep(Duration::from_nanos(wake_ns.saturating_sub(now_ns)));
                    now_ns = Clock::now_ns();
                    self.schedule.tend(now_ns);
                }
                Next::Begin(attempt) => {
                    let (outcome, after) = self.attempt(attempt);
                    now_ns = Clock::now_ns();
                    self.schedule.ended(attempt, now_ns, outcome);
                    self.tend_sometimes(now_ns);
                    if after == After::Last || (after == After::Reconnect && !self.reconnect(now_ns)?) {
                        self.connector.client_ended(0, now_ns);
                        self.schedule.client_lost();
                        return Ok(());
                    }
                    if after == After::Reconnect {
                        now_ns = Clock::now_ns();
                    }
                }
            }
        }
    }

    #[inline]
    fn tend_sometimes(&mut self, now_ns: u64) {
        if now_ns >= self.tend_at_ns {
            self.schedule.tend(now_ns);
            self.tend_at_ns = self.schedule.tend_by_ns(now_ns);
        }
    }

    /// Sleeps until an instant; `false` if the attempt timed out first.
    fn sleep_until(&mut self, at_ns: u64) -> bool {
        loop {
            let now_ns = Clock::now_ns();
            if now_ns >= at_ns {
                return true;
            }
            self.schedule.tend(now_ns);
            if self.out_of_time(now_ns) {
                return false;
            }
            let wake_ns = at_ns.min(self.schedule.tend_by_ns(now_ns));
            std::thread::sleep(Duration::from_nanos(wake_ns.saturating_sub(now_ns)));
        }
    }

    fn out_of_time(&self, now_ns: u64) -> bool {
        self.schedule.give_up_at_ns(now_ns).is_some_and(|give_up_ns| now_ns >= give_up_ns)
    }

    /// Waits until the client is connected again or no more attempts begin; `false` if it will not be connected again.
    fn reconnect(&mut self, mut now_ns: u64) -> io::Result<bool> {
        self.client.io = None;
        self.connector.request(0, self.client.target.dial(), now_ns)?;
        while self.schedule.give_up_at_ns(now_ns).is_none() {
            let wait_ns = self.schedule.tend_by_ns(now_ns).saturating_sub(now_ns);
            let result = self.connector.result_within(wait_ns);
            now_ns = Clock::now_ns();
            self.connector.tend(now_ns, &mut self.schedule.probe);
            self.schedule.tend(now_ns);
            match result {
                None => {}
                Some(ConnectResult { socket: Ok(socket), .. }) => {
                    self.connector.arrived(0, now_ns);
                    self.client.io = Some(socket);
                    self.tell(Event::Connected);
                    return Ok(true);
                }
                Some(ConnectResult { socket: Err(error), .. }) => match self.tell(Event::Gone(Some(error))) {
                    Step::Reconnect(_) => {
                        self.connector.request(0, self.client.target.dial(), now_ns)?;
                    }
                    _ => return Ok(false),
                },
            }
        }
        Ok(true)
    }

    /// Carries out one attempt; returns its outcome and what the client does next.
    #[inline]
    fn attempt(&mut self, attempt: Attempt) -> (Outcome, After) {
        let mut step = self.client.target.step(Event::Begin, attempt.begin_ns, &mut self.schedule.probe);
        loop {
            step = match step {
                Step::Done(outcome) => return (outcome, After::Next),
                Step::Reconnect(outcome) => return (outcome, After::Reconnect),
                Step::Last(outcome) => return (outcome, After::Last),
                Step::Send => self.send(),
                Step::Receive => match self.receive() {
                    Some(step) => step,
                    None => return (self.client.target.abandon(), After::Last),
                },
                Step::WaitUntil(at_ns) if self.sleep_until(at_ns) => self.tell(Event::Woken),
                Step::WaitUntil(_) => return (self.client.target.abandon(), After::Last),
                Step::Connect => self.connect(),
                Step::Disk(op) => {
                    let result = disk(self.client.io.as_ref(), self.client.target.outgoing(), op);
                    self.tell(Event::Disk(result))
                }
            };
        }
    }

    fn tell(&mut self, event: Event<'_>) -> Step {
        self.client.target.step(event, Clock::now_ns(), &mut self.schedule.probe)
    }

    /// Replaces the connection by a new one.
    fn connect(&mut self) -> Step {
        self.client.io = None;
        match self.client.target.connect() {
            Ok(io) => {
                self.client.io = Some(io);
                self.tell(Event::Connected)
            }
            Err(error) => self.tell(Event::Gone(Some(error))),
        }
    }

    fn send(&mut self) -> Step {
        let mut sent = 0;
        while sent < self.client.target.outgoing().len() {
            let Some(io) = &self.client.io else { return self.tell(Event::Gone(None)) };
            match send(io, &self.client.target.outgoing()[sent..], SendFlags::NOSIGNAL) {
                Ok(bytes) => sent += bytes,
                Err(Errno::INTR) => {}
                Err(error) => return self.break_off(error.into()),
            }
        }
        self.tell(Event::Sent)
    }

    /// Handles a failed send. The peer may have sent an error before it closed, which explains more than a broken pipe.
    fn break_off(&mut self, error: io::Error) -> Step {
        self.buffer.resize(RECEIVE_BYTES, 0);
        for _ in 0..MOST_FINAL_READS {
            let Client { io: Some(io), target } = &mut self.client else { break };
            let Ok((_, bytes @ 1..)) = recv(io, self.buffer.as_mut_slice(), RecvFlags::DONTWAIT) else {
                break;
            };
            let event = Event::Received(&self.buffer[..bytes]);
            let step = target.step(event, Clock::now_ns(), &mut self.schedule.probe);
            if matches!(step, Step::Last(_) | Step::Reconnect(_)) {
                return step;
            }
        }
        self.tell(Event::Gone(Some(error)))
    }

    /// Waits for bytes; `None` if the attempt timed out.
    fn receive(&mut self) -> Option<Step> {
        let slice = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
        while self.client.io.as_ref().is_some_and(|io| !readable_within(io, &slice)) {
            let now_ns = Clock::now_ns();
            self.schedule.tend(now_ns);
            if self.out_of_time(now_ns) {
                return None;
            }
        }
        self.buffer.resize(RECEIVE_BYTES, 0);
        let Some(io) = &self.client.io else { return Some(self.tell(Event::Gone(None))) };
        let received = recv(io, self.buffer.as_mut_slice(), RecvFlags::empty());
        let now_ns = Clock::now_ns();
        let event = match received {
            Ok((_, 0)) => Event::Gone(None),
            Ok((_, bytes)) => Event::Received(&self.buffer[..bytes]),
            Err(error) => Event::Gone(Some(error.into())),
        };
        Some(self.client.target.step(event, now_ns, &mut self.schedule.probe))
    }
}

/// Carries out one disk operation on the client's file.
fn disk(io: Option<&OwnedFd>, bytes: &[u8], op: DiskOp) -> io::Result<()> {
    let io = io.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the client has no file"))?;
    let DiskOp::WriteAndSync { mut offset } = op;
    let mut left = bytes;
    while !left.is_empty() {
        let written = rustix::io::retry_on_intr(|| rustix::io::pwrite(io, left, offset))?;
        left = &left[written..];
        offset += written as u64;
    }
    Ok(rustix::io::retry_on_intr(|| rustix::fs::fdatasync(io))?)
}

fn readable_within(io: &OwnedFd, timeout: &Timespec) -> bool {
    poll(&mut [PollFd::new(io, PollFlags::IN)], Some(timeout)).is_ok_and(|ready| ready > 0)
}
