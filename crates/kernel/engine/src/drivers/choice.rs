//! Choice of the driver for sockets.

use std::{fmt, io};

use serde::{Deserialize, Serialize};

use super::{epoll, uring};
use crate::{Client, Target, report::Ended, worker_schedule::WorkerSchedule};

/// Driver for sockets, chosen at run time. A single client leaves nothing to batch, so both variants then use
/// epoll; docs/decisions/0011-waiting-by-completion.md has the figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SocketDriver {
    /// Edge-triggered epoll: runs on any kernel.
    Epoll,
    /// io_uring: needs Linux 6.1 or later.
    IoUring,
}

impl SocketDriver {
    /// All drivers, the one with the least overhead last.
    pub const ALL: [Self; 2] = [Self::Epoll, Self::IoUring];

    /// Drivers that work on this kernel, in this process and within its limits.
    pub fn usable() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|driver| driver.check().is_ok())
    }

    /// Checks that this kernel, this process and its limits allow what the driver needs.
    ///
    /// # Errors
    /// The kernel's error: for io_uring `EPERM` if it is disabled (`kernel.io_uring_disabled`, a container's filter),
    /// `EINVAL` if the kernel is too old.
    pub fn check(self) -> io::Result<()> {
        match self {
            Self::Epoll => Ok(()),
            Self::IoUring => uring::check(),
        }
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

    /// Drives the clients of one worker until its schedule ends.
    ///
    /// # Errors
    /// The kernel's error if waiting itself fails; an error of a single client is an event of its target.
    pub(crate) fn drive<T: Target>(
        self,
        clients: Vec<Client<T>>,
        schedule: Box<WorkerSchedule>,
    ) -> io::Result<Ended<T>> {
        match self {
            Self::IoUring if clients.len() > 1 => uring::drive(clients, schedule),
            Self::Epoll | Self::IoUring => epoll::drive(clients, schedule),
        }
    }
}

impl fmt::Display for SocketDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
