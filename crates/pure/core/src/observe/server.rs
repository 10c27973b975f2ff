//! A server, as its statistics views show it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Samples of what sessions did, counted over one second.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitsSample {
    /// Number of samples taken.
    pub samples: u64,
    /// What was seen, the most frequent first.
    pub seen: Vec<WaitSample>,
}

/// How often sessions were seen in one activity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitSample {
    /// Type and name of the wait event in the server's terms, such as `LWLock:WALWrite`; `running`, `client` and
    /// `not seen` as in [`WaitCount`](crate::measure::WaitCount); `other` for what was too varied to be kept.
    pub event: String,
    /// The backend type in the server's terms, such as `client backend`; `session` or `autovacuum worker` before 10;
    /// `not seen` where the role may not see it.
    pub backend: String,
    /// The query id, where the server computes one (14 and later). Of seconds with very many, the rarer ones are
    /// added up without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query_id: Option<i64>,
    /// Sessions seen in it, over all samples.
    pub count: u64,
}

impl WaitSample {
    /// Whether sessions of clients were seen. Servers before 10 do not distinguish them from background workers.
    pub fn is_of_client(&self) -> bool {
        self.backend == "client backend" || self.backend == "session"
    }
}

/// What a session did at the instant of a sample.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionSample {
    /// Process id of its backend.
    pub pid: i32,
    /// What it did, as in [`WaitSample::event`].
    pub event: String,
    /// The query id, where the server computes one (14 and later).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query_id: Option<i64>,
    /// The age of its transaction in seconds, by the server's clock.
    pub transaction_age_s: f64,
    /// Seconds since its statement began, by the server's clock.
    pub statement_age_s: Option<f64>,
}

/// Most sessions waiting for locks that are reported at one time: those that have waited longest.
pub const MOST_BLOCKED: usize = 20;

/// A session that waited for a lock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlockedSession {
    /// Process id of its backend.
    pub pid: i32,
    /// The kind of lock, as in `pg_locks.locktype`.
    pub lock: String,
    /// The mode asked for.
    pub mode: String,
    /// The relation, where the lock is about one.
    pub relation: Option<String>,
    /// Seconds that it had waited, where the server says since when (14 and later); else since its statement began.
    /// Absent if the role may see neither.
    pub waited_s: Option<f64>,
    /// Its statement, cut and without secrets.
    pub statement: String,
    /// Who holds the lock, or is before it in the queue; at most 5.
    pub blocked_by: Vec<BlockingSession>,
}

/// A session that others wait for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlockingSession {
    /// Process id of its backend; 0 for a prepared transaction.
    pub pid: i32,
    /// Its state: `active`, `idle in transaction` …; `prepared transaction`; `not seen` where the role may not see it.
    pub state: String,
    /// Its present or last statement, cut and without secrets; of a prepared transaction its identifier.
    pub statement: String,
    /// The age of its transaction in seconds.
    pub transaction_age_s: Option<f64>,
}

/// How counters of statistics views changed over the time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CounterSample {
    /// Changes by view, then by column, in the server's names. Views of many rows (`pg_stat_io`, `pg_stat_slru`) have
    /// their keys in the name of the column: `client backend/relation/normal reads`. Only what changed.
    pub views: BTreeMap<String, BTreeMap<String, f64>>,
    /// Values at the end of the time, by view and column, of what does not only grow: sessions, dead rows, bytes that a
    /// standby lags.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub levels: BTreeMap<String, BTreeMap<String, f64>>,
    /// Views whose counters were reset within the time, or fell for another reason: their changes are missing.
    pub reset: Vec<String>,
}

/// A statement of `pg_stat_statements` over the time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatementSample {
    /// Its query id.
    pub query_id: i64,
    /// Its text, normalised by the server, cut and without secrets; only in the first sample that has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Executions.
    pub calls: u64,
    /// Time of execution in milliseconds.
    pub total_ms: f64,
    /// Rows returned or changed.
    pub rows: u64,
    /// Blocks found in shared buffers.
    pub blocks_hit: u64,
    /// Blocks read.
    pub blocks_read: u64,
    /// Bytes of WAL (13 and later).
    pub wal_bytes: Option<u64>,
}

/// A command that reports its progress (`pg_stat_progress_*`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgressSample {
    /// Process id of its backend.
    pub pid: i32,
    /// The command: `CREATE INDEX`, `VACUUM`, `COPY`, `ANALYZE`, `CLUSTER`, `BASE BACKUP`.
    pub command: String,
    /// The relation, where it is about one.
    pub relation: Option<String>,
    /// Its phase in the server's words.
    pub phase: String,
    /// Units done.
    pub done: Option<u64>,
    /// All units.
    pub total: Option<u64>,
    /// What the units are: `blocks`, `tuples`, `bytes`.
    pub unit: Option<String>,
}
