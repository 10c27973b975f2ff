//! The plan: what a measuring command is going to do, before any fact of a machine is known.
//!
//! A plan is written by flags or by a TOML file, never by the record. What it leaves to facts is `Auto`;
//! the pure rules of [`crate::advice`] resolve it and give a reason for every value.

mod auto;
mod check;
mod check_work;
mod cpus;
mod duration;
mod keys;
mod load;
mod material;
mod parse;
mod scale;
mod subjects;
mod tpcc;
mod work;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use auto::Auto;
pub use check::{
    Fault, MAX_BLOCKS, MAX_CLIENT_COUNTS, MAX_CLIENTS, MAX_JOBS, MAX_RATE_PER_S, MAX_SCALE, MAX_WARMUP,
    MIN_DURATION, OLDEST_PG,
};
pub use check_work::{MAX_WORKLOADS, RESERVED};
pub use cpus::{CpuList, MAX_CPU, NotACpuList, cpus_in_words};
pub use duration::{NotASpan, Span};
pub use load::LoadingPlan;
pub use material::{Material, SqlText, Steps, Work};
pub use parse::MAX_PLAN_BYTES;
pub use scale::Scale;
pub use subjects::{MAX_SUBJECTS, SubjectPlan};
pub use tpcc::{Isolation, LOADED_AT_S, TpccPlan, TpccWork};
pub use work::{DataPlan, Given, ScaleupPlan, ScriptPlan, SizePlan, Source, Variables, WorkloadPlan};

/// The text of `plans/bench.toml`, the plan of `pgdyno bench`.
pub const BENCH_TOML: &str = include_str!("../../../../plans/bench.toml");

/// The JSON Schema (draft 2020-12) of a plan file, for editors and for publication.
pub fn schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(Plan);
    schema.insert("title".into(), "A plan of pgdyno".into());
    schema.to_value()
}

impl Plan {
    /// A plan with every default, and the given name and workloads.
    pub fn new(name: impl Into<String>, workload: Vec<WorkloadPlan>) -> Self {
        Self {
            name: name.into(),
            description: String::new(),
            seed: None,
            server: ServerPlan::default(),
            subject: Vec::new(),
            data: DataPlan::default(),
            load: LoadingPlan::default(),
            variables: Variables::new(),
            workload,
            measure: MeasurePlan::default(),
            size: BTreeMap::new(),
            check: CheckPlan::default(),
        }
    }

    /// The plan of `pgdyno bench` as `plans/bench.toml` writes it.
    pub fn bench() -> Self {
        let workload = |script| WorkloadPlan::builtin(script, Protocol::Prepared);
        let mut plan = Self::new("bench", vec![workload(Builtin::SelectOnly), workload(Builtin::TpcbLike)]);
        plan.description =
            "A first look: point reads, then TPC-B-like transactions, at three client counts.".into();
        plan
    }
}

/// An experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Name of the experiment; it becomes part of the run directory's name: 1 to 64 letters, digits, dots,
    /// dashes and underscores.
    #[schemars(length(min = 1, max = 64), regex(pattern = "^[A-Za-z0-9][A-Za-z0-9._-]*$"))]
    pub name: String,
    /// One sentence for the report.
    #[serde(default)]
    pub description: String,
    /// Seed of every random choice; drawn and printed where it is not given.
    #[serde(default)]
    pub seed: Option<u64>,
    /// The server to measure.
    #[serde(default)]
    pub server: ServerPlan,
    /// Several servers to measure in turn, the first being what the others are compared with. What one of them does not
    /// say, `[server]` says for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub subject: Vec<SubjectPlan>,
    /// The data to load.
    #[serde(default)]
    pub data: DataPlan,
    /// How tables are loaded.
    #[serde(default, skip_serializing_if = "LoadingPlan::is_default")]
    pub load: LoadingPlan,
    /// Variables that the plan's own SQL sees as `:name`, in the setup, in resets and in scripts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: Variables,
    /// What to drive, in this order.
    #[schemars(length(min = 1, max = 32))]
    pub workload: Vec<WorkloadPlan>,
    /// How to measure.
    #[serde(default)]
    pub measure: MeasurePlan,
    /// Sizes of the experiment by their names, chosen by `--size`; without it the rest of the plan holds.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub size: BTreeMap<String, SizePlan>,
    /// What to check afterwards.
    #[serde(default)]
    pub check: CheckPlan,
}

/// The server to measure. A server that is already there is named by flags and `PG*` variables, never in a
/// plan, so that a plan can be shown to anybody; without them one is made as these keys say.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ServerPlan {
    /// Major or exact version, for example `18` or `9.6.24`.
    pub pg: Option<String>,
    /// Name of a build that `pgdyno build` made.
    pub build: Option<String>,
    /// Directory of `initdb` and `postgres`.
    pub bindir: Option<String>,
    /// Data directory to create; it must be empty or absent.
    pub data: Option<String>,
    /// Directory for WAL, apart from the data directory.
    pub waldir: Option<String>,
    /// Data checksums.
    pub data_checksums: Option<bool>,
    /// Settings over those chosen from facts.
    pub settings: BTreeMap<String, String>,
    /// Processors for the server, for example `0-3,8`.
    pub cpus: Option<String>,
}

/// A built-in transaction (pgbench's names).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Builtin {
    /// Three updates, a select and an insert in one transaction.
    TpcbLike,
    /// `tpcb-like` without the updates of tellers and branches.
    SimpleUpdate,
    /// The select alone.
    SelectOnly,
}

impl Builtin {
    /// All of them, in pgbench's order.
    pub const ALL: [Self; 3] = [Self::TpcbLike, Self::SimpleUpdate, Self::SelectOnly];

    /// The name as pgbench spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::TpcbLike => "tpcb-like",
            Self::SimpleUpdate => "simple-update",
            Self::SelectOnly => "select-only",
        }
    }

    /// Whether it writes.
    pub fn writes(self) -> bool {
        self != Self::SelectOnly
    }

    /// Whether every transaction updates the row of a branch, of which there are as many as the scale says: fewer
    /// branches than clients make these wait for each other.
    pub fn updates_branches(self) -> bool {
        self == Self::TpcbLike
    }
}

/// How statements are sent (pgbench's `--protocol`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// One Query message with the values in its text.
    Simple,
    /// Parse, Bind and Execute for every statement.
    Extended,
    /// Parse once a session, then Bind and Execute.
    Prepared,
}

impl Protocol {
    /// The name as pgbench spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Simple => "simple",
            Self::Extended => "extended",
            Self::Prepared => "prepared",
        }
    }
}

fn prepared() -> Protocol {
    Protocol::Prepared
}

/// How the driver waits for its connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Waiting {
    /// By io_uring where this kernel has what that needs (Linux 6.1) and allows it, else by epoll.
    #[default]
    Auto,
    /// By io_uring: one system call sends and receives for all connections of a thread.
    IoUring,
    /// By epoll: a system call for every message, and one for every wait.
    Epoll,
}

/// How to measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MeasurePlan {
    /// Client counts from 1 to 100,000, each a cell of every workload. `auto`: one, twice and eight times the
    /// processors.
    pub clients: Auto<Vec<u32>>,
    /// Worker threads of the driver, 1 to 1,024. `auto`: one for each of its processors, never more than
    /// clients.
    pub jobs: Auto<u32>,
    /// Measured interval of a run.
    pub duration: Span,
    /// Warm-up before it, not measured.
    pub warmup: Span,
    /// How often every cell runs, in interleaved blocks: 1 to 1,000.
    #[schemars(range(min = 1, max = 1000))]
    pub blocks: u32,
    /// Rate in transactions per second for an open loop, above 0; absent is a closed loop.
    #[schemars(range(max = 1e12))]
    pub rate: Option<f64>,
    /// Processors for the driver, for example `0`.
    pub driver_cpus: Option<String>,
    /// How workers with more than one client wait for them.
    pub waiting: Waiting,
    /// Marks a plan as meant for publication: no screening doubt, stricter looks.
    pub thorough: bool,
}

impl Default for MeasurePlan {
    fn default() -> Self {
        Self {
            clients: Auto::Auto,
            jobs: Auto::Auto,
            duration: Span::from_millis(5_000),
            warmup: Span::from_millis(1_500),
            blocks: 3,
            rate: None,
            driver_cpus: None,
            waiting: Waiting::Auto,
            thorough: false,
        }
    }
}

/// How the balances are checked after runs that write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BalanceCheckMode {
    /// Full while the accounts fit in memory, else touched.
    Auto,
    /// Every account, teller and branch.
    Full,
    /// The keys found in history and a sample of the others.
    Touched,
    /// Not at all.
    Off,
}

/// What to check afterwards.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CheckPlan {
    /// The balance check.
    pub balance: BalanceCheckMode,
    /// Whether TPC-C's conditions of consistency are looked at after all runs.
    pub consistency: bool,
}

impl Default for CheckPlan {
    fn default() -> Self {
        Self { balance: BalanceCheckMode::Auto, consistency: true }
    }
}
