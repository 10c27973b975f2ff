//! The socket of a lone client.

use std::{io, os::fd::OwnedFd, time::Duration};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    net::{
        RecvFlags, SendFlags, recv, send,
        sockopt::{Timeout, set_socket_timeout},
    },
};

use super::{
    BELLS, Driver,
    floor::Floor,
    sockets::{Arrival, Patience, Sending, Sockets, TICK_NS},
};
use crate::{Client, Target, WorkerReport, shift::Shift};

/// Bytes taken from a socket at once, at first and at most: there may be as many workers as clients, and most answers
/// are short.
const RECEIVE_BYTES: [usize; 2] = [8 * 1024, 64 * 1024];
/// The client's own socket, and the one that tells of connections that were made again.
const LINES: usize = 1 + BELLS;

/// The driver for a worker with one client, on any kernel: with nobody else to wait for, receiving itself is the wait.
/// [`Step::Disk`](crate::Step::Disk) is not possible here.
#[derive(Debug, Clone, Copy, Default)]
pub struct LoneDriver;

impl Driver for LoneDriver {
    fn drive<T: Target>(self, clients: Vec<Client<T>>, shift: Shift) -> io::Result<WorkerReport> {
        if clients.len() != 1 {
            let error = "the driver for a lone client takes one client a worker";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, error));
        }
        Floor::work(clients, shift, LoneSockets::default())
    }
}

/// One socket. It blocks; who does not want to wait says so with every call.
#[derive(Debug, Default)]
struct Line {
    socket: Option<OwnedFd>,
    /// Bytes of the message under way already handed to the kernel.
    sent: usize,
    /// Whether it took no more bytes, and is to be told of when it does.
    full: bool,
}

impl Line {
    /// It among those that are waited for.
    fn watched(&self) -> Option<PollFd<'_>> {
        let flags = if self.full { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
        self.socket.as_ref().map(|socket| PollFd::new(socket, flags))
    }
}

/// What came of a line.
#[derive(Debug)]
enum Taken {
    /// It takes bytes again.
    Room,
    /// This many bytes, in the buffer.
    Bytes(usize),
    /// The connection is gone: closed by the peer (`None`) or broken.
    End(Option<Errno>),
}

struct LoneSockets {
    lines: [Line; LINES],
    /// What came of waiting in [`recv`] for the client's socket.
    received: Option<Taken>,
    /// What the lines were last found ready for.
    ready: [PollFlags; LINES],
    buffer: Vec<u8>,
}

impl Default for LoneSockets {
    fn default() -> Self {
        Self {
            lines: Default::default(),
            received: None,
            ready: [PollFlags::empty(); LINES],
            buffer: vec![0; RECEIVE_BYTES[0]],
        }
    }
}

impl LoneSockets {
    /// Whether there is nothing to wait for but what the client's peer sends.
    fn is_quiet(&self) -> bool {
        let [client, bell] = &self.lines;
        client.socket.is_some() && !client.full && bell.socket.is_none()
    }

    /// Receives from a line; `None` where nothing came.
    #[inline]
    fn receive(&mut self, seat: usize, flags: RecvFlags) -> Option<Taken> {
        match recv(self.lines[seat].socket.as_ref()?, &mut *self.buffer, flags) {
            Ok((_, 0)) => Some(Taken::End(None)),
            Ok((_, bytes)) => {
                if bytes == self.buffer.len() {
                    self.buffer.resize((2 * bytes).min(RECEIVE_BYTES[1]), 0);
                }
                Some(Taken::Bytes(bytes))
            }
            Err(Errno::AGAIN | Errno::INTR) => None,
            Err(error) => Some(Taken::End(Some(error))),
        }
    }

    /// The next of what the last wait found.
    #[inline]
    fn take(&mut self) -> Option<(usize, Taken)> {
        if let Some(received) = self.received.take() {
            return Some((0, received));
        }
        (0..LINES).find_map(|seat| {
            let ready = std::mem::replace(&mut self.ready[seat], PollFlags::empty());
            if self.lines[seat].full && ready.contains(PollFlags::OUT) {
                self.ready[seat] = ready.difference(PollFlags::OUT);
                return Some((seat, Taken::Room));
            }
            if ready.is_empty() {
                return None;
            }
            self.receive(seat, RecvFlags::DONTWAIT).map(|taken| (seat, taken))
        })
    }
}

impl Sockets for LoneSockets {
    fn add(&mut self, seat: usize, socket: OwnedFd) -> io::Result<()> {
        rustix::io::ioctl_fionbio(&socket, false)?;
        set_socket_timeout(&socket, Timeout::Recv, Some(Duration::from_nanos(TICK_NS)))?;
        self.lines[seat] = Line { socket: Some(socket), ..Line::default() };
        Ok(())
    }

    fn remove(&mut self, seat: usize) -> io::Result<()> {
        self.lines[seat] = Line::default();
        Ok(())
    }

    #[inline]
    fn send(&mut self, seat: usize, bytes: &[u8]) -> io::Result<Sending> {
        let Line { socket: Some(socket), sent, full, .. } = &mut self.lines[seat] else {
            return Ok(Sending::Broken(None));
        };
        loop {
            match send(&*socket, &bytes[*sent..], SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(count) if *sent + count == bytes.len() => {
                    (*sent, *full) = (0, false);
                    return Ok(Sending::Handed);
                }
                Ok(count) => *sent += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    *full = true;
                    return Ok(Sending::Full);
                }
                Err(error) => return Ok(Sending::Broken(Some(error.into()))),
            }
        }
    }

    fn last_words(&mut self, seat: usize) -> Option<&[u8]> {
        let socket = self.lines[seat].socket.as_ref()?;
        match recv(socket, &mut *self.buffer, RecvFlags::DONTWAIT) {
            Ok((_, bytes @ 1..)) => Some(&self.buffer[..bytes]),
            _ => None,
        }
    }

    #[inline]
    fn wait(&mut self, patience: Patience) -> io::Result<()> {
        if self.is_quiet() && outlasts_receiving(patience) {
            // One call waits and receives. It ends by itself after a tick, as the socket was told.
            self.received = self.receive(0, RecvFlags::empty());
            return Ok(());
        }
        self.ready = look(&self.lines, patience.left_ns.min(TICK_NS))?;
        Ok(())
    }

    #[inline]
    fn next(&mut self) -> io::Result<Option<(usize, Arrival<'_>)>> {
        Ok(self.take().map(|(seat, taken)| match taken {
            Taken::Room => (seat, Arrival::Writable),
            Taken::Bytes(bytes) => (seat, Arrival::Bytes(&self.buffer[..bytes])),
            Taken::End(error) => (seat, Arrival::Gone(error.map(io::Error::from))),
        }))
    }
}

/// Whether a wait may be left to a socket's own time-out. The kernel counts that from the call on, in its ticks of up
/// to 10 ms, rounded up (`socket(7)`, `SO_RCVTIMEO`): a client that is due must not be woken by it.
fn outlasts_receiving(patience: Patience) -> bool {
    patience.left_ns >= if patience.exact { 2 * TICK_NS } else { TICK_NS }
}

/// Waits until one of the lines is ready, at most for a time.
fn look([client, bell]: &[Line; LINES], most_ns: u64) -> io::Result<[PollFlags; LINES]> {
    let timeout = Timespec { tv_sec: 0, tv_nsec: most_ns as _ };
    Ok(match (client.watched(), bell.watched()) {
        (Some(client), Some(bell)) => {
            let mut both = [client, bell];
            waited(poll(&mut both, Some(&timeout)))?;
            both.map(|line| line.revents())
        }
        (Some(client), None) => [look_at(client, &timeout)?, PollFlags::empty()],
        (None, Some(bell)) => [PollFlags::empty(), look_at(bell, &timeout)?],
        (None, None) => {
            waited(poll(&mut [], Some(&timeout)))?;
            [PollFlags::empty(); LINES]
        }
    })
}

fn look_at(watched: PollFd<'_>, timeout: &Timespec) -> io::Result<PollFlags> {
    let mut one = [watched];
    waited(poll(&mut one, Some(timeout)))?;
    Ok(one[0].revents())
}

/// A signal ends a wait early; the loop comes round again.
fn waited(result: rustix::io::Result<usize>) -> io::Result<()> {
    match result {
        Err(Errno::INTR) => Ok(()),
        other => Ok(other.map(drop)?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel may end a receive of 50 ms after 60: what is due by then is waited for to the nanosecond.
    #[test]
    fn a_client_that_is_due_is_not_left_to_the_sockets_time_out() {
        let left = |left_ns, exact| outlasts_receiving(Patience { left_ns, exact });
        assert!(!left(TICK_NS - 1, false) && left(TICK_NS, false));
        assert!(!left(TICK_NS, true) && !left(TICK_NS + 10_000_000, true) && left(2 * TICK_NS, true));
    }
}
