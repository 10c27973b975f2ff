//! One measured interval, one run of a cell, and a cell over all its blocks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Counts, Estimate, LatencySummary, Outage, SlowAttempt};
use crate::{
    facts::{DurabilityTier, RunDurability},
    measure::{TpccCell, TpccRun},
};

/// One of the two subjects of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Arm {
    /// What is compared with.
    A,
    /// What is asked about.
    B,
}

impl Arm {
    /// Both, A first.
    pub const BOTH: [Self; 2] = [Self::A, Self::B];

    /// Its letter.
    pub fn letter(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
        }
    }

    /// The other one.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }

    /// Its place in a list of both.
    pub fn index(self) -> usize {
        usize::from(self == Self::B)
    }
}

/// The protocol that a plan has where it names none.
const USUAL_PROTOCOL: &str = "prepared";

/// What a run drove: a script at a number of clients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Workload {
    /// Name of the script, for example `tpcb-like`.
    pub script: String,
    /// Query protocol: `simple`, `extended` or `prepared`.
    pub protocol: String,
    /// Number of clients.
    pub clients: u32,
    /// Rate asked for in transactions per second; `None` is a closed loop.
    pub rate_per_s: Option<f64>,
    /// Name of the subject whose run it is, where there are several; absent where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
}

/// The runs of each cell, cells in the order of their first run.
pub fn runs_by_cell(runs: &[CellRun]) -> Vec<(&Workload, Vec<&CellRun>)> {
    let mut cells: Vec<(&Workload, Vec<&CellRun>)> = Vec::new();
    for run in runs {
        match cells.iter_mut().find(|(workload, _)| **workload == run.workload) {
            Some((_, runs)) => runs.push(run),
            None => cells.push((&run.workload, vec![run])),
        }
    }
    cells
}

impl Workload {
    /// The name of its script, with the protocol behind it where it is not the usual one, `prepared`: one script may
    /// run over several.
    pub fn title(&self) -> String {
        match self.protocol.as_str() {
            USUAL_PROTOCOL => self.script.clone(),
            other => format!("{} ({other})", self.script),
        }
    }

    /// Its name: `script/clients` or `script (simple)/clients`, with the subject before it where there are several. No
    /// two cells of a run share one.
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
    /// Start of the interval in nanoseconds since the run's first attempt was due.
    pub start_ns: u64,
    /// Length in nanoseconds.
    pub duration_ns: u64,
    /// Whether the interval belongs to the warm-up.
    pub warm_up: bool,
    /// Attempts.
    pub counts: Counts,
    /// Latency of the attempts that committed within the interval.
    pub latency: Option<LatencySummary>,
}

/// Processor time used during a measured interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuUse {
    /// Processor seconds of pgdyno's worker threads.
    pub driver_s: f64,
    /// Processor seconds of all processes of the server; `None` where they cannot be seen (another host).
    pub server_s: Option<f64>,
    /// Share of the time of the busiest worker thread that it was on a processor, 0 to 1.
    pub busiest_worker: f64,
    /// Share of the machine's processor time taken by the hypervisor for others, 0 to 1.
    pub steal: Option<f64>,
    /// Processors that other programs on this machine used on average; `None` where the server's use cannot be seen.
    pub others_cpus: Option<f64>,
}

/// Where the pages of a run came from, by measured reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ServedFrom {
    /// Practically every page was found in shared buffers.
    SharedBuffers,
    /// Pages were read from the operating system, practically none from the device.
    PageCache,
    /// Pages were read from the device.
    Disk,
    /// The server's reads could not be seen below its own buffers.
    BelowBuffersUnknown,
}

/// Pages and bytes moved during a measured interval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IoUse {
    /// Blocks found in shared buffers (`pg_stat_database.blks_hit`).
    pub blocks_hit: u64,
    /// Blocks asked of the operating system (`pg_stat_database.blks_read`).
    pub blocks_read: u64,
    /// Bytes that the server's processes fetched from a device (`/proc/PID/io`), where that can be seen.
    pub device_read_bytes: Option<u64>,
    /// WAL written, in bytes.
    pub wal_bytes: Option<u64>,
    /// Whether the control file showed another checkpoint at the end than at the start: 1 is at least one, 0 none.
    pub checkpoints: Option<u64>,
}

/// Whether the throughput of a run was steady.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "verdict")]
pub enum SteadyVerdict {
    /// No trend and no cut: the mean may be quoted as a rate.
    Steady,
    /// A fitted line rises or falls by more than 5 % of the mean over the interval.
    Trending {
        /// Change over the interval as a share of the mean.
        change: f64,
    },
    /// The first part differs from the rest: the warm-up was too short.
    NotSteady {
        /// Seconds from the start that would have to go.
        cut_s: f64,
    },
    /// Fewer than 10 windows of a second.
    TooShort,
}

/// Latency of one statement of a script over a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatementSummary {
    /// The statement as written in the script.
    pub statement: String,
    /// From its sending to its answer.
    pub latency: Option<LatencySummary>,
}

/// One of several scripts over a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScriptRun {
    /// Name of the script.
    pub name: String,
    /// Attempts that ran to their end within the measured interval.
    pub committed: u64,
    /// Those of them that their script itself rolled back.
    pub rolled_back: u64,
    /// Attempts that failed within it.
    pub failed: u64,
    /// Tries beyond the first of both, after serialization failures and deadlocks.
    pub retries: u64,
    /// 90th percentile of `latency` in nanoseconds; absent with fewer than 1,000 samples.
    pub p90_ns: Option<u64>,
    /// Latency of those that ran to their end, with those that did so in the drain.
    pub latency: Option<LatencySummary>,
}

impl ScriptRun {
    /// Adds the counts of another block; latency is added by histograms alone.
    pub fn add(&mut self, other: &Self) {
        self.committed += other.committed;
        self.rolled_back += other.rolled_back;
        self.failed += other.failed;
        self.retries += other.retries;
    }
}

/// One run: one cell in one block, from warm-up to drain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellRun {
    /// Block, from 0.
    pub block: u32,
    /// What was driven.
    pub workload: Workload,
    /// Start of the measured interval in seconds since the start of pgdyno's run.
    pub start_s: f64,
    /// Length of the warm-up in nanoseconds.
    pub warmup_ns: u64,
    /// Length of the measured interval in nanoseconds.
    pub duration_ns: u64,
    /// Attempts of the measured interval.
    pub counts: Counts,
    /// Attempts of the whole run, warm-up and drain included: nothing is in flight at either end.
    pub counts_whole: Counts,
    /// Commits within the measured interval per second.
    pub tps: f64,
    /// Latency of the committed attempts that were under way in the measured interval, also of those that ended in
    /// the drain after it.
    pub latency: Option<LatencySummary>,
    /// Lag behind the schedule (begin − scheduled); `None` in a closed loop, where there is none by definition.
    pub lag: Option<LatencySummary>,
    /// Statements of the script in order.
    pub statements: Vec<StatementSummary>,
    /// Its scripts in order, where there are several; absent of one alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scripts: Vec<ScriptRun>,
    /// How it drove TPC-C; absent of other workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tpcc: Option<TpccRun>,
    /// New-Orders a minute of TPC-C that were not rolled back; absent of other workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nopm: Option<f64>,
    /// The slowest five of `latency`, the slowest first. Runs recorded before these were kept have none.
    #[serde(default)]
    pub slowest: Vec<SlowAttempt>,
    /// Time from the first connection attempt to the last connection made, in nanoseconds.
    pub connect_ns: u64,
    /// Processor time.
    pub cpu: CpuUse,
    /// Pages and bytes; `None` where the server's counters could not be read.
    pub io: Option<IoUse>,
    /// Where the pages came from.
    pub served_from: Option<ServedFrom>,
    /// Whether throughput was steady.
    pub steady: SteadyVerdict,
    /// The first error of each kind, with how often it came, over the whole run.
    pub errors: Vec<ErrorCount>,
    /// The plan's own tables right before the run, after its reset; absent where the plan has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_state: Option<DataState>,
    /// Seconds in which the data was put back into its first state, before the run or after it, and looked at; absent
    /// where neither was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset_s: Option<f64>,
    /// Seconds of the CHECKPOINT before the run, where one was needed, and with several subjects of the one after it;
    /// absent where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint_s: Option<f64>,
    /// What an acknowledged commit of this run was worth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub durability: Option<RunDurability>,
    /// What its clients' sessions waited for; absent where nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Waits>,
    /// Connections that were lost and made again; absent where none was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outage: Option<Outage>,
    /// What the servers of the other subjects did meanwhile; absent where there are none on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<IdleServers>,
}

/// What servers did that had nothing to do, from the end of the run before to the end of this one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IdleServers {
    /// Processors that they used on average, all together.
    pub cpus: f64,
    /// Bytes that their processes handed to the kernel for a device (`write_bytes` of `/proc/PID/io`); absent where
    /// none lets itself be seen.
    pub written_bytes: Option<u64>,
}

/// What clients' sessions were doing whenever `pg_stat_activity` was looked at within a measured interval.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Waits {
    /// Looks, ten a second at the most.
    pub looks: u64,
    /// Sessions seen, over all looks.
    pub sessions: u64,
    /// What they were doing, the most frequent first.
    pub events: Vec<WaitCount>,
}

/// How often sessions were seen doing one thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitCount {
    /// Type and name of the wait event as the server calls it, such as `LWLock:WALWrite`; `running` for a session that
    /// waited for nothing, `client` for one whose client had not sent anything yet, `not seen` for one whose state the
    /// server does not tell.
    pub event: String,
    /// Sessions seen so, over all looks.
    pub count: u64,
}

impl Waits {
    /// Adds a look: what was seen, with the number of sessions each.
    pub fn add(&mut self, seen: impl IntoIterator<Item = WaitCount>) {
        self.looks += 1;
        seen.into_iter().for_each(|one| self.count(one));
        self.sort();
    }

    /// Adds those of another run.
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

    /// The most frequent first; those that are equally so by name.
    fn sort(&mut self) {
        self.events.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.event.cmp(&b.event)));
    }
}

/// What a run found in the plan's own tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DataState {
    /// Tables, partitions counted one by one.
    pub tables: u64,
    /// Rows in all of them, counted; absent where the tables are too large to be counted before every run.
    pub rows: Option<u64>,
    /// Size of tables and indexes in bytes.
    pub size_bytes: u64,
}

/// How often one kind of error came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorCount {
    /// SQLSTATE; or `connection` for one that broke, `connect` for one that could not be made again, `protocol`,
    /// `rollback`.
    pub code: String,
    /// Text of the first one.
    pub message: String,
    /// How many.
    pub count: u64,
    /// The longest time from the instant at which an attempt was due to the error that the server answered it with, in
    /// nanoseconds; absent where the connection was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_ns: Option<u64>,
}

/// A cell over all its blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellSummary {
    /// What was driven.
    pub workload: Workload,
    /// SQL statements per transaction without BEGIN and END: QPS is this times TPS. Absent where it is not the same for
    /// every transaction: several scripts, or branches.
    pub statements_per_transaction: Option<u32>,
    /// Its scripts in order, where there are several, over all blocks; absent of one alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scripts: Vec<ScriptRun>,
    /// What it came to as TPC-C; absent of other workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tpcc: Option<TpccCell>,
    /// Transactions per second over the blocks.
    pub tps: Estimate,
    /// SQL statements per second without BEGIN and END: `tps` times the factor; absent without it.
    pub qps: Option<Estimate>,
    /// Latency over all blocks (histograms added).
    pub latency: Option<LatencySummary>,
    /// Pairs of latency in nanoseconds and quantile, for the distribution chart.
    pub distribution: Vec<(u64, f64)>,
    /// Attempts that did not commit, over those that fell due.
    pub miss_rate: f64,
    /// Processor microseconds of the driver per transaction.
    pub driver_cpu_us_per_transaction: Option<f64>,
    /// Processor microseconds of the server per transaction.
    pub server_cpu_us_per_transaction: Option<f64>,
    /// Processors used by the driver on average.
    pub driver_cpus: f64,
    /// Processors used by the server on average.
    pub server_cpus: Option<f64>,
    /// Where the pages came from: the slowest source any block needed.
    pub served_from: Option<ServedFrom>,
    /// The weakest durability tier of its runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub durability: Option<DurabilityTier>,
    /// What its clients' sessions waited for, over all blocks; absent where nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Waits>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_one_script_over_several_protocols_have_names_of_their_own() {
        let of = |protocol: &str| Workload {
            script: "select-only".into(),
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
