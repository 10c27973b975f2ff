//! How a worker waits: for many sockets by completion or by readiness, or for one blocking call after the other.

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

/// How often a connection that cannot be written to is still read from: a peer that talks on is not listened to for
/// ever.
const LAST_WORDS: usize = 16;

/// Sockets of a worker beyond those of its clients: one that tells of connections that were made again.
const BELLS: usize = 1;

/// Drives the clients of one worker until its schedule ends.
pub trait Driver: Copy + Send + 'static {
    /// Runs the schedule to its end.
    ///
    /// # Errors
    /// The kernel's, where waiting itself fails; what happens to a single client is an event of its target.
    #[doc(hidden)]
    fn drive<T: Target>(
        self,
        clients: Vec<Client<T>>,
        schedule: Box<WorkerSchedule>,
    ) -> io::Result<crate::WorkerReport>;
}
