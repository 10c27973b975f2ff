//! Sockets by readiness (epoll).

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, epoll, poll},
    io::{Errno, read},
    net::{RecvFlags, SendFlags, recv, send},
    time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime},
};

use super::{
    NOTIFIERS,
    client_scheduler::ClientScheduler,
    sockets::{Arrival, Sending, Sockets, TICK_NS, WaitLimit},
};
use crate::{Client, Target, report::Ended, worker_schedule::WorkerSchedule};

/// Initial size of a worker's receive buffer: there may be hundreds of workers, and most answers are short. One buffer
/// per worker is enough, since a target keeps the start of an incomplete message itself.
const FIRST_RECEIVE_BYTES: usize = 1024;
/// Size up to which the buffer grows when answers fill it.
const MOST_RECEIVE_BYTES: usize = 64 * 1024;
/// Most readiness events taken in one call.
const EVENTS: usize = 256;

/// Drives clients with edge-triggered epoll: one loop per thread, any number of clients. Clients without a socket,
/// which only wait by time, work too.
pub(super) fn drive<T: Target>(
    clients: Vec<Client<T>>,
    schedule: Box<WorkerSchedule>,
) -> io::Result<Ended<T>> {
    let sockets = EpollSockets::open(clients.len() + NOTIFIERS)?;
    ClientScheduler::work(clients, schedule, sockets)
}

/// A client's socket and the state of its send.
#[derive(Debug, Default)]
struct Line {
    socket: Option<OwnedFd>,
    /// Bytes of the current message that the kernel has taken.
    sent: usize,
    /// Whether epoll reports when the socket becomes writable.
    wants_write: bool,
}

/// Event data of the periodic timer; no seat has this number.
const TICK: u64 = u64::MAX;

struct EpollSockets {
    epoll: OwnedFd,
    /// Periodic timer that ends a wait every [`TICK_NS`].
    ticks: OwnedFd,
    lines: Vec<Line>,
    events: Vec<epoll::Event>,
    /// Index of the current event.
    at: usize,
    buffer: Vec<u8>,
    /// Whether the last receive filled the buffer.
    filled: bool,
}

impl EpollSockets {
    fn open(clients: usize) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let ticks = ticking(TICK_NS)?;
        // Edge-triggered: a tick that nobody reads is reported only once.
        epoll::add(
            &epoll,
            &ticks,
            epoll::EventData::new_u64(TICK),
            epoll::EventFlags::IN | epoll::EventFlags::ET,
        )?;
        Ok(Self {
            epoll,
            ticks,
            lines: (0..clients).map(|_| Line::default()).collect(),
            events: Vec::with_capacity(EVENTS.min(clients + 1)),
            at: 0,
            buffer: vec![0; FIRST_RECEIVE_BYTES],
            filled: false,
        })
    }
}

impl Sockets for EpollSockets {
    fn add(&mut self, seat: usize, socket: OwnedFd) -> io::Result<()> {
        rustix::io::ioctl_fionbio(&socket, true)?;
        epoll::add(&self.epoll, &socket, epoll::EventData::new_u64(seat as u64), interest(false))?;
        self.lines[seat] = Line { socket: Some(socket), ..Line::default() };
        Ok(())
    }

    fn remove(&mut self, seat: usize) -> io::Result<()> {
        match std::mem::take(&mut self.lines[seat]).socket {
            Some(socket) => Ok(epoll::delete(&self.epoll, &socket)?),
            None => Ok(()),
        }
    }

    /// Nothing is read unless it is requested.
    fn quiesce(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn release(&mut self, seat: usize) -> io::Result<Option<OwnedFd>> {
        let socket = std::mem::take(&mut self.lines[seat]).socket;
        socket.as_ref().map_or(Ok(()), |socket| epoll::delete(&self.epoll, socket))?;
        Ok(socket)
    }

    #[inline]
    fn send(&mut self, seat: usize, bytes: &[u8]) -> io::Result<Sending> {
        let Line { socket: Some(socket), sent, wants_write } = &mut self.lines[seat] else {
            return Ok(Sending::Broken(None));
        };
        loop {
            match send(&*socket, &bytes[*sent..], SendFlags::NOSIGNAL) {
                Ok(count) if *sent + count == bytes.len() => {
                    *sent = 0;
                    if std::mem::take(wants_write) {
                        watch(&self.epoll, socket, seat, false)?;
                    }
                    return Ok(Sending::Handed);
                }
                Ok(count) => *sent += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    if !std::mem::replace(wants_write, true) {
                        watch(&self.epoll, socket, seat, true)?;
                    }
                    return Ok(Sending::Full);
                }
                Err(error) => return Ok(Sending::Broken(Some(error.into()))),
            }
        }
    }

    fn read_remaining(&mut self, seat: usize) -> Option<&[u8]> {
        let socket = self.lines[seat].socket.as_ref()?;
        match recv(socket, &mut *self.buffer, RecvFlags::empty()) {
            Ok((_, bytes @ 1..)) => Some(&self.buffer[..bytes]),
            _ => None,
        }
    }

    #[inline]
    fn wait(&mut self, limit: WaitLimit) -> io::Result<()> {
        let WaitLimit { mut left_ns, exact } = limit;
        if exact && left_ns > 0 && !limit.outlasts_a_tick() {
            // epoll_wait counts in milliseconds; ppoll on the epoll descriptor counts in nanoseconds.
            let mut readable = [PollFd::new(&self.epoll, PollFlags::IN)];
            ignoring_signals(poll(&mut readable, Some(&timespec(left_ns))))?;
            left_ns = 0;
        }
        let timeout = (!limit.outlasts_a_tick()).then(|| timespec(left_ns.div_ceil(1_000_000) * 1_000_000));
        self.events.clear();
        self.at = 0;
        let spare = rustix::buffer::spare_capacity(&mut self.events);
        ignoring_signals(epoll::wait(&self.epoll, spare, timeout.as_ref()))?;
        Ok(())
    }

    #[inline]
    fn next(&mut self) -> io::Result<Option<(usize, Arrival<'_>)>> {
        if std::mem::take(&mut self.filled) {
            self.buffer.resize((2 * self.buffer.len()).min(MOST_RECEIVE_BYTES), 0);
        }
        while let Some(event) = self.events.get_mut(self.at) {
            if event.data.u64() == TICK {
                self.at += 1;
                // Reading makes the kernel rearm the timer (`timerfd_create(2)`).
                ignoring_signals(read(&self.ticks, &mut [0_u8; 8]))?;
                continue;
            }
            let (seat, flags) = (event.data.u64() as usize, event.flags);
            let line = &self.lines[seat];
            if line.wants_write && flags.contains(epoll::EventFlags::OUT) {
                event.flags = flags.difference(epoll::EventFlags::OUT);
                return Ok(Some((seat, Arrival::Writable)));
            }
            let socket = line.socket.as_ref().filter(|_| flags.intersects(READABLE));
            match socket
                .map_or(Err(Errno::AGAIN), |socket| recv(socket, &mut *self.buffer, RecvFlags::empty()))
            {
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => self.at += 1,
                Err(error) => {
                    self.at += 1;
                    return Ok(Some((seat, Arrival::Gone(Some(error.into())))));
                }
                Ok((_, 0)) => {
                    self.at += 1;
                    return Ok(Some((seat, Arrival::Gone(None))));
                }
                Ok((_, bytes)) => {
                    // An edge is reported once: after a full buffer, or if the peer has closed, more may be left to
                    // read.
                    self.filled = bytes == self.buffer.len();
                    let more = self.filled || flags.intersects(CLOSED);
                    self.at += usize::from(!more);
                    return Ok(Some((seat, Arrival::Bytes(&self.buffer[..bytes]))));
                }
            }
        }
        Ok(None)
    }
}

const CLOSED: epoll::EventFlags =
    epoll::EventFlags::HUP.union(epoll::EventFlags::ERR).union(epoll::EventFlags::RDHUP);
const READABLE: epoll::EventFlags = epoll::EventFlags::IN.union(CLOSED);

/// Edge-triggered: with level triggering the kernel would check every socket once more after it was read.
fn interest(write: bool) -> epoll::EventFlags {
    let read = epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
    if write { read | epoll::EventFlags::OUT } else { read }
}

/// Sets which readiness of a socket epoll reports.
fn watch(epoll: &OwnedFd, socket: impl AsFd, seat: usize, write: bool) -> io::Result<()> {
    Ok(epoll::modify(epoll, socket, epoll::EventData::new_u64(seat as u64), interest(write))?)
}

/// Makes a periodic timer.
fn ticking(period_ns: u64) -> io::Result<OwnedFd> {
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
    let period = timespec(period_ns);
    let times = Itimerspec { it_interval: period, it_value: period };
    timerfd_settime(&timer, TimerfdTimerFlags::empty(), &times)?;
    Ok(timer)
}

fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as _ }
}

/// Turns an interrupted call into `None`: a signal ends a wait early, and the loop continues.
fn ignoring_signals<R>(result: rustix::io::Result<R>) -> rustix::io::Result<Option<R>> {
    match result {
        Err(Errno::INTR) => Ok(None),
        other => other.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Write, os::unix::net::UnixStream};

    use super::*;

    /// An edge is reported once: what did not fit is read before the next wait, in growing pieces.
    #[test]
    fn a_buffer_that_answers_fill_grows_and_loses_nothing() {
        let (ours, mut theirs) = UnixStream::pair().expect("there are sockets");
        let mut sockets = EpollSockets::open(1).expect("there is epoll");
        sockets.add(0, ours.into()).expect("it can be watched");
        let sent: Vec<u8> = (0..100_000_u32).map(|at| (at / 7) as u8).collect();
        theirs.write_all(&sent).expect("there is room for it");
        sockets.wait(WaitLimit { left_ns: 0, exact: false }).expect("it can be waited for");
        let (mut got, mut pieces) = (Vec::new(), Vec::new());
        while let Some((0, Arrival::Bytes(bytes))) = sockets.next().expect("it can be read") {
            got.extend_from_slice(bytes);
            pieces.push(bytes.len());
        }
        assert!(got == sent, "{pieces:?}");
        assert_eq!(pieces, [1_024, 2_048, 4_096, 8_192, 16_384, 32_768, 35_488]);
        assert_eq!(sockets.buffer.len(), MOST_RECEIVE_BYTES);
    }
}
