//! What the slowest transactions waited for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::measure::SlowAttempt;

/// What the slowest transactions of a run waited for, cell by cell: what `pgdyno why --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tails {
    /// ID of the run.
    pub run: String,
    /// The cells, in the order of the record.
    pub tails: Vec<Tail>,
}

/// What the slowest transactions of a cell waited for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tail {
    /// The cell.
    pub cell: String,
    /// Share of its committed transactions that it has, from 0 to 1: the slowest 1 %, or 20 transactions if these
    /// are more.
    pub part: f64,
    /// Latency that all of them exceeded.
    pub over_ns: u64,
    /// Median latency of all transactions of the cell; absent with too few of them.
    pub p50_ns: Option<u64>,
    /// Number of transactions in the tail.
    pub transactions: u64,
    /// Those of them that are recorded one by one; the others are represented by the slowest ones of their second.
    pub recorded: u64,
    /// Recorded ones of which a sample was taken.
    pub seen: u64,
    /// Samples taken of them.
    pub samples: u64,
    /// Whether the server names wait events (9.6 and later); if not, a sample shows only whether a lock was waited for.
    pub has_wait_events: bool,
    /// What they waited for, the largest share first, those without a sample last. The shares add up to 1.
    pub causes: Vec<TailCause>,
    /// What happened meanwhile, whatever they waited for.
    pub circumstances: Vec<TailCircumstance>,
    /// Why no sample shows what they waited for, the largest share first; together the share without a sample.
    pub unseen: Vec<TailUnseen>,
    /// The slowest transactions with their samples, the slowest first.
    pub slowest: Vec<SlowTransaction>,
}

/// [`TailCause::wait`] of the time before a transaction began: every client was busy with an earlier one.
pub const NO_CLIENT_FREE: &str = "no client free";
/// [`TailCause::wait`] of transactions without a sample.
pub const NO_SAMPLE: &str = "no sample";
/// [`TailCause::wait`] of samples whose activity the server hid from the observer's role.
pub const HIDDEN: &str = "hidden";
/// [`TailCause::wait`] of rare causes, added up.
pub const OTHER: &str = "other";

/// Something that transactions of the tail waited for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TailCause {
    /// The wait event in the server's terms, such as `IO:WALSync`; `running`, `client` and `Lock` as in
    /// [`WaitSample`](crate::observe::WaitSample); `no client free`, `no sample`, `hidden`, `other`.
    pub wait: String,
    /// What happened meanwhile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub during: Vec<Circumstance>,
    /// Who held the lock, if a lock was waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<LockHolder>,
    /// Share of the tail's transactions, from 0 to 1. A transaction counts as one, divided among its samples.
    pub share: f64,
    /// Lower end of the 95 % confidence interval of the share.
    pub low: f64,
    /// Upper end of the 95 % confidence interval of the share.
    pub high: f64,
    /// Transactions that it was seen in.
    pub seen_in: u64,
    /// Samples that show it.
    pub samples: u64,
}

/// What happened while a sample was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Circumstance {
    /// A checkpoint was in progress, by the server's log.
    Checkpoint,
    /// An automatic VACUUM or ANALYZE was running, by the server's log.
    Autovacuum,
    /// A device under the server's files took at least 10 ms a request and five times as long as usual.
    DeviceStall,
    /// The host's CPUs were busy for 95 % of the second.
    CpuSaturated,
    /// The hypervisor gave at least 5 % of the second's CPU time to other guests.
    Steal,
    /// Driver threads waited for a CPU, together for at least half of the latency.
    DriverStarved,
}

impl Circumstance {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Checkpoint,
        Self::Autovacuum,
        Self::DeviceStall,
        Self::CpuSaturated,
        Self::Steal,
        Self::DriverStarved,
    ];
}

/// How often something happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TailCircumstance {
    /// What happened.
    pub during: Circumstance,
    /// Share of the tail's transactions whose samples fell into it, from 0 to 1.
    pub share: f64,
    /// Share of the measured time in which it happened, from 0 to 1; absent if it is not known for all of the time.
    pub of_time: Option<f64>,
}

/// What is known of a session that held a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HolderKind {
    /// Other clients of the run.
    Clients,
    /// A session that is no client of the run.
    Session,
    /// A prepared transaction.
    PreparedTransaction,
    /// The sessions waited for each other: a deadlock that was not resolved yet.
    Deadlock,
    /// Nobody asked who held the lock at that time.
    NotSeen,
}

/// Who is at the head of a lock queue. Texts are those that were seen most often.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LockHolder {
    /// Who it is.
    pub kind: HolderKind,
    /// Process id of a single session.
    pub pid: Option<i32>,
    /// Its state, such as `idle in transaction`.
    pub state: Option<String>,
    /// Its present or last statement, cut and without secrets; the identifier of a prepared transaction.
    pub statement: Option<String>,
    /// The largest age of its transaction in seconds.
    pub transaction_age_s: Option<f64>,
    /// The relation, where the lock is about one.
    pub relation: Option<String>,
    /// The statement that waited, cut and without secrets.
    pub waiting: Option<String>,
}

/// Why no sample shows what a transaction waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UnseenWhy {
    /// It was shorter than the time between two samples, and fell between them.
    BetweenSamples,
    /// No sample could be taken at that time.
    Gap,
    /// More sessions were in transactions than a sample names, and it was none of the oldest.
    Crowded,
    /// It was in no transaction when a sample was taken: its time passed in the driver or in the network.
    NotInTransaction,
    /// Its server process is not known, as behind a pooler.
    PidUnknown,
}

/// A share of the tail without a sample.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TailUnseen {
    /// Why.
    pub why: UnseenWhy,
    /// Share of the tail's transactions, from 0 to 1.
    pub share: f64,
}

/// One of the slowest transactions with its samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlowTransaction {
    /// The transaction.
    #[serde(flatten)]
    pub attempt: SlowAttempt,
    /// Samples in the order of time; equal ones in succession are one. Of a very long transaction, not all.
    pub seen: Vec<SeenWaiting>,
}

/// Equal samples in succession.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeenWaiting {
    /// Time from the begin of the transaction to the first of them, in seconds.
    pub after_s: f64,
    /// Number of samples.
    pub samples: u64,
    /// As in [`TailCause::wait`].
    pub wait: String,
    /// What happened meanwhile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub during: Vec<Circumstance>,
    /// Who held the lock, if a lock was waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<LockHolder>,
}
