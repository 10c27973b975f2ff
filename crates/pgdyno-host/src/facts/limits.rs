//! Resource limits of this process (`getrlimit(2)`).

use rustix::process::{Resource, getrlimit};

/// Soft limit of open files; `u64::MAX` is unlimited.
pub(super) fn open_files() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Soft limit of locked memory in bytes; `None` is unlimited.
pub(super) fn memlock_bytes() -> Option<u64> {
    getrlimit(Resource::Memlock).current
}
