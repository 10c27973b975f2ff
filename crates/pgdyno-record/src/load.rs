//! What `run.json` says of a load.

use pgdyno_rows::load::{AccountsState, LoadPlan, LoadRequest, Set, Way};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was loaded and how long it took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadRecord {
    /// Rows over all tables.
    pub rows: u64,
    /// Rows in a second of writing them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_per_s: Option<f64>,
    /// Bytes sent in COPY data.
    pub copy_bytes: u64,
    /// The same in a second; absent where nothing was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_bytes_per_s: Option<u64>,
    /// Seconds of writing rows, with the creation of the tables.
    pub copy_s: f64,
    /// Seconds of VACUUM and ANALYZE.
    pub vacuum_s: f64,
    /// Seconds of primary and foreign keys.
    pub index_s: f64,
    /// The stages in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<LoadStageRecord>,
    /// Parallel workers of a key of accounts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_workers: Option<KeyWorkersRecord>,
    /// Size of tables and indexes afterwards in bytes.
    pub size_bytes: u64,
    /// `text` or `binary`; `none` where the server made the rows itself.
    pub copy_format: String,
    /// Whether rows were loaded frozen.
    pub freeze: bool,
    /// How the tables were read into shared buffers afterwards; `None` where they do not fit, and those of `scaleup`
    /// where the server has no `pg_prewarm`.
    pub prewarm: Option<PrewarmRecord>,
    /// How it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terms: Option<LoadTerms>,
    /// What the server made of `pgbench_accounts`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accounts: Option<AccountsState>,
}

impl LoadRecord {
    /// How the rows got in, in the words of a comparison.
    pub fn words(&self) -> String {
        let frozen = if self.freeze { ", frozen" } else { "" };
        match self.terms.as_ref().and_then(|terms| terms.options.method) {
            Some(Way::Server) => "INSERT by the server".to_owned(),
            Some(Way::Chunks) => format!("COPY {} in chunks", self.copy_format),
            Some(Way::Stream) | None => format!("COPY {}{frozen}", self.copy_format),
        }
    }
}

/// A stage of a load: all tasks of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadStageRecord {
    /// `rows`, `vacuum`, `analyze`, `primary keys`, `key of the whole` or `foreign keys`.
    pub name: String,
    /// Its seconds.
    pub duration_s: f64,
    /// Bytes of WAL that the server wrote meanwhile, for whomever; absent where it does not tell.
    pub wal_bytes: Option<u64>,
    /// What the server was seen at, in the order in which it was first seen; empty where nothing was.
    /// What ends within a fifth of a second may not have been seen.
    pub phases: Vec<LoadPhaseRecord>,
}

/// A phase of VACUUM or of building keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadPhaseRecord {
    /// Its name as the server has it; of keys before 12 what their files tell.
    pub name: String,
    /// Its seconds, over all server processes together.
    pub duration_s: f64,
}

/// Parallel workers of a key of accounts: what was asked for need not be what came.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeyWorkersRecord {
    /// At most (`max_parallel_maintenance_workers` of the session); absent where the server has none.
    pub asked: Option<u64>,
    /// What the server planned, over all keys of accounts; absent where it does not say so (before 11).
    pub planned: Option<RangeRecord>,
    /// What was seen at work; absent where none of the keys was seen being built, and before 13.
    pub launched: Option<RangeRecord>,
}

/// The least and the most of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RangeRecord {
    /// The least.
    pub least: u64,
    /// The most.
    pub most: u64,
}

/// How tables were to be loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoadTerms {
    /// The tables: TPC-B's, or `test` and `log` of `data.scaleup`.
    #[serde(default, skip_serializing_if = "is_tpcb")]
    pub set: Set,
    /// Connections that loaded at the same time.
    pub streams: u64,
    /// The options with their values.
    #[serde(flatten)]
    pub options: LoadRequest,
}

fn is_tpcb(set: &Set) -> bool {
    *set == Set::Tpcb
}

impl LoadTerms {
    /// Those of a plan that so many connections carry out.
    pub fn of(plan: &LoadPlan, streams: u64) -> Self {
        let options = LoadRequest { jobs: None, ..LoadRequest::of(plan, streams) };
        Self { set: plan.set, streams, options }
    }
}

/// The tables, read into shared buffers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PrewarmRecord {
    /// `pg_prewarm` or `scans`.
    pub method: String,
    /// Seconds it took.
    pub duration_s: f64,
}
