//! Interface between the client scheduler and the kernel.

use std::{io, os::fd::OwnedFd};

/// Event on a socket.
#[derive(Debug)]
pub(super) enum Arrival<'a> {
    /// Bytes from the peer.
    Bytes(&'a [u8]),
    /// A full socket takes bytes again.
    Writable,
    /// The connection was closed by the peer (`None`) or broke.
    Gone(Option<io::Error>),
}

/// Result of a send.
#[derive(Debug)]
pub(super) enum Sending {
    /// The kernel has taken all bytes.
    Handed,
    /// The socket is full: call again with the same bytes after [`Arrival::Writable`].
    Full,
    /// The connection is closed (`None`) or broken.
    Broken(Option<io::Error>),
}

/// Period in nanoseconds in which every wait ends by itself, so that a longer wait needs no timer of its own. Setting
/// and cancelling a timer costs the kernel a twentieth of a short transaction.
pub(super) const TICK_NS: u64 = 50_000_000;

/// Limit of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WaitLimit {
    /// Nanoseconds; 0 polls without waiting.
    pub(super) left_ns: u64,
    /// Whether a client is due at the end of the wait, so that a millisecond more would be too late.
    pub(super) exact: bool,
}

impl WaitLimit {
    /// Whether the next tick comes early enough to end the wait.
    pub(super) fn outlasts_a_tick(self) -> bool {
        self.left_ns >= TICK_NS
    }
}

/// The sockets of one worker, each identified by the seat number of its client.
pub(super) trait Sockets {
    /// Registers a connected socket.
    fn add(&mut self, seat: usize, socket: OwnedFd) -> io::Result<()>;

    /// Closes a client's socket, if there is one.
    fn remove(&mut self, seat: usize) -> io::Result<()>;

    /// Ends all pending requests, so that nothing more is read. What was read before is left to [`Sockets::next`].
    fn quiesce(&mut self) -> io::Result<()>;

    /// Gives a client's socket back, still connected, after [`Sockets::quiesce`].
    fn release(&mut self, seat: usize) -> io::Result<Option<OwnedFd>>;

    /// Hands bytes to the kernel.
    fn send(&mut self, seat: usize, bytes: &[u8]) -> io::Result<Sending>;

    /// Reads, without waiting, the bytes left in a socket that cannot be written to any more.
    fn read_remaining(&mut self, seat: usize) -> Option<&[u8]>;

    /// Waits for arrivals. All earlier arrivals must have been taken.
    fn wait(&mut self, limit: WaitLimit) -> io::Result<()>;

    /// Takes the next arrival.
    fn next(&mut self) -> io::Result<Option<(usize, Arrival<'_>)>>;
}
