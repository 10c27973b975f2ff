//! What the choices are made from, and how one is told.

use pgdyno_core::facts::{Choice, HostFacts};

/// What the choices rest on.
#[derive(Debug, Clone, Copy)]
pub struct BenchFacts<'a> {
    /// The machine that pgdyno runs on.
    pub host: &'a HostFacts,
    /// Bytes that each of the servers side by side may still write under its data directory; `None` where that is not
    /// on this machine.
    pub disk_available_bytes: Option<u64>,
    /// Servers side by side on this machine, at least 1: they share its disk and its memory.
    pub side_by_side: u64,
    /// Whether pgdyno makes the server itself.
    pub own_server: bool,
    /// Whether the server is on this machine.
    pub server_local: bool,
    /// `max_connections` of a server that is already there; `None` where it will be set as needed.
    pub max_connections: Option<u32>,
    /// Those of them that the driver's role may not use (`superuser_reserved_connections`, `reserved_connections`).
    pub reserved_connections: u32,
    /// `shared_buffers` of each server in bytes, where they are known; else a quarter of memory is taken.
    pub shared_buffers_bytes: Option<u64>,
    /// Page size of the server in bytes, usually 8,192.
    pub page_bytes: u64,
}

impl BenchFacts<'_> {
    /// Memory in bytes that may be used: the machine's, or the control group's where that is less.
    pub fn memory_bytes(&self) -> u64 {
        let limit = self.host.cgroup.memory_bytes.unwrap_or(u64::MAX);
        self.host.memory.total_bytes.min(limit)
    }

    pub(super) fn buffers_bytes(&self) -> u64 {
        self.shared_buffers_bytes.unwrap_or(self.memory_bytes() / 4)
    }
}

pub(super) fn choose(choices: &mut Vec<Choice>, name: &str, value: impl ToString, reason: String) {
    choices.push(Choice { name: name.into(), value: value.to_string(), reason });
}

/// Bytes in words, for a reason.
pub(super) fn size(bytes: u64) -> String {
    let mib = bytes as f64 / f64::from(1 << 20);
    if mib < 1_024.0 { format!("{mib:.0} MiB") } else { format!("{:.1} GiB", mib / 1_024.0) }
}
