//! Network interfaces and interrupts.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A network interface.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Driver, such as `virtio_net`; `None` for interfaces of software.
    pub driver: Option<String>,
    /// Speed in Mbit/s.
    pub speed_mbit_s: Option<u64>,
    /// Largest packet in bytes.
    pub mtu_bytes: Option<u64>,
    /// Receive and transmit queues.
    pub queues: Option<(u32, u32)>,
    /// Most queues that the device can have; `None` if unknown.
    pub most_queues: Option<u32>,
    /// Offloads by name, and whether each is on; empty if unknown.
    pub offloads: BTreeMap<String, bool>,
    /// `up`, `down`, `unknown`.
    pub state: Option<String>,
}

/// How interrupts are spread over processors.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct InterruptBalance {
    /// Whether the irqbalance daemon runs; `None` if processes cannot be seen.
    pub irqbalance_runs: Option<bool>,
    /// Processors that interrupts go to by default, as the kernel lists them.
    pub default_affinity: Option<String>,
    /// Interrupts of disks and network interfaces: name, and processors that each may go to.
    pub affinities: Vec<(String, String)>,
}
