//! How an attempt ended.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How one scheduled attempt ended. Every attempt has exactly one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The server acknowledged it.
    Committed,
    /// The server refused it, or the connection broke before a commit was under way.
    Failed,
    /// It was due too long ago to be worth sending (`--latency-limit` with a rate).
    Skipped,
    /// It was given up after its deadline, with no commit under way.
    TimedOut,
    /// A commit was under way and its answer never came.
    InDoubt,
    /// It was due before the end of the run, and no client was free to start it.
    NeverStarted,
}
