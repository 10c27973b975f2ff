//! Choice of the driver for files.

use std::{fmt, io};

use super::uring;

/// How operations on files are kept in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileDriver {
    /// `pread(2)` and `pwrite(2)`, with a thread for each operation in flight: runs on any kernel.
    Threads,
    /// io_uring: one thread for any number of operations. Needs Linux 5.6, and is best from 6.1 on.
    IoUring,
}

impl FileDriver {
    /// All drivers, the one with the least overhead last.
    pub const ALL: [Self; 2] = [Self::Threads, Self::IoUring];

    /// Checks that this kernel, this process and its limits allow what the driver needs.
    ///
    /// # Errors
    /// The kernel's error: for io_uring `EPERM` if it is disabled (`kernel.io_uring_disabled`, a container's filter),
    /// `ENOSYS` if the kernel lacks it.
    pub fn check(self) -> io::Result<()> {
        match self {
            Self::Threads => Ok(()),
            Self::IoUring => uring::check(),
        }
    }

    /// Drivers that work on this kernel, in this process and within its limits.
    pub fn usable() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|driver| driver.check().is_ok())
    }

    /// Name under which the driver is recorded.
    pub fn name(self) -> &'static str {
        match self {
            Self::Threads => "threads",
            Self::IoUring => "io_uring",
        }
    }
}

impl fmt::Display for FileDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
