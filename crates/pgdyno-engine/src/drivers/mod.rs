//! How a worker waits: for many sockets by completion or by readiness, or for one blocking call after the other.

mod blocking;
mod choice;
mod epoll;
mod floor;
mod sockets;
mod uring;

use std::io;

pub use blocking::BlockingDriver;
pub use choice::SocketDriver;
pub use epoll::EpollDriver;
pub use uring::UringDriver;

use crate::{Client, Target, shift::Shift};

/// How often a connection that cannot be written to is still read from: a peer that talks on is not listened to for
/// ever.
const LAST_WORDS: usize = 16;

/// Sockets of a worker beyond those of its clients: one that tells of connections that were made again.
const BELLS: usize = 1;

/// Drives the clients of one worker until its shift ends.
pub trait Driver: Copy + Send + 'static {
    /// Runs the shift to its end.
    ///
    /// # Errors
    /// The kernel's, where waiting itself fails; what happens to a single client is an event of its target.
    #[doc(hidden)]
    fn drive<T: Target>(self, clients: Vec<Client<T>>, shift: Box<Shift>) -> io::Result<crate::WorkerReport>;
}
