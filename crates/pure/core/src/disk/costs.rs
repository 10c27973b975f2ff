//! What pages cost on a disk, in the units of the planner.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::io::{IoEnd, PlannerCosts, Saturation};

/// What follows from reads of a disk for PostgreSQL's planner (documentation, "Planner Cost Constants").
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiskCosts {
    /// The directory or block device.
    pub path: String,
    /// Bytes of a page.
    pub block_bytes: u32,
    /// Size of the file that was read, in bytes.
    pub file_bytes: u64,
    /// Costs by the share of pages that are cached, in ascending order; empty if nothing was measured to the end.
    pub costs: Vec<PlannerCosts>,
    /// Random reads by number in flight, from which `effective_io_concurrency` follows; absent if it ended earlier.
    pub saturation: Option<Saturation>,
    /// How it ended.
    pub ended: IoEnd,
}
