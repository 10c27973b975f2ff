//! `run.json`, version 1.

use std::borrow::Cow;

use jiff::Timestamp;
use pgdyno_core::{
    disk::{CellCost, DeclaredStorage, DiskShare, NominalShare, PublishedFigure},
    facts::{Choice, Instrument},
    host::{Finding, Inventory, Storage},
    measure::{CellRun, CellSummary, StatementSummary, Workload},
    results::{CellLimits, Doubt},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ComparisonRecord, HostChangesRecord, JoinedRecord, LevelsRecord, ObserversRecord, OperationRecord,
    ProfileRecord, ResumedRecord, SealRecord, StageRecord, StartRecord, SubjectRecord, TimeRecord,
    ToolRecord, WorkloadFilesRecord,
};

/// Value of [`RunRecord::format`].
pub const FORMAT: &str = "pgdyno-run";
/// Value of [`RunRecord::version`].
pub const VERSION: u32 = 1;

/// Status of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The run is in progress, or was killed.
    Partial,
    /// The run was stopped by the user or by an error; its results so far are kept.
    Stopped,
    /// The run completed.
    Complete,
}

/// The record of a pgdyno run, which `list`, `show` and `report` read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunRecord {
    /// Always `pgdyno-run`.
    pub format: String,
    /// Version of this format.
    pub version: u32,
    /// Status of the run.
    pub status: Status,
    /// Name of the run directory.
    pub id: String,
    /// Version of pgdyno.
    pub tool: ToolRecord,
    /// The command line that repeats the run with the same seed.
    pub command: String,
    /// Start, RFC 3339 in UTC.
    pub started_at: String,
    /// End, RFC 3339 in UTC; absent during the run.
    pub finished_at: Option<String>,
    /// The plan as executed, with every `auto` resolved.
    pub plan: PlanRecord,
    /// The machine that pgdyno ran on, with the server and the storage of its first subject if they are on it.
    pub host: Box<Inventory>,
    /// What rules found dangerous or worth improving on that machine, by the rules of the pgdyno that analysed the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host_findings: Vec<Finding>,
    /// What of that machine was changed for the runs; absent if the plan says nothing of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_changes: Option<HostChangesRecord>,
    /// Storage of the first subject's data directory; absent if it is on another machine.
    pub storage: Option<Storage>,
    /// The driver's ceiling on this machine, as measured by `pgdyno selftest`; absent if it was never run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instrument: Option<Instrument>,
    /// The measured subjects; the first is the baseline.
    pub subjects: Vec<SubjectRecord>,
    /// Values chosen from facts, each with its reason.
    pub choices: Vec<Choice>,
    /// Stages in execution order with their durations.
    pub stages: Vec<StageRecord>,
    /// Breakdown of the elapsed time; absent before the first run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<TimeRecord>,
    /// SQL files of the plan; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub material: Option<WorkloadFilesRecord>,
    /// Starts of the servers, in a run with several subjects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub starts: Vec<StartRecord>,
    /// Operations on tables, in execution order: loads, copies, checks and probes. A benchmark's own load is in its
    /// subject.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<OperationRecord>,
    /// All runs of all cells, in execution order.
    pub runs: Vec<CellRun>,
    /// All cells, each summarised over its blocks; in a comparison over the blocks that the result is computed from.
    pub cells: Vec<CellSummary>,
    /// Noise floor of all cells together.
    pub noise: Option<NoiseRecord>,
    /// Noise floor of the cells of each script.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub noise_by_script: Vec<ScriptNoise>,
    /// The comparison of the second subject with the first in blocks; absent for other runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<ComparisonRecord>,
    /// Every subject compared with the baseline, level by level; absent with one subject, and for a comparison in
    /// blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub levels: Option<LevelsRecord>,
    /// Options and results of `pgdyno pgbench` in pgbench's terms; absent for other commands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pgbench: Option<PgbenchRecord>,
    /// What observed the run, and what that cost; absent if nothing did, and during the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observers: Option<ObserversRecord>,
    /// Profiles of the servers' processes, by cell or stage; absent if none were wanted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<ProfileRecord>,
    /// Files of `pgdyno observe` that were added to its observations afterwards.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub joined: Vec<JoinedRecord>,
    /// Published figures that a plan shows next to its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<PublishedFigure>,
    /// What the user declares of the storage.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub declared: Vec<DeclaredStorage>,
    /// What was declared, next to what was measured of it in this run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nominal_shares: Vec<NominalShare>,
    /// What transactions cost by declared prices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub costs: Vec<CellCost>,
    /// What cells used of the disks that were measured in this run; absent if none was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disk_shares: Vec<DiskShare>,
    /// What limits each cell; absent for records without runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<CellLimits>,
    /// Reasons to distrust the result.
    pub doubts: Vec<Doubt>,
    /// Why the run stopped early.
    pub error: Option<String>,
    /// Resumptions of the run after it was killed, stopped, or ended by an error.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resumed: Vec<ResumedRecord>,
    /// Digests that show whether the run was edited after it was written. Set by every write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seal: Option<SealRecord>,
}

/// The plan as executed. It contains no address, no user and no secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanRecord {
    /// Name of the plan.
    pub name: String,
    /// Description in one sentence.
    pub description: String,
    /// Seed of all random choices; 0 for operations, which make none but those of their load.
    pub seed: u64,
    /// TPC-B scale factor, or `:scale` of custom scripts. Absent if the plan has neither.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<u64>,
    /// Client counts.
    pub clients: Vec<u32>,
    /// Driver threads; connections of an operation.
    pub jobs: u32,
    /// Measured interval of a run in nanoseconds; 0 for operations.
    pub duration_ns: u64,
    /// Warm-up in nanoseconds.
    pub warmup_ns: u64,
    /// Number of blocks; 0 for operations.
    pub blocks: u32,
    /// Blocks from one start of the servers to the next; absent if they are started once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks_per_start: Option<u32>,
    /// Whether the runs of a comparison are slots: one after the other over connections that stay open, with no work on
    /// the servers between them.
    pub slots: bool,
    /// Whether runs had the order of the plan, rather than one in which a drift of the machine affects all levels
    /// alike.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub given_order: bool,
    /// Requested rate per second; absent for a closed loop.
    pub rate_per_s: Option<f64>,
    /// How workers with several clients wait for I/O: `io_uring` or `epoll`.
    pub waiting: Option<String>,
    /// CPUs of the driver; empty if it was not pinned.
    pub driver_cpus: Vec<u32>,
    /// CPUs of the server; empty if it was not pinned.
    pub server_cpus: Vec<u32>,
    /// Whether driver and server may have run on the same CPUs.
    pub cores_shared: bool,
    /// Whether this is a thorough run, for publication.
    pub thorough: bool,
    /// How to ask the command for a thorough run, with its duration: `--thorough (24 min)`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thorough_hint: Option<String>,
    /// Mode of the balance check: `full`, `touched`, `sums` or `off`.
    pub balance_check: String,
    /// SHA-256 of the whole request, including the texts of scripts: `pgdyno resume` requires the same request. Absent
    /// for runs that cannot be resumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// `own` or `external` server; `none` if commands start their own servers.
    pub server: String,
    /// Transport of the driver's connections: `unix` or `tcp`; `none` without a server.
    pub transport: String,
}

impl PlanRecord {
    /// A plan that drives no clients, needs no server and makes no random choice.
    pub fn new(name: &str, description: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            description: description.into(),
            seed: 0,
            scale: None,
            clients: Vec::new(),
            jobs: 0,
            duration_ns: 0,
            warmup_ns: 0,
            blocks: 0,
            blocks_per_start: None,
            slots: false,
            given_order: false,
            rate_per_s: None,
            waiting: None,
            driver_cpus: Vec::new(),
            server_cpus: Vec::new(),
            cores_shared: false,
            thorough: false,
            thorough_hint: None,
            balance_check: "off".to_owned(),
            digest: None,
            server: "none".to_owned(),
            transport: "none".to_owned(),
        }
    }
}

/// Noise floor of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoiseRecord {
    /// Standard deviation of ln(TPS) between blocks of the same cell, pooled over all cells, as a share.
    pub between_blocks: f64,
    /// Degrees of freedom of `between_blocks`.
    pub degrees_of_freedom: u32,
    /// The smallest significant difference between two cells at 95 %, as a share.
    pub smallest_difference: f64,
}

/// A run of `pgdyno pgbench` in pgbench's terms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PgbenchRecord {
    /// Scripts in the order of the command line.
    pub scripts: Vec<PgbenchScript>,
    /// Transactions per client (`-t`); absent if a duration was given.
    pub transactions_of_each_client: Option<u64>,
    /// Limit on the tries of a transaction after serialization failures or deadlocks (`--max-tries`); 0 is no limit.
    pub max_tries: u32,
    /// Latency limit in microseconds (`-L`).
    pub latency_limit_us: Option<u64>,
    /// Think time of a client between two transactions in nanoseconds.
    pub think_time_ns: u64,
    /// Transactions per connection; absent if connections last for the whole run.
    pub reconnect_after: Option<u64>,
    /// Transactions per second as in pgbench's summary: up to the end of the last transaction, not only within the
    /// measured interval.
    pub tps: Option<f64>,
    /// Retries.
    pub retries: u64,
    /// Transactions skipped because they were late.
    pub skipped: u64,
    /// Transactions over the latency limit; absent without one.
    pub late: Option<u64>,
}

/// A script of `pgdyno pgbench`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PgbenchScript {
    /// Name of a built-in script, or the file.
    pub name: String,
    /// Weight of the script.
    pub weight: u32,
    /// The content, with the values after `PASSWORD` redacted.
    pub text: String,
    /// Committed transactions, drain included.
    pub committed: u64,
    /// Failed transactions.
    pub failed: u64,
    /// Statements in script order.
    pub statements: Vec<StatementSummary>,
}

/// Noise floor of the cells of one script.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScriptNoise {
    /// Name of the script, followed by the protocol in brackets if it is not `prepared`.
    pub script: String,
    /// Name of the subject; absent if there is only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The noise floor.
    pub noise: NoiseRecord,
}

impl RunRecord {
    /// The record of a run that has begun on this machine with this plan, and has done nothing yet. What not every kind
    /// of run has is absent, and set by those that have it.
    pub fn begin(
        (id, started_at): (&str, &Timestamp),
        tool: ToolRecord,
        command: String,
        plan: PlanRecord,
        host: Inventory,
    ) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            status: Status::Partial,
            id: id.to_owned(),
            tool,
            command,
            started_at: started_at.to_string(),
            finished_at: None,
            plan,
            host: Box::new(host),
            host_findings: Vec::new(),
            host_changes: None,
            storage: None,
            instrument: None,
            subjects: Vec::new(),
            choices: Vec::new(),
            stages: Vec::new(),
            time: None,
            material: None,
            starts: Vec::new(),
            operations: Vec::new(),
            runs: Vec::new(),
            cells: Vec::new(),
            noise: None,
            noise_by_script: Vec::new(),
            comparison: None,
            levels: None,
            pgbench: None,
            observers: None,
            profiles: Vec::new(),
            joined: Vec::new(),
            published: Vec::new(),
            declared: Vec::new(),
            nominal_shares: Vec::new(),
            costs: Vec::new(),
            disk_shares: Vec::new(),
            limits: Vec::new(),
            doubts: Vec::new(),
            error: None,
            resumed: Vec::new(),
            seal: None,
        }
    }

    /// Index of a workload's subject; 0 if the workload names none.
    pub fn place_of(&self, workload: &Workload) -> Option<usize> {
        match &workload.subject {
            None => (!self.subjects.is_empty()).then_some(0),
            Some(name) => self.subjects.iter().position(|subject| subject.name == *name),
        }
    }

    /// The subject name in the runs of this subject; `None` if it is the only subject.
    pub fn name_in_runs(&self, place: usize) -> Option<&str> {
        let subject = self.subjects.get(place).filter(|_| self.subjects.len() > 1);
        subject.map(|subject| subject.name.as_str())
    }

    /// Index of the data directory, in the order of `servers` servers, that a server (by its index) had at this second
    /// of the run.
    pub fn data_of(&self, server: usize, at_s: f64, servers: usize) -> usize {
        let start = self.starts.iter().rev().find(|start| start.at_s <= at_s);
        let shift = start.and_then(|start| start.data_shift).unwrap_or(0);
        (server + shift as usize) % servers.max(1)
    }

    /// Index of the first run since the start or the last resumption.
    pub fn first_run_of_session(&self) -> usize {
        self.resumed.last().map_or(0, |last| last.first_run as usize)
    }

    /// Whether there is any result: an operation, a run, or a block of a comparison.
    pub fn measured_anything(&self) -> bool {
        let operated = self.operations.iter().any(OperationRecord::has_done_something);
        operated || !self.runs.is_empty() || self.comparison.as_ref().is_some_and(|ab| !ab.blocks.is_empty())
    }

    /// The names of all subjects.
    pub fn names(&self) -> Vec<&str> {
        self.subjects.iter().map(|subject| subject.name.as_str()).collect()
    }

    /// The runs that are measurements: all, or all but the last one if the server was gone at its end.
    pub fn measured_runs(&self) -> &[CellRun] {
        match self.runs.split_last() {
            Some((last, before)) if last.ended_by_outage => before,
            _ => &self.runs,
        }
    }

    /// The runs that the cells summarise: all that are measurements, or in a comparison those of the blocks that its
    /// result is computed from.
    pub fn counted_runs(&self) -> Cow<'_, [CellRun]> {
        let Some(comparison) = &self.comparison else { return Cow::Borrowed(self.measured_runs()) };
        let counted = comparison.counted_blocks();
        Cow::Owned(self.measured_runs().iter().filter(|run| counted.contains(&run.block)).cloned().collect())
    }
}
