//! Which driver sockets get.

use std::{fmt, io};

use super::{Driver, EpollDriver, UringDriver};
use crate::{Client, Target, WorkerReport, worker_schedule::WorkerSchedule};

/// A driver for sockets, chosen when the program runs: how a worker waits for many of them. With a single client there
/// is nothing to batch, and both are [`EpollDriver`]: docs/decisions/0011-waiting-by-completion.md has the figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocketDriver {
    /// [`EpollDriver`]: any kernel.
    Epoll,
    /// [`UringDriver`]: Linux 6.1 and later.
    IoUring,
}

impl SocketDriver {
    /// All of them, the cheapest last.
    pub const ALL: [Self; 2] = [Self::Epoll, Self::IoUring];

    /// Those that work on this kernel, in this process and with its limits.
    pub fn usable() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|driver| *driver == Self::Epoll || UringDriver::check().is_ok())
    }

    /// The cheapest that works here: io_uring where the kernel has what it needs and allows it, else epoll.
    pub fn best() -> Self {
        Self::usable().last().unwrap_or(Self::Epoll)
    }

    /// The name under which it is recorded.
    pub fn name(self) -> &'static str {
        match self {
            Self::Epoll => "epoll",
            Self::IoUring => "io_uring",
        }
    }
}

impl fmt::Display for SocketDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Driver for SocketDriver {
    fn drive<T: Target>(
        self,
        clients: Vec<Client<T>>,
        schedule: Box<WorkerSchedule>,
    ) -> io::Result<WorkerReport> {
        match self {
            Self::IoUring if clients.len() > 1 => UringDriver.drive(clients, schedule),
            Self::Epoll | Self::IoUring => EpollDriver.drive(clients, schedule),
        }
    }
}
