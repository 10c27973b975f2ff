//! How much of what a disk gives a workload used.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a disk does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiskWork {
    /// Read requests; measured as random reads of at most 16 KiB.
    Reads,
    /// Bytes read.
    ReadBytes,
    /// Write requests; measured as random writes of at most 16 KiB.
    Writes,
    /// Bytes written.
    WrittenBytes,
}

impl DiskWork {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Reads, Self::ReadBytes, Self::Writes, Self::WrittenBytes];
}

/// What a cell used of a disk that was measured in the same run, in means over its runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiskShare {
    /// The cell.
    pub cell: String,
    /// The device.
    pub device: String,
    /// What it did.
    pub work: DiskWork,
    /// Requests or bytes per second in the cell.
    pub used_per_s: f64,
    /// The most that the measurements of the disk reached per second.
    pub measured_per_s: f64,
    /// The first over the second. Above 1 the measurement understates the disk.
    pub share: f64,
}
