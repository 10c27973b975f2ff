//! What observed a run, and at which cost.

use pgdyno_core::observe::{ObserveLevel, ObserverCost, ServerClock};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The observers of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObserversRecord {
    /// What they observed.
    pub level: ObserveLevel,
    /// Seconds that they observed.
    pub over_s: f64,
    /// CPUs that they took over the whole run.
    #[serde(flatten)]
    pub cost: ObserverCost,
    /// Lines of `observations.ndjson` that were dropped because they could not be written fast enough.
    pub dropped_lines: u64,
    /// The clocks of the servers; absent where no session asked for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clocks: Vec<ServerClock>,
}
