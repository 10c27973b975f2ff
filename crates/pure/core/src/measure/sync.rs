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
    /// How many bytes the kernel booked to the process as written to a device (`/proc/PID/io`, `write_bytes`) for each
    /// byte that it wrote: 1 where a page is the unit of the page cache, up to hundreds where a file system keeps large
    /// folios, because a write to a clean folio books all of it. Absent if the kernel keeps no such account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub booked_per_byte: Option<f64>,
}

impl SyncCheck {
    /// Whether the kernel's account of what processes write to devices is too large on this file system.
    pub fn books_too_much(&self) -> bool {
        self.booked_per_byte.is_some_and(|booked| booked > Self::MOST_BOOKED)
    }

    /// Most bytes booked for a byte written where the account counts as exact: metadata may add a page now and then.
    const MOST_BOOKED: f64 = 1.1;
}
