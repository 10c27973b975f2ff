//! The stages of a plan: loading, operations on tables and storage, driving, in the order of the file.

use std::path::PathBuf;

use pgdyno_core::{disk::IoPreset, facts::amount, probe::CountBy, span::Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most stages of a plan.
pub(super) const MAX_STAGES: usize = 64;
/// Default number of repetitions of a timed statement.
const REPEATS: u64 = 3;
/// Default number of rows of a first touch.
const LIMIT: u64 = 10;
/// Default numbers of parallel workers of counts.
const PARALLEL: [u64; 3] = [0, 1, 2];

/// A stage of a plan. The keys other than `do` and `tables` are those of the command of that name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StagePlan {
    /// What is done: `load` and `drive` once each, operations anywhere.
    #[serde(rename = "do")]
    pub action: Action,
    /// Names of tables as in SQL. Default: all tables for `prewarm`, `probe depth` and `probe sizes`, the
    /// largest for other probes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["pgbench_accounts"]]))]
    pub tables: Vec<String>,
    /// Whether statements that rewrite the whole table are timed as well (`probe ddl`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewrite: Option<bool>,
    /// Whether changes are committed, which leaves dropped columns in the tables (`probe ddl`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<bool>,
    /// Sessions that vacuum the partitions of a table at the same time, 1 to 1,000 (`probe ddl`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000))]
    pub sessions: Option<u64>,
    /// Rows to read, 1 to 1,000,000 (`probe first-touch`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub limit: Option<u64>,
    /// Whether files are dropped from the page cache before each session (`probe first-touch`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cold: Option<bool>,
    /// How often each statement or count is timed, 1 to 1,000 (`probe ddl`, `probe count`, `probe first-touch`,
    /// `probe partitions`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000))]
    pub repeats: Option<u64>,
    /// Scans to count with (`probe count`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-expects" = "a list of \"index\" and \"seq\", such as [\"index\", \"seq\"]"))]
    pub by: Option<Vec<CountBy>>,
    /// Numbers of parallel workers, 0 to 1,024 each (`probe count`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(inner(range(max = 1_024)))]
    #[schemars(extend("x-expects" = "a list of whole numbers, such as [0, 2, 4]"))]
    pub parallel: Option<Vec<u64>>,
    /// Whether tables larger than shared buffers are read, too (`prewarm`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anyway: Option<bool>,
    /// Whether extensions may be created in an existing database (`prewarm`, `probe depth`); in an own one they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub create_extension: Option<bool>,
    /// Directories that are measured one after the other (`disk sync`, `disk io`, `disk costs`). Default: the data
    /// directory of the server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["/mnt/a", "/mnt/b"]]))]
    pub dirs: Vec<PathBuf>,
    /// Length of a test or of a measured interval (`disk sync`, `disk io`, `disk costs`, `disk clock`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["10s"]))]
    pub interval: Option<Span>,
    /// How often everything is repeated, 1 to 1,000 (`disk sync`, `disk costs`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000))]
    pub blocks: Option<u32>,
    /// Most threads that write and sync at the same time, 1 to 64 (`disk sync`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 64))]
    pub writers: Option<u32>,
    /// Reads and writes as PostgreSQL has them (`disk io`). Default: random reads of 8 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<IoPreset>,
    /// Size of a file, such as "16GB" (`disk io`, `disk costs`). Default: that of the preset, or 1 GiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["1GB"]))]
    pub file_size: Option<String>,
    /// Whether more and more operations are kept in flight until throughput grows no more (`disk io`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saturate: Option<bool>,
}

/// Actions that repeat what they time.
const TIMED: [Action; 4] =
    [Action::ProbeDdl, Action::ProbeCount, Action::ProbeFirstTouch, Action::ProbePartitions];

/// Actions that measure storage or the clock.
const STORAGE: [Action; 4] = [Action::DiskSync, Action::DiskIo, Action::DiskCosts, Action::DiskClock];

/// What a stage does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Action {
    /// Loads and sets up the tables of the plan.
    #[serde(rename = "load")]
    Load,
    /// Compares the tables with what they must hold.
    #[serde(rename = "verify")]
    Verify,
    /// Reads tables into shared buffers.
    #[serde(rename = "prewarm")]
    Prewarm,
    /// Times DDL, ANALYZE and VACUUM; changes are rolled back.
    #[serde(rename = "probe ddl")]
    ProbeDdl,
    /// Times `count(*)`.
    #[serde(rename = "probe count")]
    ProbeCount,
    /// Times the first rows in new sessions.
    #[serde(rename = "probe first-touch")]
    ProbeFirstTouch,
    /// Measures what partitions cost a session.
    #[serde(rename = "probe partitions")]
    ProbePartitions,
    /// Measures the depths of indexes.
    #[serde(rename = "probe depth")]
    ProbeDepth,
    /// Measures sizes.
    #[serde(rename = "probe sizes")]
    ProbeSizes,
    /// Times synchronous writes.
    #[serde(rename = "disk sync")]
    DiskSync,
    /// Measures reads and writes at depth.
    #[serde(rename = "disk io")]
    DiskIo,
    /// Measures what pages cost for the planner.
    #[serde(rename = "disk costs")]
    DiskCosts,
    /// Measures the cost of a timer call.
    #[serde(rename = "disk clock")]
    DiskClock,
    /// Runs the workloads.
    #[serde(rename = "drive")]
    Drive,
}

impl Action {
    /// Whether it may take from a moment to hours, for reasons that no estimate knows.
    pub fn is_of_unknown_length(self) -> bool {
        match self {
            Self::Prewarm
            | Self::ProbeDdl
            | Self::ProbeCount
            | Self::ProbeFirstTouch
            | Self::ProbePartitions
            | Self::DiskSync
            | Self::DiskIo
            | Self::DiskCosts => true,
            Self::Load
            | Self::Verify
            | Self::ProbeDepth
            | Self::ProbeSizes
            | Self::DiskClock
            | Self::Drive => false,
        }
    }

    /// Name in plans and records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Verify => "verify",
            Self::Prewarm => "prewarm",
            Self::ProbeDdl => "probe ddl",
            Self::ProbeCount => "probe count",
            Self::ProbeFirstTouch => "probe first-touch",
            Self::ProbePartitions => "probe partitions",
            Self::ProbeDepth => "probe depth",
            Self::ProbeSizes => "probe sizes",
            Self::DiskSync => "disk sync",
            Self::DiskIo => "disk io",
            Self::DiskCosts => "disk costs",
            Self::DiskClock => "disk clock",
            Self::Drive => "drive",
        }
    }

    /// Whether it is about tables that the stage names.
    pub(super) fn takes_tables(self) -> bool {
        !matches!(self, Self::Load | Self::Verify | Self::Drive) && !self.is_of_storage()
    }

    /// Whether it measures storage or the clock, and needs no tables.
    pub fn is_of_storage(self) -> bool {
        matches!(self, Self::DiskSync | Self::DiskIo | Self::DiskCosts | Self::DiskClock)
    }
}

impl StagePlan {
    /// A stage with defaults.
    pub fn new(action: Action) -> Self {
        Self {
            action,
            tables: Vec::new(),
            rewrite: None,
            commit: None,
            sessions: None,
            limit: None,
            cold: None,
            repeats: None,
            by: None,
            parallel: None,
            anyway: None,
            create_extension: None,
            dirs: Vec::new(),
            interval: None,
            blocks: None,
            writers: None,
            preset: None,
            file_size: None,
            saturate: None,
        }
    }

    /// Whether it measures what it names, so that it needs no server.
    pub fn needs_no_server(&self) -> bool {
        self.action.is_of_storage() && (!self.dirs.is_empty() || self.action == Action::DiskClock)
    }

    /// Size of a file in bytes; `None` if it is not given, or is no size.
    pub fn file_bytes(&self) -> Option<u64> {
        self.file_size.as_ref().and_then(|text| amount::parse(text, 1)).filter(|bytes| *bytes > 0)
    }

    /// How often each statement or count is timed.
    pub fn repeats(&self) -> u64 {
        self.repeats.unwrap_or(REPEATS)
    }

    /// Rows that a first touch reads.
    pub fn limit(&self) -> u64 {
        self.limit.unwrap_or(LIMIT)
    }

    /// Scans to count with.
    pub fn by(&self) -> Vec<CountBy> {
        self.by.clone().unwrap_or_else(|| vec![CountBy::Index, CountBy::Seq])
    }

    /// Numbers of parallel workers of counts.
    pub fn parallel(&self) -> Vec<u64> {
        self.parallel.clone().unwrap_or_else(|| PARALLEL.to_vec())
    }

    /// Keys that are given, except `do` and `tables`, and the actions that have them.
    pub(super) fn given(&self) -> impl Iterator<Item = (&'static str, &'static [Action])> {
        let all: [(&str, bool, &[Action]); 17] = [
            ("rewrite", self.rewrite.is_some(), &[Action::ProbeDdl]),
            ("commit", self.commit.is_some(), &[Action::ProbeDdl]),
            ("sessions", self.sessions.is_some(), &[Action::ProbeDdl]),
            ("limit", self.limit.is_some(), &[Action::ProbeFirstTouch]),
            ("cold", self.cold.is_some(), &[Action::ProbeFirstTouch]),
            ("repeats", self.repeats.is_some(), &TIMED),
            ("by", self.by.is_some(), &[Action::ProbeCount]),
            ("parallel", self.parallel.is_some(), &[Action::ProbeCount]),
            ("anyway", self.anyway.is_some(), &[Action::Prewarm]),
            ("create_extension", self.create_extension.is_some(), &[Action::Prewarm, Action::ProbeDepth]),
            ("dirs", !self.dirs.is_empty(), &[Action::DiskSync, Action::DiskIo, Action::DiskCosts]),
            ("interval", self.interval.is_some(), &STORAGE),
            ("blocks", self.blocks.is_some(), &[Action::DiskSync, Action::DiskCosts]),
            ("writers", self.writers.is_some(), &[Action::DiskSync]),
            ("preset", self.preset.is_some(), &[Action::DiskIo]),
            ("file_size", self.file_size.is_some(), &[Action::DiskIo, Action::DiskCosts]),
            ("saturate", self.saturate.is_some(), &[Action::DiskIo]),
        ];
        all.into_iter().filter(|(_, given, _)| *given).map(|(key, _, actions)| (key, actions))
    }

    /// The stage in words: what is done, and to which tables or directories.
    pub fn words(&self) -> String {
        let dirs: Vec<_> = self.dirs.iter().map(|dir| dir.display().to_string()).collect();
        match self.tables.as_slice() {
            [] if !dirs.is_empty() => format!("{} {}", self.action.name(), dirs.join(", ")),
            [] => self.action.name().to_owned(),
            tables => format!("{} {}", self.action.name(), tables.join(", ")),
        }
    }
}
