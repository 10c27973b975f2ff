//! Processors.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Processors according to `/proc/cpuinfo` and `/sys/devices/system/cpu`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Cpu {
    /// Model name of the first processor.
    pub model: Option<String>,
    /// Logical processors that are online.
    pub logical: u32,
    /// Physical cores that are online; `None` where the topology is unknown.
    pub cores: Option<u32>,
    /// Sockets.
    pub sockets: Option<u32>,
    /// Simultaneous multithreading: `on`, `off`, `notsupported`, … of `smt/control`.
    pub smt: Option<String>,
    /// NUMA nodes, in ascending order; empty where the kernel shows none.
    pub numa_nodes: Vec<NumaNode>,
    /// Caches of the first processor, from the nearest on.
    pub caches: Vec<Cache>,
    /// Frequency driver, such as `intel_pstate`.
    pub frequency_driver: Option<String>,
    /// Frequency governor of the first processor.
    pub governor: Option<String>,
    /// Whether the processor may exceed its nominal frequency.
    pub turbo: Option<bool>,
    /// Idle driver, such as `intel_idle`.
    pub idle_driver: Option<String>,
    /// Idle states of the first processor (C-states), from the lightest on.
    pub idle_states: Vec<IdleState>,
    /// Microcode revision.
    pub microcode: Option<String>,
    /// Vulnerabilities by name, with what the kernel does about each.
    pub mitigations: BTreeMap<String, String>,
    /// Share of all CPU time since boot, idle time included, that the hypervisor gave to others, 0 to 1.
    pub steal_share: Option<f64>,
    /// Share of the CPU time that was wanted here since boot, without idle time and waits for disks, that the
    /// hypervisor gave to others, 0 to 1.
    pub steal_share_of_wanted: Option<f64>,
    /// Hypervisor as far as it is revealed, for example `kvm`.
    pub hypervisor: Option<String>,
}

impl Cpu {
    /// Simultaneous multithreading in words, such as `on` or `not offered by the processor`: what `smt/control` says,
    /// which is kept for what is not known here; `None` if it is unknown.
    pub fn smt_words(&self) -> Option<&str> {
        Some(match self.smt.as_deref()? {
            "forceoff" => "off until the next boot",
            "notsupported" => "not offered by the processor",
            "notimplemented" => "not offered by the kernel",
            other => other,
        })
    }
}

/// A NUMA node.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NumaNode {
    /// Its number.
    pub number: u32,
    /// Its processors as the kernel lists them, such as `0-15,32-47`.
    pub cpus: String,
    /// Its memory in bytes.
    pub memory_bytes: Option<u64>,
}

/// A cache.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Cache {
    /// Level, 1 being the nearest.
    pub level: u32,
    /// `Data`, `Instruction` or `Unified`.
    pub kind: String,
    /// Size in bytes.
    pub size_bytes: u64,
    /// The processors that share it as the kernel lists them.
    pub shared_by: String,
}

/// An idle state.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct IdleState {
    /// Its name, such as `C6`.
    pub name: String,
    /// Time that leaving it takes, in microseconds.
    pub latency_us: u64,
    /// Whether it is disabled.
    pub disabled: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multithreading_is_described_in_words() {
        let words = |smt: Option<&str>| {
            let cpu = Cpu { smt: smt.map(str::to_owned), ..Cpu::default() };
            cpu.smt_words().map(str::to_owned)
        };
        for (smt, expected) in [
            (Some("on"), Some("on")),
            (Some("notsupported"), Some("not offered by the processor")),
            (Some("4"), Some("4")),
            (None, None),
        ] {
            assert_eq!(words(smt).as_deref(), expected);
        }
    }
}
