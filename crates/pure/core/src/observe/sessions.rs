//! Sessions of a server at an instant, and how far its write-ahead log is.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The client sessions of a server at an instant.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionsSeen {
    /// How many sessions there are in each state, in the server's terms; `not seen` where the role may not see it, or
    /// where `track_activities` is off.
    pub by_state: BTreeMap<String, u64>,
    /// The sessions that have been in a state other than `idle` for the longest time, the longest first; at most 200.
    pub busy: Vec<BusySession>,
}

/// A session that is active, or in a transaction.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BusySession {
    /// Process id of its backend.
    pub pid: i32,
    /// Its database.
    pub database: Option<String>,
    /// Its role.
    pub role: Option<String>,
    /// Its `application_name`.
    pub application: Option<String>,
    /// The backend type in the server's terms, as in [`WaitSample::backend`](super::WaitSample::backend).
    pub backend: String,
    /// Its state: `active`, `idle in transaction` …
    pub state: String,
    /// Type and name of its wait event; `Lock` for a wait before 9.6; absent if it does not wait.
    pub event: Option<String>,
    /// Seconds that it has been in its state: of an active one, since its statement began.
    pub state_age_s: Option<f64>,
    /// The age of its transaction in seconds.
    pub transaction_age_s: Option<f64>,
    /// Its present or last statement, cut and without secrets.
    pub statement: String,
}

/// How far a server is in its write-ahead log, and how long ago its last checkpoint was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WalPosition {
    /// Whether it is a standby, or recovers.
    pub in_recovery: bool,
    /// The position in bytes: where it writes; of a standby up to where it has replayed.
    pub position_bytes: Option<u64>,
    /// Seconds since the server was started.
    pub up_s: Option<f64>,
    /// Seconds since the last checkpoint began (9.6 and later).
    pub checkpoint_age_s: Option<f64>,
    /// Bytes of WAL since the last checkpoint began (9.6 and later).
    pub since_checkpoint_bytes: Option<u64>,
}
