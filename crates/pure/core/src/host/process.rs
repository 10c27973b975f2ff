//! The process that read a host.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the process that read a host may use of it. The limits of its control group are in
/// [`Cgroup`](super::Cgroup).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Process {
    /// Numbers of the logical processors that it may run on, in ascending order.
    pub allowed_cpus: Vec<u32>,
    /// Soft limit of its open files; `None` is unlimited.
    pub open_files: Option<u64>,
    /// Soft limit of its locked memory in bytes; `None` is unlimited.
    pub locked_memory_bytes: Option<u64>,
}
