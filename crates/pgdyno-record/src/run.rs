//! `run.json`, version 1.

use std::borrow::Cow;

use pgdyno_analysis::{
    Doubt,
    noise::{Noise, by_script},
};
use pgdyno_core::{
    facts::{Choice, ConnectionFacts, HostFacts, ServerFacts, StorageFacts},
    measure::{Arm, CellRun, CellSummary, StatementSummary, SyncCheck},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    BalanceRecord, ComparisonRecord, ConsistencyRecord, HeldRecord, LoadRecord, MaterialRecord, SealRecord,
    StageRecord, SubjectsRecord, TimeRecord,
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
    /// Storage under the data directory, where it is on this machine.
    pub storage: Option<StorageFacts>,
    /// The short sync-write check of that storage.
    pub sync_check: Option<SyncCheck>,
    /// The server.
    pub server: Option<ServerFacts>,
    /// The way to the server, where it was already there.
    pub connection: Option<ConnectionFacts>,
    /// Values that were chosen from facts, each with its reason.
    pub choices: Vec<Choice>,
    /// Stages in order with their lengths.
    pub stages: Vec<StageRecord>,
    /// What the time went for; absent before the first run, and in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<TimeRecord>,
    /// The load.
    pub load: Option<LoadRecord>,
    /// Sizes, and what of them lay in shared buffers, before and after the runs; absent in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<HeldRecord>,
    /// What a plan brought of its own; absent where it brought nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub material: Option<MaterialRecord>,
    /// Every run of every cell, in the order they ran.
    pub runs: Vec<CellRun>,
    /// Every cell over its blocks; in a comparison over those of A and B that its result rests on, without the runs of
    /// A against A.
    pub cells: Vec<CellSummary>,
    /// The balance check.
    pub balance: Option<BalanceRecord>,
    /// The check of TPC-C's tables after the runs; absent where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consistency: Option<ConsistencyRecord>,
    /// What this machine could tell apart, all cells together.
    pub noise: Option<NoiseRecord>,
    /// The same for the cells of each script, which scatter differently.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub noise_by_script: Vec<ScriptNoise>,
    /// The comparison of two subjects; absent where there is only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<ComparisonRecord>,
    /// Several subjects side by side; absent where there is only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subjects: Option<SubjectsRecord>,
    /// What a run of `pgdyno pgbench` was asked for and came to in pgbench's terms; absent of other commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pgbench: Option<PgbenchRecord>,
    /// Reasons to distrust the result.
    pub doubts: Vec<Doubt>,
    /// Why the run stopped early.
    pub error: Option<String>,
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
    /// Whether the plan was meant for publication.
    pub thorough: bool,
    /// Mode of the balance check: `full`, `touched`, `sums` or `off`.
    pub balance_check: String,
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
    /// Whose runs they are, in a comparison; absent elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<Arm>,
    /// Name of the subject whose runs they are, where there are several; absent elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The figures.
    pub noise: NoiseRecord,
}

impl ScriptNoise {
    /// Those of all scripts, in the order of their first runs.
    pub fn of(runs: &[CellRun]) -> Vec<Self> {
        let found = by_script(runs).into_iter();
        found
            .map(|(of, noise)| Self {
                script: of.title(),
                arm: of.arm,
                subject: of.subject.clone(),
                noise: noise.into(),
            })
            .collect()
    }
}

impl From<Noise> for NoiseRecord {
    fn from(noise: Noise) -> Self {
        let Noise { between_blocks, degrees_of_freedom, smallest_difference } = noise;
        Self { between_blocks, degrees_of_freedom, smallest_difference }
    }
}

impl RunRecord {
    /// The runs that the cells sum up: all of them, of a comparison those of the blocks that its result rests on.
    pub fn counted_runs(&self) -> Cow<'_, [CellRun]> {
        let Some(comparison) = &self.comparison else { return Cow::Borrowed(&self.runs) };
        let counted = comparison.counted_blocks();
        Cow::Owned(self.runs.iter().filter(|run| counted.contains(&run.block)).cloned().collect())
    }
}
