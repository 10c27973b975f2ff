//! Chooses memory and parallel workers for building primary keys.

use pgdyno_core::{facts::Choice, units};

/// Memory in bytes for a key in a non-parallel in-memory sort: its tuple in an allocated chunk, and 24 bytes
/// pointing to it.
pub(super) const SORT_MEMORY_BYTES: u64 = 48;
/// All sorts together may take one of this many parts of the currently free memory.
const MEMORY_SHARE: u64 = 4;
/// Memory granted to a sort even if little is free, in bytes: the server's default.
const LEAST_MEMORY_BYTES: u64 = 64 << 20;
/// Least share of the sort's memory per process, in bytes (PostgreSQL manual, `max_parallel_maintenance_workers`).
const WORKER_BYTES: u64 = 32 << 20;
/// First version with parallel builds of B-tree indexes.
const PARALLEL_SINCE: u32 = 110_000;

/// Facts known before keys are built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyFacts {
    /// `server_version_num`.
    pub version_num: u32,
    /// The server's configured `maintenance_work_mem`, in bytes.
    pub maintenance_bytes: u64,
    /// Most parallel workers of the server (`max_parallel_workers`).
    pub max_parallel_workers: u64,
    /// Free memory of the server's machine in bytes; `None` if that is another machine.
    pub memory_available_bytes: Option<u64>,
    /// CPUs of the server's machine; `None` if that is another machine.
    pub cpus: Option<u64>,
    /// Rows of the largest table or partition.
    pub rows: u64,
    /// Number of large keys built at the same time.
    pub builds: u64,
}

/// Settings of the sessions that build keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeySettings {
    /// `maintenance_work_mem` in bytes.
    pub maintenance_bytes: u64,
    /// `max_parallel_maintenance_workers`; `None` if the server does not have it.
    pub workers: Option<u64>,
    /// Both settings with their reasons.
    pub choices: Vec<Choice>,
}

impl KeySettings {
    /// Chooses the settings.
    pub fn choose(facts: &KeyFacts) -> Self {
        let builds = facts.builds.max(1);
        let (maintenance_bytes, memory_reason) = memory(facts, builds);
        let mut choices = vec![Choice {
            name: "maintenance_work_mem".to_owned(),
            value: units::bytes(maintenance_bytes),
            reason: memory_reason,
        }];
        let workers = (facts.version_num >= PARALLEL_SINCE).then(|| {
            let (workers, reason) = workers(facts, builds, maintenance_bytes);
            let name = "max_parallel_maintenance_workers".to_owned();
            choices.push(Choice { name, value: workers.to_string(), reason });
            workers
        });
        Self { maintenance_bytes, workers, choices }
    }
}

fn memory(facts: &KeyFacts, builds: u64) -> (u64, String) {
    let own = facts.maintenance_bytes;
    let Some(free) = facts.memory_available_bytes else {
        return (own, "the server's own: its machine's memory cannot be examined from here".to_owned());
    };
    let (share, whole) = (free / MEMORY_SHARE / builds, facts.rows.saturating_mul(SORT_MEMORY_BYTES));
    // Whole MiB, since people read the setting, too.
    let wanted = share.min(whole).next_multiple_of(1 << 20);
    let most = share.max(LEAST_MEMORY_BYTES).next_multiple_of(1 << 20);
    let quarter =
        || format!("a quarter of {} free, for {}", units::bytes(free), units::plural(builds, "key"));
    if own > most {
        (most, format!("{}; the server's own {} exceed it", quarter(), units::bytes(own)))
    } else if wanted <= own {
        let why =
            if whole <= own { "the sort fits into it" } else { "more would exceed a quarter of free memory" };
        (own, format!("the server's own: {why}"))
    } else if whole <= share {
        (wanted, format!("has room for {} keys", units::count(facts.rows)))
    } else {
        (wanted, quarter())
    }
}

fn workers(facts: &KeyFacts, builds: u64, maintenance_bytes: u64) -> (u64, String) {
    let processes = facts.cpus.unwrap_or(u64::MAX).min(facts.max_parallel_workers.saturating_add(1));
    let by_memory = maintenance_bytes / WORKER_BYTES;
    let workers = (processes / builds).saturating_sub(1).min(by_memory.saturating_sub(1));
    let cpus = facts.cpus.map_or_else(
        || format!("max_parallel_workers is {}", facts.max_parallel_workers),
        |cpus| {
            format!(
                "{} and max_parallel_workers {}",
                units::plural(cpus, "processor"),
                facts.max_parallel_workers
            )
        },
    );
    let files = if workers > 0 { "; workers pass their keys on in files" } else { "" };
    let keys = units::plural(builds, "large key");
    (workers, format!("{cpus}, {keys} at a time, each with a leader process{files}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTS: KeyFacts = KeyFacts {
        version_num: 180_000,
        maintenance_bytes: 64 << 20,
        max_parallel_workers: 8,
        memory_available_bytes: Some(16 << 30),
        cpus: Some(4),
        rows: 10_000_000,
        builds: 1,
    };

    #[test]
    fn memory_is_what_the_sort_needs_within_a_quarter() {
        let bytes = |facts: KeyFacts| KeySettings::choose(&facts).maintenance_bytes;
        assert_eq!(bytes(FACTS), 458 << 20, "480 MB in whole MiB");
        assert_eq!(bytes(KeyFacts { rows: 10_000_000_000, ..FACTS }), 4 << 30);
        assert_eq!(bytes(KeyFacts { rows: 10_000_000_000, builds: 4, ..FACTS }), 1 << 30);
        assert_eq!(bytes(KeyFacts { rows: 1_000, ..FACTS }), 64 << 20);
        assert_eq!(bytes(KeyFacts { memory_available_bytes: None, ..FACTS }), 64 << 20);
        assert_eq!(bytes(KeyFacts { memory_available_bytes: Some(1 << 20), ..FACTS }), 64 << 20);
        let large = KeyFacts { maintenance_bytes: 8 << 30, ..FACTS };
        assert_eq!(bytes(KeyFacts { rows: 10_000_000_000, builds: 4, ..large }), 1 << 30, "not 32 GiB of 16");
        assert_eq!(bytes(KeyFacts { memory_available_bytes: Some(1 << 20), ..large }), 64 << 20);
        assert_eq!(bytes(KeyFacts { memory_available_bytes: None, ..large }), 8 << 30);
        let reason = &KeySettings::choose(&large).choices[0].reason;
        assert_eq!(reason, "a quarter of 16 GiB free, for 1 key; the server's own 8 GiB exceed it");
    }

    #[test]
    fn processes_are_shared_by_the_keys() {
        let workers = |facts: KeyFacts| KeySettings::choose(&facts).workers;
        assert_eq!(workers(FACTS), Some(3));
        assert_eq!(workers(KeyFacts { builds: 4, ..FACTS }), Some(0));
        assert_eq!(workers(KeyFacts { cpus: Some(64), ..FACTS }), Some(8));
        assert_eq!(
            workers(KeyFacts { rows: 1, cpus: Some(64), ..FACTS }),
            Some(1),
            "32 MiB for each process"
        );
        assert_eq!(workers(KeyFacts { version_num: 90_600, ..FACTS }), None);
        assert_eq!(KeySettings::choose(&FACTS).choices.len(), 2);
    }
}
