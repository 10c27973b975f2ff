//! Starts of the servers in `run.json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A start of all servers of a run with several subjects, and what happened before it was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StartRecord {
    /// Number of the start, from 1.
    pub number: u32,
    /// When it began, in seconds since the start of the run.
    pub at_s: f64,
    /// Duration of the whole, practice runs included, in seconds.
    pub duration_s: f64,
    /// Duration of stopping and starting all servers, and of reading their tables into shared buffers, in seconds;
    /// absent if they were running already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart_s: Option<f64>,
    /// How many places the data directories moved: with 1 the first server ran on the data of the second. Absent if
    /// every server has its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_shift: Option<u32>,
    /// A run of each subject that is not counted: a server is slower right after its start.
    pub practice: Vec<PracticeRecord>,
}

/// A run before the first measured one of a start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PracticeRecord {
    /// Name of the subject.
    pub subject: String,
    /// Name of the script; absent for a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// Result per second.
    pub per_s: f64,
    /// Transactions committed from its begin to its end; 0 for a command.
    pub committed: u64,
    /// Transactions that may have been committed.
    pub in_doubt: u64,
}
