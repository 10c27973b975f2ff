//! Drivers: how a worker waits for many sockets (by completion or by readiness), or in one blocking call after the
//! other.

mod blocking;
mod choice;
mod client_scheduler;
mod epoll;
mod sockets;
mod uring;

use std::io;

pub use blocking::BlockingDriver;
pub use choice::SocketDriver;
pub use epoll::EpollDriver;
pub use uring::UringDriver;

use crate::{Client, Target, worker_schedule::WorkerSchedule};

/// How many times a connection that cannot be written to any more is still read from, so that a peer that keeps sending
/// is not read forever.
const MOST_FINAL_READS: usize = 16;

/// Sockets of a worker beyond those of its clients: one that announces new connections.
const NOTIFIERS: usize = 1;

/// Drives the clients of one worker until its schedule ends.
pub trait Driver: Copy + Send + 'static {
    /// Runs the schedule to its end.
    ///
    /// # Errors
    /// The kernel's error if waiting itself fails; an error of a single client is an event of its target.
    #[doc(hidden)]
    fn drive<T: Target>(
        self,
        clients: Vec<Client<T>>,
        schedule: Box<WorkerSchedule>,
    ) -> io::Result<crate::WorkerReport>;
}
