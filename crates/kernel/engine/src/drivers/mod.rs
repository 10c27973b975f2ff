//! Drivers: how a worker waits for many sockets, by completion or by readiness.

mod choice;
mod client_scheduler;
mod epoll;
mod sockets;
mod uring;

pub use choice::SocketDriver;

/// How many times a connection that cannot be written to any more is still read from, so that a peer that keeps sending
/// is not read forever.
const MOST_FINAL_READS: usize = 16;

/// Sockets of a worker beyond those of its clients: one that announces new connections.
const NOTIFIERS: usize = 1;
