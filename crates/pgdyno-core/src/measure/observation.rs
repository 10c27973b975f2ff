//! Activity of the host, second by second.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One second of the host: a line of `observations.ndjson`. What could not be observed is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Observation {
    /// End of the second, in seconds since the start of pgdyno's run.
    pub at_s: f64,
    /// CPU use of the whole host.
    pub host: HostShares,
    /// CPUs used by pgdyno's worker threads, on average in this second.
    pub driver_cpus: f64,
    /// CPUs used by the server's processes; `None` if they cannot be observed.
    pub server_cpus: Option<f64>,
    /// Bytes per second read from the device under the data directory.
    pub device_read_bytes_per_s: Option<f64>,
    /// Bytes per second written to the device under the data directory.
    pub device_write_bytes_per_s: Option<f64>,
}

/// Shares of the CPU time of all CPUs, each from 0 to 1; together at most 1, the rest is idle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostShares {
    /// User space, including `nice`.
    pub user: f64,
    /// The kernel, including interrupts.
    pub system: f64,
    /// Idle with outstanding block I/O.
    pub iowait: f64,
    /// Given to other guests by the hypervisor (steal).
    pub steal: f64,
}
