//! The cost of a synchronous write.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::LatencySummary;

/// A short check of the cost of synchronous writes: 8 KiB overwritten in place, then `fdatasync`, one at a time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SyncCheck {
    /// The directory of the test file.
    pub path: String,
    /// Bytes per write.
    pub write_bytes: u64,
    /// Duration of the check in nanoseconds.
    pub duration_ns: u64,
    /// Latency of write and `fdatasync` together.
    pub latency: LatencySummary,
    /// Writes per second.
    pub rate_per_s: f64,
}
