//! What rules ask of the facts of a host and of its server.

use pgdyno_core::{
    facts::amount::{self, BLOCK, KB, MB},
    host::{ServerProcess, SysctlLine},
};

use super::Facts;

/// Default of `max_files_per_process`.
pub(crate) const DEFAULT_FILES: u64 = 1000;
/// Files of a process that `max_files_per_process` does not count.
pub(crate) const UNCOUNTED_FILES: u64 = 24;

impl<'a> Facts<'a> {
    /// Whether the kernel is at least a version; `None` if its release is unknown.
    pub(crate) fn kernel_is_at_least(&self, major: u32, minor: u32) -> Option<bool> {
        Some(self.host.kernel.version()? >= (major, minor))
    }

    /// The server, if its settings are known.
    pub(crate) fn server(&self) -> Option<&'a ServerProcess> {
        self.host.server.as_ref().filter(|server| !server.settings.is_empty())
    }

    /// The major of the server, such as 18; 9 for all of 9.x.
    pub(crate) fn major(&self) -> Option<u32> {
        Some(self.host.server.as_ref()?.version_num? / 10_000)
    }

    /// A setting of the server.
    pub(crate) fn setting(&self, name: &str) -> Option<&'a str> {
        self.server()?.settings.get(name).map(|value| value.trim())
    }

    /// A setting that is a whole number of 32 bits, or its default where it is not set; `None` without settings.
    pub(crate) fn setting_number(&self, name: &str, default: u64) -> Option<u64> {
        self.server()?;
        self.setting(name).map_or(Some(default), |value| Some(u64::from(value.parse::<u32>().ok()?)))
    }

    /// A setting that is an amount of memory, in bytes, or its default where it is not set.
    pub(crate) fn setting_bytes(&self, name: &str, unit_bytes: u64, default_bytes: u64) -> Option<u64> {
        self.server()?;
        self.setting(name).map_or(Some(default_bytes), |value| amount::parse(value, unit_bytes))
    }

    /// A setting that is on or off, or its default where it is not set.
    pub(crate) fn setting_is_on(&self, name: &str, default: bool) -> Option<bool> {
        self.server()?;
        match self.setting(name).map(str::to_ascii_lowercase).as_deref() {
            None => Some(default),
            Some("on" | "true" | "yes" | "1" | "t" | "y") => Some(true),
            Some("off" | "false" | "no" | "0" | "f" | "n") => Some(false),
            Some(_) => None,
        }
    }

    /// Processes that the server may have at most, with its auxiliary ones.
    pub(crate) fn server_processes(&self) -> Option<u64> {
        let auxiliary = 16;
        let workers = if self.major() >= Some(18) {
            ("autovacuum_worker_slots", 16)
        } else {
            ("autovacuum_max_workers", 3)
        };
        let parts = [("max_connections", 100), workers, ("max_worker_processes", 8), ("max_wal_senders", 10)];
        parts.into_iter().try_fold(auxiliary, |sum: u64, (name, default)| {
            Some(sum.saturating_add(self.setting_number(name, default)?))
        })
    }

    /// Files that a process of the server may have open, with standard streams, sockets and pipes, which it has before
    /// it counts, and a ring of each possible process where io_uring is used.
    pub(crate) fn files_of_process(&self) -> Option<u64> {
        let files =
            self.setting_number("max_files_per_process", DEFAULT_FILES)?.saturating_add(UNCOUNTED_FILES);
        let rings = self.setting("io_method").is_some_and(|method| method == "io_uring");
        Some(if rings { files.saturating_add(self.server_processes()?) } else { files })
    }

    /// Bytes of the server's main shared memory: as it says itself since 15, else by the table of the manual of 9.2
    /// ("Managing Kernel Resources"), and 1 % and 16 MiB more for what came since.
    pub(crate) fn shared_memory_bytes(&self) -> Option<u64> {
        if let Some(exact) = self.setting("shared_memory_size").and_then(|value| amount::parse(value, MB)) {
            return Some(exact);
        }
        let prepared = self.setting_number("max_prepared_transactions", 0)?;
        Some(estimate_shared_memory(
            self.setting_bytes("shared_buffers", BLOCK, 128 * MB)?,
            self.server_processes()?.saturating_add(prepared),
            self.setting_number("max_locks_per_transaction", 64)?,
            self.setting("wal_buffers").and_then(|value| amount::parse(value, BLOCK)),
        ))
    }

    /// Whether the figure of the shared memory comes from the server itself.
    pub(crate) fn shared_memory_is_exact(&self) -> bool {
        self.setting("shared_memory_size").is_some()
    }

    /// `shared_buffers` that is recommended for a new server on this host, in bytes: a quarter of the memory, or of
    /// what the control group or the commit limit leaves, in whole MB. `None` if the memory is unknown.
    pub(crate) fn recommended_buffers(&self) -> Option<u64> {
        let memory = &self.host.memory;
        let granted = memory.total_bytes.min(self.host.kernel.cgroup.memory_bytes.unwrap_or(u64::MAX));
        let is_strict = self.host.sysctl_number("vm.overcommit_memory") == Some(2);
        let promised = memory.commit_limit_bytes.zip(memory.committed_bytes).filter(|_| is_strict);
        let left = promised.map_or(u64::MAX, |(limit, committed)| limit.saturating_sub(committed));
        Some(granted.min(left) / 4 / MB * MB).filter(|bytes| *bytes > 0)
    }

    /// Huge pages of a size that the shared memory of the server fills.
    pub(crate) fn huge_pages_needed(&self, page_bytes: u64) -> Option<u64> {
        (page_bytes > 0).then(|| self.shared_memory_bytes().map(|bytes| bytes.div_ceil(page_bytes)))?
    }

    /// The line of the files of sysctl that holds for a name: the last one.
    pub(crate) fn sysctl_line(&self, name: &str) -> Option<&'a SysctlLine> {
        self.host.kernel.sysctl_lines.iter().rev().find(|line| line.name == name)
    }

    /// NUMA nodes with processors or memory; 1 where the kernel shows none.
    pub(crate) fn numa_nodes(&self) -> usize {
        self.host.cpu.numa_nodes.len().max(1)
    }
}

/// Bytes of shared memory by the table of the manual of 9.2: buffers in bytes, processes and prepared transactions,
/// locks of each, and the buffers of WAL if they are not sized by themselves.
pub(crate) fn estimate_shared_memory(
    buffers_bytes: u64,
    processes: u64,
    locks: u64,
    wal_bytes: Option<u64>,
) -> u64 {
    let buffers = buffers_bytes / BLOCK;
    let connections = processes.saturating_mul(1800_u64.saturating_add(locks.saturating_mul(270)));
    let wal = wal_bytes.unwrap_or_else(|| (buffers / 32 * BLOCK).clamp(64 * KB, 16 * MB));
    let sum = buffers.saturating_mul(BLOCK + 208).saturating_add(connections).saturating_add(wal);
    sum.saturating_add(sum / 100).saturating_add(16 * MB)
}

/// Seconds of a setting such as `60`, `60s`, `2min` or `1h`.
pub(crate) fn seconds(text: &str) -> Option<u64> {
    let text = text.trim();
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let factor = match unit.trim() {
        "" | "s" => 1,
        "min" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Purpose,
        host::testing::{host, with_server},
    };

    #[test]
    fn shared_memory_comes_from_the_server_or_the_manual() {
        for (settings, least_mib, most_mib) in [
            // A server of 15 with these defaults reports 143 MB.
            (vec![("max_connections", "100")], 143, 170),
            (vec![("shared_buffers", "16GB"), ("max_connections", "500")], 16_384 + 330, 16_384 + 700),
            (vec![("shared_buffers", "2097152")], 16_384 + 330, 16_384 + 700),
            (vec![("shared_buffers", "16GB"), ("shared_memory_size", "16813MB")], 16_813, 16_813),
        ] {
            let host = with_server(host(&[]), 17, &settings);
            let facts = Facts { host: &host, purpose: Purpose::Oltp };
            let mib = facts.shared_memory_bytes().expect("settings are known") / MB;
            assert!((least_mib..=most_mib).contains(&mib), "{settings:?}: {mib}");
        }
    }

    #[test]
    fn without_settings_nothing_is_known_of_a_server() {
        let host = host(&[]);
        let facts = Facts { host: &host, purpose: Purpose::Oltp };
        assert_eq!(
            (facts.shared_memory_bytes(), facts.server_processes(), facts.major()),
            (None, None, None)
        );
    }

    #[test]
    fn times_have_units() {
        for (text, expected) in [
            ("60", Some(60)),
            ("2min", Some(120)),
            ("1h", Some(3600)),
            ("", None),
            ("x", None),
            ("5ms", None),
        ] {
            assert_eq!(seconds(text), expected, "{text}");
        }
    }
}
