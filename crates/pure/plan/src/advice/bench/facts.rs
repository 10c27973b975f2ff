//! The facts that choices rest on, and how a choice is recorded.

use pgdyno_core::{facts::Choice, host::Inventory};

/// Facts about machine, storage and server that the choices rest on.
#[derive(Debug, Clone, Copy)]
pub struct BenchFacts<'a> {
    /// The machine that pgdyno runs on.
    pub host: &'a Inventory,
    /// Bytes that each of the servers side by side may still write under its data directory; `None` if that is
    /// on another machine.
    pub disk_available_bytes: Option<u64>,
    /// The directory with that room: a data directory, or where it will be made; `None` if unknown.
    pub disk_path: Option<&'a str>,
    /// Number of servers that share the disk and memory of this machine, at least 1.
    pub side_by_side: u64,
    /// Whether pgdyno creates the server itself.
    pub own_server: bool,
    /// Whether the server runs on this machine.
    pub server_local: bool,
    /// `max_connections` of an existing server; `None` if pgdyno will set it as needed.
    pub max_connections: Option<u32>,
    /// Connections of `max_connections` that the driver's role may not use (`superuser_reserved_connections`,
    /// `reserved_connections`).
    pub reserved_connections: u32,
    /// `shared_buffers` of each server in bytes; if `None`, a quarter of memory is assumed.
    pub shared_buffers_bytes: Option<u64>,
    /// Page size of the server in bytes, usually 8,192.
    pub page_bytes: u64,
}

impl BenchFacts<'_> {
    /// Usable memory in bytes: that of the machine, or the control group's limit if lower.
    pub fn memory_bytes(&self) -> u64 {
        let limit = self.host.kernel.cgroup.memory_bytes.unwrap_or(u64::MAX);
        self.host.memory.total_bytes.min(limit)
    }

    /// `shared_buffers` of each server in bytes.
    pub fn buffers_bytes(&self) -> u64 {
        self.shared_buffers_bytes.unwrap_or(self.memory_bytes() / 4)
    }
}

pub(super) fn choose(choices: &mut Vec<Choice>, name: &str, value: impl ToString, reason: String) {
    choices.push(Choice { name: name.into(), value: value.to_string(), reason });
}

/// Formats bytes as MiB, GiB or TiB for a reason.
pub(super) fn size(bytes: u64) -> String {
    let mib = bytes as f64 / f64::from(1 << 20);
    match mib / 1_024.0 {
        gib if gib < 1.0 => format!("{mib:.0} MiB"),
        gib if gib < 1_024.0 => format!("{gib:.1} GiB"),
        gib => format!("{:.1} TiB", gib / 1_024.0),
    }
}
