//! Resumptions of a run in `run.json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A resumption of a run. Own servers are recreated when a run is resumed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResumedRecord {
    /// Time of the resumption, RFC 3339 in UTC.
    pub at: String,
    /// Time of the resumption in seconds since the start of the run.
    pub at_s: f64,
    /// Why the run ended before; absent if it was killed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<String>,
    /// Index in `runs` of the first run after the resumption.
    pub first_run: u32,
    /// Runs of an incomplete round, which were repeated and are not in `runs`.
    pub dropped_runs: u32,
}
