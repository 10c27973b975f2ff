//! Facts that the rules of settings use, and sizes that several of them share.

use pgdyno_core::{
    facts::amount::{GB, MB},
    host::{Inventory, Storage},
    units::{self, plural},
};

use crate::Purpose;

/// Facts that the rules use.
#[derive(Debug, Clone, Copy)]
pub struct Inputs<'a> {
    /// The machine that the server will run on.
    pub host: &'a Inventory,
    /// Storage of the data directory.
    pub data: &'a Storage,
    /// Storage of WAL if it is separate from the data directory.
    pub wal: Option<&'a Storage>,
    /// `server_version_num`, for example 180004.
    pub version_num: u32,
    /// Number of client sessions open at the same time.
    pub clients: u32,
    /// Most tables and indexes that one statement locks; 0 if there are few.
    pub relations: u64,
    /// Parallel workers that a load requests for its keys.
    pub key_workers: KeyDemand,
    /// Size of a WAL segment in bytes.
    pub wal_segment_bytes: u64,
    /// Number of processors that the server is pinned to; `None` means all that are allowed.
    pub server_cpus: Option<u32>,
    /// What the server is for.
    pub purpose: Purpose,
}

impl<'a> Inputs<'a> {
    /// Storage that WAL lies on.
    pub fn wal_storage(&self) -> &'a Storage {
        self.wal.unwrap_or(self.data)
    }

    /// Processors that the server may use, at least 1: those allowed, or fewer by a quota or by pinning.
    pub fn cpus(&self) -> u32 {
        let allowed = (self.host.allowed_cpus().len() as u32).max(1);
        let quota = self.host.kernel.cgroup.cpus.map_or(allowed, |cpus| (cpus.ceil() as u32).max(1));
        allowed.min(quota).min(self.server_cpus.unwrap_or(u32::MAX)).max(1)
    }

    /// Free bytes where WAL lies; `None` if that file system is not known, as of a host that is only described.
    pub fn wal_free_bytes(&self) -> Option<u64> {
        let storage = self.wal_storage();
        (storage.size_bytes > 0).then_some(storage.available_bytes)
    }

    /// Whether the data is on storage with moving parts; `None` if the kernel does not say, or cannot know as a guest.
    pub fn rotates(&self) -> Option<bool> {
        self.data.rotational
    }

    /// Whether the data is known to be on storage without moving parts.
    pub fn is_fast(&self) -> bool {
        self.rotates() == Some(false)
    }

    /// `shared_buffers` that the rule chooses, in bytes.
    pub fn shared_buffers_bytes(&self) -> u64 {
        let usable = usable_memory_bytes(self.host);
        // On a tiny machine a minimum of 16 MB would be over 40 % of memory, so the share wins.
        whole_mb(usable / 4, (16 * MB).min(usable * 2 / 5).max(MB / 8))
    }

    /// `max_connections` that the rule chooses.
    pub fn connections(&self) -> u32 {
        connections_for(self.clients)
    }
}

/// Parallel workers that were requested for building keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KeyDemand {
    /// Workers of each key; 0 if none were requested.
    pub each: u64,
    /// Keys that are built at the same time.
    pub keys: u64,
}

impl KeyDemand {
    /// Workers of all keys that are built at the same time, at most as many as PostgreSQL ever starts.
    pub fn total(self) -> u64 {
        self.each.saturating_mul(self.keys).min(MOST_WORKERS.max(self.each))
    }

    pub(crate) fn reason(self) -> String {
        let keys = plural(self.keys, "key");
        format!("{} requested for each key, {keys} at a time", plural(self.each, "worker"))
    }
}

/// Most parallel workers of one command (`MAX_PARALLEL_WORKER_LIMIT`): more keys at a time share them.
pub(crate) const MOST_WORKERS: u64 = 1_024;
/// Default of `max_worker_processes`.
pub const DEFAULT_WORKER_PROCESSES: u64 = 8;
/// Default of `max_locks_per_transaction`.
pub const DEFAULT_LOCKS: u64 = 64;

/// Memory in bytes that a server may count on: physical memory, or less if a control group or the kernel's
/// commit limit is lower.
pub fn usable_memory_bytes(host: &Inventory) -> u64 {
    let granted = host.memory.total_bytes.min(host.kernel.cgroup.memory_bytes.unwrap_or(u64::MAX));
    granted.min(host.commit_left_bytes().unwrap_or(u64::MAX))
}

/// Bytes of the pool of explicit huge pages, which only shared memory can use; 0 where a limit below the memory of the
/// machine holds, which does not count them.
pub(crate) fn huge_pool_bytes(host: &Inventory) -> u64 {
    let pool = host.default_huge_pages();
    let bytes = pool.total.saturating_mul(pool.page_bytes);
    if usable_memory_bytes(host) == host.memory.total_bytes { bytes } else { 0 }
}

/// Memory in bytes that shared buffers of this size, and the pool of huge pages, leave to sessions and page cache. The
/// buffers are in the pool if they fit.
pub(crate) fn memory_outside(host: &Inventory, shared_buffers: u64) -> u64 {
    let pool = huge_pool_bytes(host);
    let taken = if shared_buffers <= pool { pool } else { pool.saturating_add(shared_buffers) };
    usable_memory_bytes(host).saturating_sub(taken)
}

/// What [`memory_outside`] leaves out, for a reason.
pub(crate) fn outside_words(host: &Inventory, shared_buffers: u64) -> String {
    match huge_pool_bytes(host) {
        0 => "shared_buffers".to_owned(),
        bytes if shared_buffers <= bytes => {
            format!("the {} of huge pages that hold shared_buffers", units::bytes(bytes))
        }
        bytes => format!("shared_buffers and {} of huge pages", units::bytes(bytes)),
    }
}

/// Most memory in bytes that the kernel lets the server map at once: with `vm.overcommit_memory` = 0 it refuses what
/// memory and swap together do not have. `None` where it refuses nothing, or by other figures.
pub(crate) fn mappable_bytes(host: &Inventory) -> Option<u64> {
    let memory = &host.memory;
    (host.overcommit_mode() == 0).then(|| memory.total_bytes.saturating_add(memory.swap_bytes().unwrap_or(0)))
}

/// Names the source of the memory figure, for a reason. Amounts of a reason are in KiB, MiB and GiB as everywhere; only
/// values of settings are written as `postgresql.conf` has them.
pub(crate) fn memory_words(host: &Inventory) -> String {
    let usable = usable_memory_bytes(host);
    let source = if usable == host.memory.total_bytes {
        "memory"
    } else if Some(usable) == host.kernel.cgroup.memory_bytes {
        "memory that the control group allows"
    } else {
        "memory left under CommitLimit (vm.overcommit_memory is 2)"
    };
    format!("{} of {source}", units::bytes(usable))
}

/// Rounds down to whole megabytes, but to no less than `least` bytes.
pub fn whole_mb(bytes: u64, least: u64) -> u64 {
    (bytes / MB * MB).max(least)
}

/// Value of `max_connections` for this many clients: 20 more for administration and observation, never below
/// the default of 100.
pub fn connections_for(clients: u32) -> u32 {
    clients.saturating_add(20).max(100)
}

/// A twentieth of the free space where WAL lies, in bytes, at least 1 GB and 8 segments.
pub fn wal_room_bytes(inputs: &Inputs<'_>) -> u64 {
    const STEP: u64 = 64 * MB;
    (whole_mb(inputs.wal_storage().available_bytes / 20, GB) / STEP * STEP).max(8 * inputs.wal_segment_bytes)
}
