//! Shares of the host's CPU time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
