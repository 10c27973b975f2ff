//! Synchronous writes: what each `wal_sync_method` costs in a directory, which one to choose, and whether a flush can
//! be believed. The tests are those of pg_test_fsync (PostgreSQL manual, "pg_test_fsync").

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{host::Storage, measure::LatencySummary};

/// A value of `wal_sync_method`, in PostgreSQL's order of preference. The default on Linux is `fdatasync`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SyncMethod {
    /// Writes to a file opened with `O_DSYNC`.
    OpenDatasync,
    /// `fdatasync` after the writes.
    Fdatasync,
    /// `fsync` after the writes.
    Fsync,
    /// `fsync` through the cache of the drive. Linux has none.
    FsyncWritethrough,
    /// Writes to a file opened with `O_SYNC`.
    OpenSync,
}

impl SyncMethod {
    /// All of them, in the order of preference.
    pub const ALL: [Self; 5] =
        [Self::OpenDatasync, Self::Fdatasync, Self::Fsync, Self::FsyncWritethrough, Self::OpenSync];
    /// PostgreSQL's default on Linux.
    pub const DEFAULT: Self = Self::Fdatasync;

    /// Value of `wal_sync_method`.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenDatasync => "open_datasync",
            Self::Fdatasync => "fdatasync",
            Self::Fsync => "fsync",
            Self::FsyncWritethrough => "fsync_writethrough",
            Self::OpenSync => "open_sync",
        }
    }
}

/// What one operation of a test does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "test", rename_all = "snake_case")]
pub enum SyncAction {
    /// Writes blocks at the start of the file, and makes them durable by this method.
    Method {
        /// The method.
        method: SyncMethod,
        /// Blocks per operation: 1 or 2.
        writes: u32,
    },
    /// Writes 16 KiB in pieces of equal size to a file opened with `O_SYNC`.
    Pieces {
        /// Number of pieces: 1, 2, 4, 8 or 16.
        writes: u32,
    },
    /// Opens the file, writes a block, calls `fsync`, closes the file; then opens and closes it once more.
    WriteFsyncClose,
    /// Opens the file, writes a block, closes the file; then opens it again, calls `fsync`, closes it.
    WriteCloseFsync,
    /// Writes a block and makes nothing durable.
    Write,
    /// Threads that each write a block at their own place of the file and call `fdatasync`, as backends do that
    /// commit at the same time. An operation is one of one thread.
    Writers {
        /// Number of threads.
        writers: u32,
    },
    /// Writes the next block of 16 MiB and calls `fdatasync`. Preparing the file is not part of the time.
    Next {
        /// What is there before.
        state: FileState,
    },
}

impl SyncAction {
    /// Name of the test for users, as in pg_test_fsync where that has it.
    pub fn label(self) -> String {
        match self {
            Self::Method { method, writes: 1 } => method.name().to_owned(),
            Self::Method { method, writes } => format!("{}, {writes} writes", method.name()),
            Self::Pieces { writes } => format!("open_sync, {writes} x {} KiB", 16 / writes.max(1)),
            Self::WriteFsyncClose => "write, fsync, close".to_owned(),
            Self::WriteCloseFsync => "write, close, fsync".to_owned(),
            Self::Write => "write".to_owned(),
            Self::Writers { writers } => format!("fdatasync, {writers} writers"),
            Self::Next { state } => format!("fdatasync, {} file", state.name()),
        }
    }
}

/// One test, over all its blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SyncTest {
    /// What an operation does.
    #[serde(flatten)]
    pub action: SyncAction,
    /// Bytes per write.
    pub write_bytes: u64,
    /// Whether the page cache was bypassed (`O_DIRECT`), as pg_test_fsync does for `open_datasync` and `open_sync`;
    /// false if the file system refuses that, absent for tests that use the page cache.
    pub direct: Option<bool>,
    /// What was measured; absent if the test could not be executed.
    pub timing: Option<SyncTiming>,
    /// Why it could not be executed.
    pub unavailable: Option<String>,
}

/// Rate and latency of an operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SyncTiming {
    /// Operations completed.
    pub operations: u64,
    /// Time in which they were executed, in nanoseconds.
    pub duration_ns: u64,
    /// Operations per second of this time.
    pub rate_per_s: f64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Latency of an operation; of unsynced writes one in 16 is timed, because reading the clock takes a tenth of their
    /// time.
    pub latency: LatencySummary,
    /// 90th percentile of the latency in nanoseconds; absent with fewer than 100 samples beyond it.
    pub p90_ns: Option<u64>,
    /// The histogram as points (latency in nanoseconds, share of operations up to it from 0 to 1).
    pub distribution: Vec<(u64, f64)>,
    /// Operations per second of each complete block, in the order of the blocks.
    pub block_rates_per_s: Vec<f64>,
}

/// What is in a file where it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileState {
    /// The file ends there: each write makes it longer.
    Growing,
    /// Space reserved by `posix_fallocate`, which was never written.
    Allocated,
    /// Zeros, written and synced: a new WAL segment with `wal_init_zero = on`.
    ZeroFilled,
    /// Data, written and synced: a recycled WAL segment.
    Recycled,
}

impl FileState {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Growing, Self::Allocated, Self::ZeroFilled, Self::Recycled];

    /// Name for users.
    pub fn name(self) -> &'static str {
        match self {
            Self::Growing => "growing",
            Self::Allocated => "allocated",
            Self::ZeroFilled => "zero-filled",
            Self::Recycled => "recycled",
        }
    }
}

/// Kind of file system, by what can be known of a flush.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlaceKind {
    /// On block devices of this machine.
    Local,
    /// In memory: `tmpfs`, `ramfs`, a RAM disk.
    Memory,
    /// On another file system: `overlay`, `ecryptfs`.
    Stacked,
    /// Served by a process (FUSE).
    UserSpace,
    /// Served by another machine, or by the host of this virtual machine: NFS, CIFS, Ceph, 9p, virtiofs.
    Network,
    /// A type that is not known here.
    Unknown,
}

/// A block device below the directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SyncDevice {
    /// Name, for example `sda`.
    pub name: String,
    /// Cache as the kernel treats it (`queue/write_cache`): `write back` is flushed, `write through` is not.
    pub write_cache: Option<String>,
    /// Cache as a SCSI disk reports it (`scsi_disk/*/cache_type`).
    pub reported_cache: Option<String>,
    /// Whether it is a rotating disk. Absent for virtual devices, whose word on this means nothing.
    pub rotational: Option<bool>,
}

/// Facts of the directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SyncPlace {
    /// Storage as the kernel describes it.
    pub storage: Storage,
    /// Kind of the file system.
    pub kind: PlaceKind,
    /// Disks that hold it; empty if the kernel shows none.
    pub devices: Vec<SyncDevice>,
    /// Whether the test file had a name while it was written: some file systems do not sync files without one.
    pub named: bool,
}

/// What all disks of the machine booked while operations were executed, of this program and of all others. Loop
/// devices and device-mapper and md targets are not counted: what reaches a disk is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BookedWork {
    /// Operations executed.
    pub operations: u64,
    /// Bytes that they wrote.
    pub written_bytes: u64,
    /// Write requests booked.
    pub disk_writes: u64,
    /// Bytes booked as written.
    pub disk_written_bytes: u64,
    /// Flushes booked by disks whose cache is `write back`; absent if there is none, and before Linux 5.5.
    pub disk_flushes: Option<u64>,
}

/// A large amount, written through the page cache and then synced once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BulkSync {
    /// What disks booked from the first write to the end of the sync.
    pub booked: BookedWork,
    /// Duration of the writes, in nanoseconds.
    pub write_ns: u64,
    /// Duration of `fdatasync` after them, in nanoseconds.
    pub sync_ns: u64,
    /// How much more of memory was dirty or under writeback after the sync than before the first write, in bytes
    /// (`/proc/meminfo`); negative if less.
    pub dirty_after_sync_bytes: Option<i64>,
    /// The same after the file was truncated, which discards its pages in every cache.
    pub dirty_after_truncation_bytes: Option<i64>,
}

/// A finding for or against the claim that synced data is durable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SyncEvidence {
    /// For: disks booked the writes, and flushes if their caches need them.
    Booked(BookedWork),
    /// For: syncing a large amount took as long as a device needs at least.
    BulkReachedDisks(BulkSync),
    /// Against: the file system is in memory.
    InMemory,
    /// Against: syncs were acknowledged that no disk of the machine booked as a write.
    NoWrites(BookedWork),
    /// Against: disks booked writes, and hardly any flush, although their caches are `write back`.
    NoFlushes(BookedWork),
    /// Against: after the sync the data was still dirty in memory, until the file was truncated.
    StaysDirty(BulkSync),
    /// Against: a large amount was synced faster than any device can write, and disks booked only part of it.
    InstantBulk(BulkSync),
    /// Against: a write with its sync is about as fast as one without.
    FreeSync {
        /// Operations per second with `fdatasync`.
        rate_per_s: f64,
        /// Operations per second without.
        unsynced_rate_per_s: f64,
    },
    /// Against: faster than a request can travel to a device and back.
    ImplausibleLatency {
        /// Mean latency of a write with `fdatasync`.
        latency_ns: f64,
        /// The least that is plausible.
        least_ns: f64,
    },
    /// Against: faster than a rotating disk without a cache that survives power loss.
    FasterThanRotation {
        /// Operations per second with `fdatasync`.
        rate_per_s: f64,
        /// The most that is plausible.
        most_per_s: f64,
    },
    /// Against: the kernel sends no flushes to a device that reports a volatile cache.
    FlushesWithheld(SyncDevice),
}

/// What was found of the claim that synced data is durable. Nothing of this is a proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SyncVerdict {
    /// Everything that can be seen from here is as it must be.
    Plausible,
    /// Something is not as it must be.
    Suspicious,
    /// Too little can be seen from here.
    CannotTell,
}

/// A verdict with its evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SyncJudgement {
    /// The verdict.
    pub verdict: SyncVerdict,
    /// All findings, those against it first.
    pub evidence: Vec<SyncEvidence>,
    /// What cannot be seen from here, each a sentence.
    pub unknown: Vec<String>,
    /// What would prove it, a sentence.
    pub what_would_prove: String,
}

/// A ratio of two rates, measured in blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateRatio {
    /// The method whose rate is divided by.
    pub of: SyncMethod,
    /// Geometric mean over the blocks.
    pub ratio: f64,
    /// Confidence interval, lower and upper end; absent with fewer than three blocks.
    pub interval: Option<(f64, f64)>,
}

/// Which `wal_sync_method` to choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChoiceOutcome {
    /// The method is faster than the default, or is the default and faster than all others.
    Faster,
    /// No method differs from the default by more than the margin in its favour: keep the default.
    NoDifference,
    /// More blocks are needed.
    CannotTell,
}

/// The choice among methods by their rates with one write per operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MethodChoice {
    /// The outcome.
    pub outcome: ChoiceOutcome,
    /// The method to use; the default unless another one is faster.
    pub method: SyncMethod,
    /// The method with the highest mean rate.
    pub fastest: SyncMethod,
    /// The fastest over the second; absent if there is only one.
    pub to_second: Option<RateRatio>,
    /// The fastest over the default; absent if the default is the fastest.
    pub to_default: Option<RateRatio>,
    /// Number of blocks.
    pub blocks: u64,
    /// About how many blocks decide, if their scatter stays the same; absent if it is decided, or unknown.
    pub blocks_needed: Option<u64>,
}

/// Why a measurement is not complete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SyncIncomplete {
    /// What was measured when it ended.
    pub during: String,
    /// The error, or the reason of the stop.
    pub why: String,
    /// Whether it was stopped on request; otherwise it failed.
    pub stopped: bool,
}

/// Result of measuring synchronous writes in a directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SyncReport {
    /// The directory and what holds it.
    pub place: SyncPlace,
    /// Size of the test file in bytes.
    pub file_bytes: u64,
    /// Duration of each test in each block, in nanoseconds.
    pub test_duration_ns: u64,
    /// Number of blocks.
    pub blocks: u32,
    /// The tests of pg_test_fsync in its order, then those with several writers and with other states of the file.
    pub tests: Vec<SyncTest>,
    /// What disks booked during the tests with `fdatasync`.
    pub booked: Option<BookedWork>,
    /// Syncing a large amount; absent if not requested.
    pub bulk: Option<BulkSync>,
    /// Which method to choose; absent if too little was measured.
    pub choice: Option<MethodChoice>,
    /// Whether synced data can be believed to be durable.
    pub judgement: SyncJudgement,
    /// Why it is not complete; absent if it is.
    pub incomplete: Option<SyncIncomplete>,
}
