//! The processes of a server, by their role.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The processes of a server over one second.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessSample {
    /// Sums by role, the busiest first.
    pub roles: Vec<RoleSample>,
    /// Processes in uninterruptible sleep at the end of the time; at most 20.
    pub stuck: Vec<StuckProcess>,
    /// Largest resident set of one process; proportional memory of all of them would be expensive to read.
    pub largest_resident_bytes: Option<u64>,
}

/// What a process of a server does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A session of a client that is driven.
    Client,
    /// A session of pgdyno that observes or administers.
    Observer,
    /// A worker of a parallel query or index build.
    ParallelWorker,
    /// The checkpointer.
    Checkpointer,
    /// The background writer.
    BackgroundWriter,
    /// The WAL writer.
    WalWriter,
    /// The autovacuum launcher and its workers.
    Autovacuum,
    /// An I/O worker (18 and later).
    IoWorker,
    /// Sends WAL to a standby.
    WalSender,
    /// Receives or replays WAL.
    Recovery,
    /// The archiver.
    Archiver,
    /// The postmaster, logger, statistics collector and all others.
    Other,
    /// What processes used after they were read for the last time, because they ended; which they were is unknown.
    Ended,
}

impl Role {
    /// All processes of this role in a word or two, for a line of a live view. Reports have longer words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Client => "clients",
            Self::Observer => "pgdyno's own",
            Self::ParallelWorker => "parallel workers",
            Self::Checkpointer => "checkpointer",
            Self::BackgroundWriter => "background writer",
            Self::WalWriter => "WAL writer",
            Self::Autovacuum => "autovacuum",
            Self::IoWorker => "I/O workers",
            Self::WalSender => "WAL senders",
            Self::Recovery => "recovery",
            Self::Archiver => "archiver",
            Self::Other => "others",
            Self::Ended => "ended meanwhile",
        }
    }
}

/// All processes of one role.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoleSample {
    /// Their role.
    pub role: Role,
    /// How many there were at the end of the time, or the most at any reading.
    pub processes: u64,
    /// CPUs used, on average.
    pub cpus: f64,
    /// CPUs used by the busiest of them.
    pub busiest_cpus: f64,
    /// Seconds per second that they were ready to run and waited for a CPU; absent on kernels that do not count it.
    pub run_delay: Option<f64>,
    /// Bytes per second that they asked the kernel to read, the page cache included ("Total" of iotop).
    pub asked_read_bytes_per_s: Option<f64>,
    /// Bytes per second that they asked the kernel to write.
    pub asked_written_bytes_per_s: Option<f64>,
    /// Bytes per second fetched from a device for them ("Actual" of iotop).
    pub device_read_bytes_per_s: Option<f64>,
    /// Bytes per second that they caused to be written to a device.
    pub device_written_bytes_per_s: Option<f64>,
    /// How many were in uninterruptible sleep, as a mean of all readings.
    pub stuck: f64,
    /// How many of those the kernel made wait because too many pages were dirty, or that waited behind one of these to
    /// write to the same file, where it shows in which function they sleep.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttled: Option<f64>,
}

/// A process in uninterruptible sleep (state D).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StuckProcess {
    /// Its process id.
    pub pid: u32,
    /// Its role.
    pub role: Role,
    /// The function of the kernel in which it sleeps, where that can be read.
    pub wchan: Option<String>,
    /// Its kernel stack, where that can be read.
    pub stack: Option<String>,
}
