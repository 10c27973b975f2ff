//! One measured interval, one run of a cell, and a cell over all its blocks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Counts, Estimate, LatencyRanges, LatencySummary, Outage, SlowAttempt};
use crate::{
    facts::{DurabilityTier, RunDurability},
    measure::{TpccCell, TpccRun},
    observe::Digest,
    tpcc::Shares,
};

/// One of the two subjects of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Arm {
    /// The baseline.
    A,
    /// The candidate.
    B,
}

impl Arm {
    /// Both, A first.
    pub const BOTH: [Self; 2] = [Self::A, Self::B];

    /// The letter of the arm.
    pub fn letter(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
        }
    }

    /// The other arm.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }

    /// Index in a list of both.
    pub fn index(self) -> usize {
        usize::from(self == Self::B)
    }
}

/// The default protocol of a plan.
const USUAL_PROTOCOL: &str = "prepared";

/// What a run measured: a script at a client count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Workload {
    /// Name of the script, for example `tpcb-like`, or of the workload.
    pub script: String,
    /// Name of the built-in script of a workload that has a name of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub builtin: Option<String>,
    /// Query protocol: `simple`, `extended` or `prepared`.
    pub protocol: String,
    /// Client count.
    pub clients: u32,
    /// Requested rate in transactions per second; `None` is a closed loop.
    pub rate_per_s: Option<f64>,
    /// Name of the subject, if there are several; absent if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
}

/// The runs of each cell that are measurements, cells in the order of their first run.
pub fn runs_by_cell(runs: &[CellRun]) -> Vec<(&Workload, Vec<&CellRun>)> {
    let mut cells: Vec<(&Workload, Vec<&CellRun>)> = Vec::new();
    for run in runs.iter().filter(|run| !run.ended_by_outage) {
        match cells.iter_mut().find(|(workload, _)| **workload == run.workload) {
            Some((_, runs)) => runs.push(run),
            None => cells.push((&run.workload, vec![run])),
        }
    }
    cells
}

impl Workload {
    /// Name of the script, that of the built-in one if it is one.
    pub fn script_name(&self) -> &str {
        self.builtin.as_deref().unwrap_or(&self.script)
    }

    /// Name of the script, with the protocol in parentheses if it is not `prepared`: one script may run over several
    /// protocols.
    pub fn title(&self) -> String {
        match self.protocol.as_str() {
            USUAL_PROTOCOL => self.script.clone(),
            other => format!("{} ({other})", self.script),
        }
    }

    /// Name of the cell: `script/clients` or `script (simple)/clients`, preceded by the subject if there are several.
    /// It is unique within a run.
    pub fn cell(&self) -> String {
        let whose = self.subject.as_ref().map(|whose| format!("{whose} ")).unwrap_or_default();
        format!("{whose}{}/{}", self.title(), self.clients)
    }
}

/// One second (or a power of two of them) of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Index of the run in `run.json`'s `runs`.
    pub run: u32,
    /// Start of the interval in nanoseconds since the due time of the run's first attempt.
    pub start_ns: u64,
    /// Length in nanoseconds.
    pub duration_ns: u64,
    /// Whether the interval belongs to the warm-up.
    pub warm_up: bool,
    /// Attempts by outcome.
    pub counts: Counts,
    /// Latency of the attempts that committed within the interval.
    pub latency: Option<LatencySummary>,
}

/// CPU time used during a measured interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuUse {
    /// CPU seconds of pgdyno's worker threads.
    pub driver_s: f64,
    /// CPU seconds of all processes of the server; `None` if they cannot be observed (another host).
    pub server_s: Option<f64>,
    /// CPU use of the busiest worker thread, 0 to 1.
    pub busiest_worker: f64,
    /// Share of the machine's CPU time given to other guests by the hypervisor (steal), 0 to 1.
    pub steal: Option<f64>,
    /// CPUs used by other programs on this machine, on average; `None` if the server's use cannot be observed.
    pub others_cpus: Option<f64>,
    /// Seconds that threads of the server and pgdyno's worker threads were ready to run and waited for a CPU, summed
    /// over all threads (the run delay in `schedstat`); `None` if the server cannot be observed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited_s: Option<f64>,
    /// The part of `waited_s` that is pgdyno's; absent if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver_waited_s: Option<f64>,
}

/// Where the pages of a run came from, according to measured reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ServedFrom {
    /// Practically all pages were found in shared buffers.
    SharedBuffers,
    /// Pages were read from the operating system, practically none from the device.
    PageCache,
    /// Pages were read from the device.
    Disk,
    /// Reads below shared buffers could not be observed.
    BelowBuffersUnknown,
}

/// Page and byte counts of a measured interval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IoUse {
    /// Blocks found in shared buffers (`pg_stat_database.blks_hit`).
    pub blocks_hit: u64,
    /// Blocks requested from the operating system (`pg_stat_database.blks_read`).
    pub blocks_read: u64,
    /// Bytes that the server's processes read from a device (`/proc/PID/io`), if observable.
    pub device_read_bytes: Option<u64>,
    /// Bytes that all processes wrote to the devices under data, WAL and tablespaces; absent where no
    /// observer read the devices. What the kernel books to processes is no measure of it: see
    /// [`SyncCheck::booked_per_byte`](super::SyncCheck::booked_per_byte).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_written_bytes: Option<u64>,
    /// WAL written, in bytes.
    pub wal_bytes: Option<u64>,
    /// Whether the control file showed a new checkpoint at the end: 1 is at least one, 0 none.
    pub checkpoints: Option<u64>,
}

/// Whether the throughput of a run was steady.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "verdict")]
pub enum SteadyVerdict {
    /// No trend and no different first part: the mean may be quoted as a rate.
    Steady,
    /// A fitted line rises or falls by more than 5 % of the mean over the interval.
    Trending {
        /// Change over the interval as a share of the mean.
        change: f64,
    },
    /// The first part differs from the rest: the warm-up was too short.
    NotSteady {
        /// Seconds from the start that would have to be discarded.
        cut_s: f64,
        /// Their TPS over that of the rest, less 1; absent for a run without commits.
        #[serde(skip_serializing_if = "Option::is_none")]
        change: Option<f64>,
    },
    /// Fewer than 10 windows of one second.
    TooShort,
}

impl SteadyVerdict {
    /// The verdict as the end of a sentence about throughput.
    pub fn words(&self) -> String {
        match self {
            Self::Steady => "steady".into(),
            Self::Trending { change } => format!("a trend of {:+.1} % over the interval", change * 100.0),
            Self::NotSteady { cut_s, change } => {
                let by = change.map(|change| format!(" by {:+.1} %", change * 100.0)).unwrap_or_default();
                format!("the first {cut_s:.0} s differ from the rest{by}")
            }
            Self::TooShort => "the interval is shorter than 10 s".into(),
        }
    }
}

/// Latency of one statement of a script over a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatementSummary {
    /// The statement as written in the script.
    pub statement: String,
    /// From sending to the answer.
    pub latency: Option<LatencySummary>,
}

/// One of several scripts over a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScriptRun {
    /// Name of the script.
    pub name: String,
    /// Attempts that completed within the measured interval.
    pub committed: u64,
    /// Completed attempts that their script rolled back.
    pub rolled_back: u64,
    /// Attempts that failed within the measured interval.
    pub failed: u64,
    /// Retries of completed and failed attempts, after serialization failures and deadlocks.
    pub retries: u64,
    /// 90th percentile of `latency` in nanoseconds; absent with fewer than 1,000 samples.
    pub p90_ns: Option<u64>,
    /// Latency of completed attempts, including those completed in the drain.
    pub latency: Option<LatencySummary>,
}

impl ScriptRun {
    /// Adds the counts of another block. Latency is not added here; it comes from histograms.
    pub fn add(&mut self, other: &Self) {
        self.committed += other.committed;
        self.rolled_back += other.rolled_back;
        self.failed += other.failed;
        self.retries += other.retries;
    }
}

/// One of several sets of tables that a run drove at one time. The figures of the run are the sums over all sets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SetRun {
    /// Its schema or database.
    pub name: String,
    /// Number of warehouses in its tables.
    pub warehouses: u64,
    /// Clients that drove it.
    pub clients: u32,
    /// Number of the driver process, from 1; absent if pgdyno drove it itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<u32>,
    /// Attempts of the measured interval by outcome.
    pub counts: Counts,
    /// Attempts of the whole run.
    pub counts_whole: Counts,
    /// Commits per second within the measured interval.
    pub tps: f64,
    /// New-Orders per minute that were not rolled back.
    pub nopm: Option<f64>,
    /// Latency of the committed attempts that fell due in the measured interval.
    pub latency: Option<LatencySummary>,
    /// The five transactions.
    pub scripts: Vec<ScriptRun>,
    /// Whether the NURand constant of its load is known.
    pub load_constant_known: bool,
    /// Counts of inputs of the executed transactions.
    pub shares: Shares,
    /// The first error of each kind, with its count over the whole run.
    pub errors: Vec<ErrorCount>,
}

/// Retries of transactions after serialization failures and deadlocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Retries {
    /// Most tries of a transaction; 0 is any number.
    pub max_tries: u32,
    /// Tries beyond the first, of attempts that ended within the measured interval.
    pub retries: u64,
}

/// One run: one cell in one block, from warm-up to drain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellRun {
    /// Block, from 0.
    pub block: u32,
    /// What was measured.
    pub workload: Workload,
    /// Start of the measured interval in seconds since the start of pgdyno's run.
    pub start_s: f64,
    /// Length of the warm-up in nanoseconds.
    pub warmup_ns: u64,
    /// Length of the measured interval in nanoseconds.
    pub duration_ns: u64,
    /// Attempts of the measured interval by outcome.
    pub counts: Counts,
    /// Attempts of the whole run, including warm-up and drain: nothing is in flight at either end.
    pub counts_whole: Counts,
    /// Commits per second within the measured interval.
    pub tps: f64,
    /// Rows that the statements of committed attempts returned or changed within the measured interval, as the server
    /// reported them; absent if they were not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// Latency of the committed attempts that fell due in the measured interval, including those that ended in the
    /// drain after it. In a closed loop an attempt is due when it begins.
    pub latency: Option<LatencySummary>,
    /// The largest latency of each second of the measured interval, and of the drain: the ten largest, the largest
    /// first. Empty if they are not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slowest_seconds_ns: Vec<u64>,
    /// Longest time within the measured interval in which no client committed, in nanoseconds; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest_silence_ns: Option<u64>,
    /// Lag behind the schedule (begin − scheduled); `None` in a closed loop, which has none by definition.
    pub lag: Option<LatencySummary>,
    /// Statements of the script in order.
    pub statements: Vec<StatementSummary>,
    /// Scripts in order, if there are several; absent for a single one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scripts: Vec<ScriptRun>,
    /// How TPC-C was executed; absent for other workloads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tpcc: Option<TpccRun>,
    /// The sets of tables, if several were driven at one time; absent for one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sets: Vec<SetRun>,
    /// TPC-C New-Orders per minute that were not rolled back; absent for other workloads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nopm: Option<f64>,
    /// Retries; absent if transactions are tried once. TPC-C has them by script.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<Retries>,
    /// The five slowest attempts of `latency`, the slowest first.
    pub slowest: Vec<SlowAttempt>,
    /// Time from the first connection attempt to the last established connection, in nanoseconds.
    pub connect_ns: u64,
    /// CPU time.
    pub cpu: CpuUse,
    /// Pages and bytes; `None` if the server's counters could not be read.
    pub io: Option<IoUse>,
    /// Where the pages came from.
    pub served_from: Option<ServedFrom>,
    /// Whether throughput was steady.
    pub steady: SteadyVerdict,
    /// The first error of each kind, with its count over the whole run.
    pub errors: Vec<ErrorCount>,
    /// State of the plan's own tables right before the run, after its reset; absent if the plan has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_state: Option<DataState>,
    /// Seconds spent restoring and inspecting the data, before or after the run; absent if neither happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reset_s: Option<f64>,
    /// Seconds of the CHECKPOINT before the run, if one was needed, plus with several subjects the one after it; absent
    /// if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint_s: Option<f64>,
    /// Durability of acknowledged commits in this run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub durability: Option<RunDurability>,
    /// Wait events of the clients' sessions; absent if they were not sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits: Option<Waits>,
    /// What observers saw of host and processes within the measured interval; absent if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed: Option<Box<Digest>>,
    /// Lost and re-established connections; absent if none was lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outage: Option<Outage>,
    /// Whether the server was gone at the end and did not come back. Only the last run of a record can have ended so.
    /// It is no measurement: no mean, noise floor or verdict counts it, and `pgdyno resume` measures its block again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ended_by_outage: bool,
    /// Activity of the idle servers of other subjects; absent if there are none on this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle: Option<IdleServers>,
}

/// Activity of idle servers, from the end of the previous run to the end of this one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IdleServers {
    /// CPUs used on average by all of them together.
    pub cpus: f64,
    /// Bytes that their processes asked the kernel to write (`wchar` of `/proc/PID/io`); absent if none is observable.
    pub written_bytes: Option<u64>,
}

/// Activity of the clients' sessions, sampled from `pg_stat_activity` during a measured interval.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Waits {
    /// Number of samples, at most ten per second.
    pub looks: u64,
    /// Sessions seen, over all samples.
    pub sessions: u64,
    /// Activities, the most frequent first.
    pub events: Vec<WaitCount>,
}

/// How often sessions were seen in one activity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitCount {
    /// Type and name of the wait event in the server's terms, such as `LWLock:WALWrite`; `running` for a session that
    /// waited for nothing, `client` for one whose client had not sent anything yet, `not seen` for one whose state the
    /// server hides.
    pub event: String,
    /// Sessions seen in it, over all samples.
    pub count: u64,
}

impl Waits {
    /// Adds a sample: activities with the number of sessions in each.
    pub fn add(&mut self, seen: impl IntoIterator<Item = WaitCount>) {
        self.looks += 1;
        seen.into_iter().for_each(|one| self.count(one));
        self.sort();
    }

    /// Adds the samples of another run.
    pub fn merge(&mut self, other: &Self) {
        self.looks += other.looks;
        other.events.iter().cloned().for_each(|one| self.count(one));
        self.sort();
    }

    fn count(&mut self, seen: WaitCount) {
        if seen.count == 0 {
            return;
        }
        self.sessions += seen.count;
        match self.events.iter_mut().find(|known| known.event == seen.event) {
            Some(known) => known.count += seen.count,
            None => self.events.push(seen),
        }
    }

    /// Sorts by frequency, then by name.
    fn sort(&mut self) {
        self.events.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.event.cmp(&b.event)));
    }
}

/// State of the plan's own tables as a run found it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DataState {
    /// Number of tables, counting each partition.
    pub tables: u64,
    /// Counted rows of all tables; absent if the tables are too large to count before every run.
    pub rows: Option<u64>,
    /// Size of tables and indexes in bytes.
    pub size_bytes: u64,
}

/// An error with its count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorCount {
    /// SQLSTATE; or `connection` for a broken one, `connect` for a failed reconnect, `protocol`, `rollback`.
    pub code: String,
    /// Message of the first one.
    pub message: String,
    /// Number of occurrences.
    pub count: u64,
    /// Longest time from the due time of an attempt to the server's error, in nanoseconds; absent if the connection was
    /// lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest_ns: Option<u64>,
}

/// What a transaction moved on average over all blocks; absent values were not observed in some block.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MovedPerTransaction {
    /// Rows that its statements returned or changed.
    pub rows: Option<f64>,
    /// Blocks that the server requested from the operating system.
    pub blocks_read: Option<f64>,
    /// Bytes that the server's processes read from a device, rounded.
    pub device_read_bytes: Option<u64>,
    /// Bytes that were written to the devices, rounded.
    pub device_written_bytes: Option<u64>,
    /// Bytes of WAL, rounded.
    pub wal_bytes: Option<u64>,
}

/// A cell over all its blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellSummary {
    /// What was measured.
    pub workload: Workload,
    /// SQL statements per transaction without BEGIN and END: QPS is this times TPS. Absent if it varies between
    /// transactions: several scripts, or branches.
    pub statements_per_transaction: Option<u32>,
    /// Scripts in order over all blocks, if there are several; absent for a single one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scripts: Vec<ScriptRun>,
    /// TPC-C results; absent for other workloads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tpcc: Option<TpccCell>,
    /// Retries over all blocks; absent if transactions are tried once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<Retries>,
    /// Transactions per second over the blocks.
    pub tps: Estimate,
    /// SQL statements per second without BEGIN and END: `tps` times the factor; absent without the factor.
    pub qps: Option<Estimate>,
    /// Rows per second that statements returned or changed, over the blocks; absent if they were not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows_per_s: Option<Estimate>,
    /// What a transaction moved.
    pub moved: MovedPerTransaction,
    /// Latency over all blocks (histograms added). Percentiles that attempts without a start could change are absent.
    pub latency: Option<LatencySummary>,
    /// Longest time within the measured interval of any block in which no client committed, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest_silence_ns: Option<u64>,
    /// How far its percentiles differ between the blocks; absent with a single block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ranges: Option<LatencyRanges>,
    /// Pairs of latency in nanoseconds and quantile, for the distribution chart.
    pub distribution: Vec<(u64, f64)>,
    /// Attempts that did not commit, as a share of those that fell due.
    pub miss_rate: f64,
    /// CPU microseconds of the driver per transaction.
    pub driver_cpu_us_per_transaction: Option<f64>,
    /// CPU microseconds of the server per transaction.
    pub server_cpu_us_per_transaction: Option<f64>,
    /// CPUs used by the driver on average.
    pub driver_cpus: f64,
    /// CPUs used by the server on average.
    pub server_cpus: Option<f64>,
    /// Where the pages came from: the slowest source of any block.
    pub served_from: Option<ServedFrom>,
    /// The weakest durability tier of its runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub durability: Option<DurabilityTier>,
    /// Wait events of the clients' sessions over all blocks; absent if they were not sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits: Option<Waits>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_one_script_over_several_protocols_have_distinct_names() {
        let of = |protocol: &str| Workload {
            script: "select-only".into(),
            builtin: None,
            protocol: protocol.into(),
            clients: 4,
            rate_per_s: None,
            subject: Some("pg=18".into()),
        };
        let names = ["prepared", "simple", "extended"].map(|protocol| of(protocol).cell());
        let expected =
            ["pg=18 select-only/4", "pg=18 select-only (simple)/4", "pg=18 select-only (extended)/4"];
        assert_eq!(names, expected);
    }
}
