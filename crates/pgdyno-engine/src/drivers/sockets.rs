//! What a scheduler of clients asks of the kernel.

use std::{io, os::fd::OwnedFd};

/// What came of a socket.
#[derive(Debug)]
pub(super) enum Arrival<'a> {
    /// Bytes from the peer.
    Bytes(&'a [u8]),
    /// A socket that was full takes bytes again.
    Writable,
    /// The connection is gone: closed by the peer (`None`) or broken.
    Gone(Option<io::Error>),
}

/// What came of bytes that were to be sent.
#[derive(Debug)]
pub(super) enum Sending {
    /// All of them are the kernel's.
    Handed,
    /// The socket is full: [`Arrival::Writable`] tells when to call again, with the same bytes.
    Full,
    /// The connection is gone or broken.
    Broken(Option<io::Error>),
}

/// How often a wait ends by itself, in nanoseconds: a longer one needs no timer of its own. Setting one and taking it
/// back costs the kernel a twentieth of a short transaction.
pub(super) const TICK_NS: u64 = 50_000_000;

/// How long to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Patience {
    /// Nanoseconds, 0 for a look.
    pub(super) left_ns: u64,
    /// Whether a client is due at its end, so that a millisecond more would be too late.
    pub(super) exact: bool,
}

impl Patience {
    /// Whether the next tick comes early enough to end the wait.
    pub(super) fn outlasts_a_tick(self) -> bool {
        self.left_ns >= TICK_NS
    }
}

/// The sockets of one worker. A socket is known by the number of its client's seat.
pub(super) trait Sockets {
    /// Takes a connected socket.
    fn add(&mut self, seat: usize, socket: OwnedFd) -> io::Result<()>;

    /// Closes a client's socket, if there is one.
    fn remove(&mut self, seat: usize) -> io::Result<()>;

    /// Hands bytes to the kernel.
    fn send(&mut self, seat: usize, bytes: &[u8]) -> io::Result<Sending>;

    /// Bytes that wait in a socket to which nothing can be sent any more; no waiting.
    fn last_words(&mut self, seat: usize) -> Option<&[u8]>;

    /// Waits for arrivals. Before it is called all of them have been taken.
    fn wait(&mut self, patience: Patience) -> io::Result<()>;

    /// The next arrival.
    fn next(&mut self) -> io::Result<Option<(usize, Arrival<'_>)>>;
}
