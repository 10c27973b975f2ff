//! What a synchronous write costs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::LatencySummary;

/// A short check of what one synchronous write costs: 8 KiB overwritten in place, then `fdatasync`, one at a time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SyncCheck {
    /// The directory the file was written in.
    pub path: String,
    /// Bytes of a write.
    pub write_bytes: u64,
    /// Length of the check in nanoseconds.
    pub duration_ns: u64,
    /// Latency of write and `fdatasync` together.
    pub latency: LatencySummary,
    /// Writes per second.
    pub rate_per_s: f64,
}
