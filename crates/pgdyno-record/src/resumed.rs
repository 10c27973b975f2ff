//! What a run that was gone on with adds to `run.json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One time that a run was resumed. Servers that were made for the run were made anew then.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResumedRecord {
    /// Instant, RFC 3339 in UTC.
    pub at: String,
    /// The same in seconds since the start of the run.
    pub at_s: f64,
    /// Why the run had ended; absent if it was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<String>,
    /// Index in `runs` of the first run after it.
    pub first_run: u32,
    /// Runs of a round that was not whole: they were made again, and are not in `runs`.
    pub dropped_runs: u32,
}
