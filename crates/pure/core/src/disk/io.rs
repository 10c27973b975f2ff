//! Reads and writes at depth: what was asked of the storage, and what it gave.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{measure::Latency, observe::DeviceSample, problem::Problem};

/// Order of the offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IoOrder {
    /// Block after block; each job in its own part of the file, again from the start of the part at its end. Reads and
    /// writes of a mix have a position each.
    Sequential,
    /// Uniformly distributed blocks, with replacement (fio's `norandommap`).
    Random,
}

/// What the page cache does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IoCache {
    /// Bypassed (`O_DIRECT`).
    Direct,
    /// Used, and free of the file at the start.
    Cold,
    /// Used, with the whole file in it at the start.
    Cached,
}

/// How operations are kept in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IoMethod {
    /// By io_uring, on one thread for each job.
    IoUring,
    /// By `pread(2)` and `pwrite(2)`, on one thread for each operation in flight.
    Threads,
}

/// How many files the jobs use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IoFiles {
    /// One for all jobs.
    Shared,
    /// One for each job.
    OneEach,
}

/// What is asked of the storage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IoPattern {
    /// Name for people, such as `random read`.
    pub name: String,
    /// Order of the offsets.
    pub order: IoOrder,
    /// Share of reads among reads and writes, from 0 (writes only) to 1 (reads only).
    pub read_share: f64,
    /// Bytes of an operation: a multiple of 512, from 4 KiB to 1 MiB.
    pub block_bytes: u32,
    /// Operations that each job keeps in flight, from 1 to 1,024.
    pub depth: u16,
    /// Jobs that run at the same time, from 1 to 256.
    pub jobs: u16,
    /// Whether the jobs share a file.
    pub files: IoFiles,
    /// Size of each file in bytes: a multiple of the block size.
    pub file_bytes: u64,
    /// What the page cache does.
    pub cache: IoCache,
    /// How operations are kept in flight.
    pub method: IoMethod,
    /// After how many writes each job calls `fdatasync(2)`; absent: never.
    pub sync_after_writes: Option<u32>,
    /// After how many written bytes each job asks the kernel to write them back (`sync_file_range(2)`), as
    /// PostgreSQL's `checkpoint_flush_after`; absent: never.
    pub write_back_after_bytes: Option<u32>,
    /// Whether the files are made durable at the end, with `fdatasync(2)`, which is timed apart.
    pub sync_at_end: bool,
    /// CPUs that the jobs are bound to, one each, from the first again when there are more jobs; all if empty.
    pub cpus: Vec<u32>,
}

impl IoPattern {
    /// Random reads by one job with io_uring, past the page cache, in one file.
    pub fn random_read(block_bytes: u32, depth: u16, file_bytes: u64) -> Self {
        Self {
            name: "random read".to_owned(),
            order: IoOrder::Random,
            read_share: 1.0,
            block_bytes,
            depth,
            jobs: 1,
            files: IoFiles::Shared,
            file_bytes,
            cache: IoCache::Direct,
            method: IoMethod::IoUring,
            sync_after_writes: None,
            write_back_after_bytes: None,
            sync_at_end: false,
            cpus: Vec::new(),
        }
    }
}

/// A latency distribution, from submission to completion, in nanoseconds. A percentile with fewer than 100 samples
/// beyond it is absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IoLatency {
    /// Arithmetic mean.
    pub mean_ns: f64,
    /// Median.
    pub p50_ns: Option<u64>,
    /// 90th percentile.
    pub p90_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// 99.9th percentile.
    pub p999_ns: Option<u64>,
    /// 99.99th percentile.
    pub p9999_ns: Option<u64>,
    /// Longest.
    pub max_ns: u64,
}

impl IoLatency {
    /// The figures of a histogram, and of the sum of its samples in nanoseconds; `None` without samples.
    pub fn of(latency: &Latency, total_ns: u64) -> Option<Self> {
        Some(Self {
            max_ns: latency.max_ns()?,
            mean_ns: total_ns as f64 / latency.count() as f64,
            p50_ns: latency.quantile_ns(0.50),
            p90_ns: latency.quantile_ns(0.90),
            p99_ns: latency.quantile_ns(0.99),
            p999_ns: latency.quantile_ns(0.999),
            p9999_ns: latency.quantile_ns(0.9999),
        })
    }
}

/// Operations of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IoFigures {
    /// Operations that ended in the measured interval.
    pub count: u64,
    /// Operations per second (IOPS).
    pub rate_per_s: f64,
    /// Bytes per second; 0 for operations that move none by themselves.
    pub bytes_per_s: f64,
    /// Their latency.
    pub latency: IoLatency,
}

/// CPU time of the jobs in the measured interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IoCpu {
    /// CPU time of the jobs' threads in user mode, in seconds for each read or write.
    pub user_s_per_op: f64,
    /// CPU time of the jobs' threads in the kernel, in seconds for each read or write.
    pub system_s_per_op: f64,
    /// CPU time of the whole process, in seconds for each read or write. More than the two together where the kernel
    /// does work in threads that it starts for io_uring, as it does for syncs.
    pub process_s_per_op: f64,
    /// Context switches of the jobs' threads because they waited.
    pub voluntary_switches: u64,
    /// Context switches of the jobs' threads because another thread got the CPU.
    pub involuntary_switches: u64,
}

/// A block device below the file during the measured interval. It counts the requests of all programs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IoDevice {
    /// Means over the interval.
    #[serde(flatten)]
    pub mean: DeviceSample,
    /// Mean size of a completed read or write request in bytes; absent if there was none.
    pub request_bytes: Option<f64>,
}

/// Operations that ended within one second of the measured interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IoSecond {
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Syncs.
    pub syncs: u64,
    /// Bytes read and written.
    pub bytes: u64,
}

/// Whether the rate was steady, as in SNIA's Solid State Storage Performance Test Specification: in five rounds one
/// after the other, the rates lie within 20 % of their mean, and the line fitted to them changes by at most 10 % of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum SteadyState {
    /// All five rounds in a row, from here to the end, keep the limits.
    Steady {
        /// Seconds since the begin of the measured interval.
        from_s: f64,
    },
    /// The last five rounds break a limit.
    NotSteady {
        /// Largest less smallest rate of the last five rounds, over their mean.
        range: f64,
        /// Change of the fitted line over the last five rounds, over their mean.
        slope: f64,
    },
    /// Fewer than five rounds.
    TooShort,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum IoEnd {
    /// After the whole time.
    Complete,
    /// A stop was requested. The figures are those of the time until then.
    Stopped,
    /// An operation failed. The figures are those of the time until then.
    Failed {
        /// The operation, and the kernel's error.
        why: String,
    },
}

/// Something about a run that was not as requested, or that limits what it says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "about", rename_all = "snake_case")]
pub enum IoNote {
    /// io_uring is not to be had, so that a thread for each operation in flight took its place.
    ThreadsInstead {
        /// The kernel's error.
        why: String,
    },
    /// `O_DIRECT` is refused here, so that the page cache was used, and what it kept was read from memory.
    BufferedInstead {
        /// File system, and the kernel's error.
        why: String,
    },
    /// Random writes to a file that was not written twice before: an SSD may be faster than it stays.
    PreconditionSkipped,
    /// The files are in memory: no device was measured.
    InMemory,
    /// A loop device below keeps its file in the page cache, although the files on it bypass theirs.
    CachedBelow {
        /// The file behind the loop device.
        file: String,
    },
    /// Fewer CPUs than requested are there or allowed; jobs share these.
    FewerCpus {
        /// CPUs used.
        cpus: Vec<u32>,
    },
}

/// What was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IoReport {
    /// The directory or block device.
    pub path: String,
    /// What was asked of it; method and cache are those that were used.
    pub pattern: IoPattern,
    /// What was not as requested.
    pub notes: Vec<IoNote>,
    /// Determines offsets and contents.
    pub seed: u64,
    /// Time before the measured interval, in seconds.
    pub ramp_s: f64,
    /// Length of the measured interval in seconds.
    pub duration_s: f64,
    /// Reads; absent if none ended.
    pub reads: Option<IoFigures>,
    /// Writes; absent if none ended.
    pub writes: Option<IoFigures>,
    /// Calls of `fdatasync(2)`; absent if none ended.
    pub syncs: Option<IoFigures>,
    /// Calls of `sync_file_range(2)`; absent if none ended.
    pub write_backs: Option<IoFigures>,
    /// How long the sync at the end took, in seconds; absent if there was none.
    pub sync_at_end_s: Option<f64>,
    /// CPU time; absent if no read or write ended.
    pub cpu: Option<IoCpu>,
    /// The devices below, from the file system down to the disks; empty where the kernel shows none, and for a block
    /// device that is read directly.
    pub devices: Vec<IoDevice>,
    /// Every whole second.
    pub seconds: Vec<IoSecond>,
    /// Whether reads and writes per second were steady.
    pub steady: SteadyState,
    /// How the run ended.
    pub ended: IoEnd,
}

impl IoReport {
    /// Reads and writes per second.
    pub fn rate_per_s(&self) -> f64 {
        self.reads.iter().chain(&self.writes).map(|figures| figures.rate_per_s).sum()
    }

    /// The problem of a run in which an operation failed.
    pub fn failure(&self) -> Option<Problem> {
        let IoEnd::Failed { why } = &self.ended else { return None };
        let what = format!("could not measure {} in {}: {why}", self.pattern.name, self.path);
        let count: u64 = self.reads.iter().chain(&self.writes).map(|figures| figures.count).sum();
        let detail = format!("{count} reads and writes had ended within {:.1} s", self.duration_s);
        Some(Problem::could_not(what).detail(detail))
    }
}

/// One number of operations in flight.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SaturationPoint {
    /// Operations in flight: jobs times depth.
    pub in_flight: u32,
    /// Jobs.
    pub jobs: u16,
    /// Depth of each job.
    pub depth: u16,
    /// Reads and writes per second.
    pub rate_per_s: f64,
    /// Bytes read and written per second.
    pub bytes_per_s: f64,
    /// Mean latency of reads and writes in nanoseconds.
    pub latency_ns_mean: f64,
    /// 99th percentile of the kind that was more frequent, in nanoseconds.
    pub latency_ns_p99: Option<u64>,
}

/// Throughput and latency by operations in flight.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Saturation {
    /// The directory or block device.
    pub path: String,
    /// What was asked of the storage; depth and jobs are the limits of the sweep.
    pub pattern: IoPattern,
    /// What was not as requested.
    pub notes: Vec<IoNote>,
    /// In ascending order.
    pub curve: Vec<SaturationPoint>,
    /// Operations in flight beyond which throughput grows by less than 5 % over two doublings while latency grows;
    /// absent if it was not reached.
    pub knee: Option<u32>,
    /// `effective_io_concurrency` for this storage: operations in flight at the knee, at most 1,000. Absent without a
    /// knee, and for anything but random reads.
    pub effective_io_concurrency: Option<u32>,
    /// How the sweep ended.
    pub ended: IoEnd,
}

/// Costs of pages for PostgreSQL's planner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlannerCosts {
    /// Share of pages that come from the page cache, from 0 to 1.
    pub cached_share: f64,
    /// Number of blocks of measurements.
    pub blocks: u32,
    /// Mean milliseconds of a page that is read in sequence.
    pub sequential_page_ms: f64,
    /// Mean milliseconds of a page that is read in random order.
    pub random_page_ms: f64,
    /// `seq_page_cost`: the unit.
    pub seq_page_cost: f64,
    /// `random_page_cost`: geometric mean of the blocks' ratios.
    pub random_page_cost: f64,
    /// Lower end of its 95 % confidence interval; absent with fewer than three blocks.
    pub random_page_cost_low: Option<f64>,
    /// Upper end of its 95 % confidence interval; absent with fewer than three blocks.
    pub random_page_cost_high: Option<f64>,
}
