//! Choice of the driver for sockets.

use std::{fmt, io};

use super::{Driver, EpollDriver, UringDriver};
use crate::{Client, Target, WorkerReport, worker_schedule::WorkerSchedule};

/// Driver for sockets, chosen at run time. A single client leaves nothing to batch, so both variants then use
/// [`EpollDriver`]; docs/decisions/0011-waiting-by-completion.md has the figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocketDriver {
    /// [`EpollDriver`]: runs on any kernel.
    Epoll,
    /// [`UringDriver`]: needs Linux 6.1 or later.
    IoUring,
}

impl SocketDriver {
    /// All drivers, the one with the least overhead last.
    pub const ALL: [Self; 2] = [Self::Epoll, Self::IoUring];

    /// Drivers that work on this kernel, in this process and within its limits.
    pub fn usable() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|driver| *driver == Self::Epoll || UringDriver::check().is_ok())
    }

    /// The usable driver with the least overhead: io_uring if the kernel supports and allows it, else epoll.
    pub fn best() -> Self {
        Self::usable().last().unwrap_or(Self::Epoll)
    }

    /// Name under which the driver is recorded.
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
