//! How an attempt ended.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The outcome of a scheduled attempt. Every attempt has exactly one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The server acknowledged it.
    Committed,
    /// The server refused it, or the connection broke before COMMIT was sent.
    Failed,
    /// The due time was too long ago (`--latency-limit` with a rate).
    Skipped,
    /// It exceeded its deadline before COMMIT was sent.
    TimedOut,
    /// COMMIT was sent and never answered.
    InDoubt,
    /// It was due before the end of the run, but no client was free to start it.
    NeverStarted,
}
