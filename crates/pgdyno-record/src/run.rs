//! `run.json`, version 1.

use std::borrow::Cow;

use pgdyno_core::{
    facts::{Choice, HostFacts, Instrument, StorageFacts},
    measure::{CellRun, CellSummary, StatementSummary, Workload},
    results::Doubt,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ComparisonRecord, LevelsRecord, MaterialRecord, ResumedRecord, SealRecord, StageRecord, SubjectRecord,
    TimeRecord,
};

/// Value of [`RunRecord::format`].
pub const FORMAT: &str = "pgdyno-run";
/// Value of [`RunRecord::version`].
pub const VERSION: u32 = 1;

/// How far a run came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// It is running, or was killed.
    Partial,
    /// It was stopped by the user or by an error; what was measured is kept.
    Stopped,
    /// It reached its end.
    Complete,
}

/// One run of pgdyno: all that `list`, `show` and `report` read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunRecord {
    /// Always `pgdyno-run`.
    pub format: String,
    /// Version of this format.
    pub version: u32,
    /// How far the run came.
    pub status: Status,
    /// Name of the run directory.
    pub id: String,
    /// What measured.
    pub tool: ToolRecord,
    /// The exact command line that runs it again, with the seed.
    pub command: String,
    /// Start, RFC 3339 in UTC.
    pub started_at: String,
    /// End, RFC 3339 in UTC; absent while it runs.
    pub finished_at: Option<String>,
    /// The plan as it was carried out, every `auto` resolved.
    pub plan: PlanRecord,
    /// The machine that pgdyno ran on.
    pub host: HostFacts,
    /// Storage under the data of the first subject, where it is on this machine.
    pub storage: Option<StorageFacts>,
    /// What the driver can do at most on this machine, as `pgdyno selftest` found; absent where it was never run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instrument: Option<Instrument>,
    /// What was measured: one, or several beside the first.
    pub subjects: Vec<SubjectRecord>,
    /// Values that were chosen from facts, each with its reason.
    pub choices: Vec<Choice>,
    /// Stages in order with their lengths.
    pub stages: Vec<StageRecord>,
    /// What the time went for; absent before the first run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<TimeRecord>,
    /// What a plan brought of its own; absent where it brought nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub material: Option<MaterialRecord>,
    /// Every run of every cell, in the order they ran.
    pub runs: Vec<CellRun>,
    /// Every cell over its blocks; in a comparison over those of A and B that its result rests on, without the runs of
    /// A against A.
    pub cells: Vec<CellSummary>,
    /// What this machine could tell apart, all cells together.
    pub noise: Option<NoiseRecord>,
    /// The same for the cells of each script, which scatter differently.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub noise_by_script: Vec<ScriptNoise>,
    /// The comparison of the second subject with the first in blocks; absent where that was not the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<ComparisonRecord>,
    /// Every subject beside the first, level by level; absent where there is one, and of a comparison in blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub levels: Option<LevelsRecord>,
    /// What a run of `pgdyno pgbench` was asked for and came to in pgbench's terms; absent of other commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pgbench: Option<PgbenchRecord>,
    /// Reasons to distrust the result.
    pub doubts: Vec<Doubt>,
    /// Why the run stopped early.
    pub error: Option<String>,
    /// Every time that the run was resumed after it had been killed, stopped, or ended by an error.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resumed: Vec<ResumedRecord>,
    /// What shows that the run was edited after it was written. Set whenever it is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seal: Option<SealRecord>,
}

/// What measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolRecord {
    /// Version of pgdyno.
    pub version: String,
    /// Commit it was built from; `unknown` outside a checkout.
    pub commit: String,
}

/// The plan as it was carried out. It holds no address, no user and no secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanRecord {
    /// Name.
    pub name: String,
    /// One sentence.
    pub description: String,
    /// Seed of every random choice.
    pub seed: u64,
    /// TPC-B scale factor; of a script of one's own, what it sees as `:scale`. Absent where a plan has no such tables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<u64>,
    /// Client counts.
    pub clients: Vec<u32>,
    /// Worker threads of the driver.
    pub jobs: u32,
    /// Measured interval of a run in nanoseconds.
    pub duration_ns: u64,
    /// Warm-up in nanoseconds.
    pub warmup_ns: u64,
    /// Blocks.
    pub blocks: u32,
    /// Rate asked for; absent is a closed loop.
    pub rate_per_s: Option<f64>,
    /// How workers with more than one client waited for them: `io_uring` or `epoll`.
    pub waiting: Option<String>,
    /// Processors of the driver; empty is any.
    pub driver_cpus: Vec<u32>,
    /// Processors of the server; empty is any.
    pub server_cpus: Vec<u32>,
    /// Whether driver and server may have run on the same processors.
    #[serde(default)]
    pub cores_shared: bool,
    /// Whether the plan was meant for publication.
    pub thorough: bool,
    /// The flag that makes the run fit for publication, and how long it takes then: `--thorough (24 min)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thorough_hint: Option<String>,
    /// Mode of the balance check: `full`, `touched`, `sums` or `off`.
    pub balance_check: String,
    /// SHA-256 of all that was asked for, the texts of scripts included: `pgdyno resume` goes on with the same alone.
    /// Absent of runs that cannot be resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Where the server was: `own` or `external`; `none` where commands bring their own.
    pub server: String,
    /// Transport of the driver's connections: `unix` or `tcp`; `none` without a server.
    pub transport: String,
}

/// What this machine could tell apart in this run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoiseRecord {
    /// Standard deviation of ln(TPS) between blocks of the same cell, pooled over all cells, as a share.
    pub between_blocks: f64,
    /// Degrees of freedom of that figure.
    pub degrees_of_freedom: u32,
    /// The smallest difference between two such cells that would stand out at 95 %, as a share.
    pub smallest_difference: f64,
}

/// A run of `pgdyno pgbench` in pgbench's terms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PgbenchRecord {
    /// The scripts in the order of the command line.
    pub scripts: Vec<PgbenchScript>,
    /// Transactions of each client; absent where a time was given.
    pub transactions_of_each_client: Option<u64>,
    /// Most tries of a transaction that meets serialization failures or deadlocks; 0 is no limit.
    pub max_tries: u32,
    /// Microseconds from which on a transaction is late.
    pub latency_limit_us: Option<u64>,
    /// Pause of a client between two transactions, in nanoseconds.
    pub think_time_ns: u64,
    /// Transactions over one connection; absent where a connection lasts for the run.
    pub reconnect_after: Option<u64>,
    /// Transactions a second as pgbench's summary counts them: up to the end of the last one, not within the measured
    /// interval alone.
    pub tps: Option<f64>,
    /// Tries beyond the first.
    pub retries: u64,
    /// Transactions that were left out as too late.
    pub skipped: u64,
    /// Transactions over the latency limit; absent without one.
    pub late: Option<u64>,
}

/// One script of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PgbenchScript {
    /// Name of a built-in script, or the file.
    pub name: String,
    /// Its weight among the scripts.
    pub weight: u32,
    /// What stands in it; what follows `PASSWORD` is cut.
    pub text: String,
    /// Transactions that committed, drain included.
    pub committed: u64,
    /// Transactions that failed.
    pub failed: u64,
    /// Its statements in order.
    pub statements: Vec<StatementSummary>,
}

/// What this machine could tell apart among the cells of one script.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScriptNoise {
    /// Name of the script, with the protocol behind it in brackets where that is not `prepared`.
    pub script: String,
    /// Name of the subject whose runs they are, where there are several; absent elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The figures.
    pub noise: NoiseRecord,
}

impl RunRecord {
    /// Place of the subject of a workload in the list: the first where it names none.
    pub fn place_of(&self, workload: &Workload) -> Option<usize> {
        match &workload.subject {
            None => (!self.subjects.is_empty()).then_some(0),
            Some(name) => self.subjects.iter().position(|subject| subject.name == *name),
        }
    }

    /// The name that runs of a subject bear: none where it is the only one.
    pub fn name_in_runs(&self, place: usize) -> Option<&str> {
        let subject = self.subjects.get(place).filter(|_| self.subjects.len() > 1);
        subject.map(|subject| subject.name.as_str())
    }

    /// Index of the first run since the experiment was begun or resumed.
    pub fn first_run_of_session(&self) -> usize {
        self.resumed.last().map_or(0, |last| last.first_run as usize)
    }

    /// Whether there is any result: a run, or a block of a comparison.
    pub fn measured_anything(&self) -> bool {
        !self.runs.is_empty() || self.comparison.as_ref().is_some_and(|ab| !ab.blocks.is_empty())
    }

    /// The names of all subjects in order.
    pub fn names(&self) -> Vec<&str> {
        self.subjects.iter().map(|subject| subject.name.as_str()).collect()
    }

    /// The runs that the cells sum up: all of them, of a comparison those of the blocks that its result rests on.
    pub fn counted_runs(&self) -> Cow<'_, [CellRun]> {
        let Some(comparison) = &self.comparison else { return Cow::Borrowed(&self.runs) };
        let counted = comparison.counted_blocks();
        Cow::Owned(self.runs.iter().filter(|run| counted.contains(&run.block)).cloned().collect())
    }
}
