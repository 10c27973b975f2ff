//! The host: processors, memory, devices, network, file systems.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The whole host over one second.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostSample {
    /// All CPUs together.
    pub all: CpuShares,
    /// Each CPU that was online all the time, in the order of `/proc/stat`.
    pub cpus: Vec<CpuSample>,
    /// Threads ready to run or running, at the end of the time.
    pub running: Option<u64>,
    /// Threads in uninterruptible sleep, at the end of the time.
    pub blocked: Option<u64>,
    /// Seconds per second that threads waited for a CPU, summed over CPUs (`/proc/schedstat`).
    pub run_delay: Option<f64>,
    /// Context switches per second.
    pub context_switches_per_s: Option<f64>,
    /// Pressure stall information; absent on kernels without it.
    pub pressure: Option<Pressure>,
    /// Memory, at the end of the time.
    pub memory: Option<MemorySample>,
    /// Network interfaces, the loopback included.
    pub networks: Vec<NetworkSample>,
    /// File systems of a server's data, WAL and tablespaces.
    pub file_systems: Vec<FileSystemSample>,
}

/// One CPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuSample {
    /// Its number.
    pub cpu: u32,
    /// What it did.
    #[serde(flatten)]
    pub shares: CpuShares,
}

/// Shares of CPU time, each from 0 to 1; together at most 1, the rest is idle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuShares {
    /// User space, including `nice`.
    pub user: f64,
    /// The kernel, without interrupts.
    pub system: f64,
    /// Hardware interrupts.
    pub irq: f64,
    /// Software interrupts: network and block completions.
    pub softirq: f64,
    /// Idle with outstanding block I/O.
    pub iowait: f64,
    /// Given to other guests by the hypervisor.
    pub steal: f64,
}

impl CpuShares {
    /// Share of the time in which it worked for this machine.
    pub fn busy(&self) -> f64 {
        self.user + self.system + self.irq + self.softirq
    }
}

/// Shares of time, each from 0 to 1, in which tasks were stalled (`/proc/pressure`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pressure {
    /// At least one task waited for a CPU.
    pub cpu_some: Option<f64>,
    /// At least one task waited for I/O.
    pub io_some: Option<f64>,
    /// All tasks that were not idle waited for I/O.
    pub io_full: Option<f64>,
    /// At least one task waited for memory.
    pub memory_some: Option<f64>,
    /// All tasks that were not idle waited for memory.
    pub memory_full: Option<f64>,
}

/// Memory in bytes (`/proc/meminfo`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemorySample {
    /// Available without swapping.
    pub available_bytes: u64,
    /// The page cache.
    pub cached_bytes: u64,
    /// Pages to be written back.
    pub dirty_bytes: u64,
    /// Pages being written back.
    pub writeback_bytes: u64,
    /// Swap in use.
    pub swap_used_bytes: u64,
}

/// A network interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkSample {
    /// Its name, such as `eth0`.
    pub interface: String,
    /// Bytes received per second.
    pub received_bytes_per_s: f64,
    /// Bytes sent per second.
    pub sent_bytes_per_s: f64,
    /// Packets that were dropped or faulty, in both directions.
    pub lost_packets: u64,
}

/// What a server keeps in a place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// The data directory.
    Data,
    /// The write-ahead log.
    Wal,
    /// A tablespace, by its name.
    Tablespace(String),
}

/// The room of a file system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileSystemSample {
    /// What is kept on it.
    pub places: Vec<Place>,
    /// Its mount point.
    pub mounted_on: String,
    /// Its size.
    pub total_bytes: u64,
    /// Free for the server's user.
    pub free_bytes: u64,
}

/// A block device over one second (`/proc/diskstats`, computed as by `iostat -x`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceSample {
    /// Its name, such as `nvme0n1`.
    pub device: String,
    /// What is kept on it.
    pub places: Vec<Place>,
    /// Completed reads per second.
    pub reads_per_s: f64,
    /// Completed writes per second.
    pub writes_per_s: f64,
    /// Completed flushes per second; absent on kernels before 5.5.
    pub flushes_per_s: Option<f64>,
    /// Bytes read per second.
    pub read_bytes_per_s: f64,
    /// Bytes written per second.
    pub written_bytes_per_s: f64,
    /// Mean time of a read in milliseconds, queueing included; absent if there was none.
    pub read_await_ms: Option<f64>,
    /// Mean time of a write in milliseconds, queueing included; absent if there was none.
    pub write_await_ms: Option<f64>,
    /// Mean time of a flush in milliseconds; absent if there was none.
    pub flush_await_ms: Option<f64>,
    /// Reads per second that were merged into others.
    pub read_merges_per_s: f64,
    /// Writes per second that were merged into others.
    pub write_merges_per_s: f64,
    /// Mean number of requests in flight.
    pub queue: f64,
    /// Share of time with a request in flight, from 0 to 1. Says little about devices that serve many at once.
    pub utilisation: f64,
}
