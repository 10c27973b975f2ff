//! What the host was doing, second by second.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One second of the host: a line of `observations.ndjson`. What could not be seen is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Observation {
    /// End of the second, in seconds since the start of pgdyno's run.
    pub at_s: f64,
    /// How the processors of the whole host were used.
    pub host: HostShares,
    /// Processors that pgdyno's worker threads used on average in this second.
    pub driver_cpus: f64,
    /// Processors that the server's processes used; `None` where they cannot be seen.
    pub server_cpus: Option<f64>,
    /// Bytes per second read from the device under the data directory.
    pub device_read_bytes_per_s: Option<f64>,
    /// Bytes per second written to it.
    pub device_write_bytes_per_s: Option<f64>,
}

/// Shares of the processor time of all processors, each from 0 to 1; together at most 1, the rest is idle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostShares {
    /// Programs, `nice` included.
    pub user: f64,
    /// The kernel, interrupts included.
    pub system: f64,
    /// Idle with a block request outstanding.
    pub iowait: f64,
    /// Taken by the hypervisor for others.
    pub steal: f64,
}
