//! Memory and processes for building primary keys, from facts.

use pgdyno_core::{facts::Choice, units};

/// Memory of a key in a sort of one process that never goes to a file: its tuple in an allocated chunk, and 24 bytes
/// that point to it.
pub(super) const SORT_MEMORY_BYTES: u64 = 48;
/// Share of the memory that is free now which all sorts together may take.
const MEMORY_SHARE: u64 = 4;
/// What one sort may have however little is free: what servers are set to by default.
const LEAST_MEMORY_BYTES: u64 = 64 << 20;
/// A worker gets no less of the sort's memory than this (PostgreSQL manual, `max_parallel_maintenance_workers`).
const WORKER_BYTES: u64 = 32 << 20;
/// Parallel builds of keys are there from this version on.
const PARALLEL_SINCE: u32 = 110_000;

/// What is known before keys are built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyFacts {
    /// `server_version_num`.
    pub version_num: u32,
    /// The server's own `maintenance_work_mem`.
    pub maintenance_bytes: u64,
    /// Most parallel workers that the server starts (`max_parallel_workers`).
    pub max_parallel_workers: u64,
    /// Memory that is free on the server's machine, where that is this one.
    pub memory_available_bytes: Option<u64>,
    /// Processors of the server's machine, where that is this one.
    pub cpus: Option<u64>,
    /// Rows of the largest table or partition.
    pub rows: u64,
    /// Large keys that are built at a time.
    pub builds: u64,
}

/// Settings of a session that builds keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeySettings {
    /// `maintenance_work_mem`.
    pub maintenance_bytes: u64,
    /// `max_parallel_maintenance_workers`, where the server has it.
    pub workers: Option<u64>,
    /// Both, with reasons.
    pub choices: Vec<Choice>,
}

impl KeySettings {
    /// Chooses them.
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
        return (own, "the server's own: the memory of its machine cannot be seen from here".to_owned());
    };
    let (share, whole) = (free / MEMORY_SHARE / builds, facts.rows.saturating_mul(SORT_MEMORY_BYTES));
    // In whole MiB: a setting is read by people too.
    let wanted = share.min(whole).next_multiple_of(1 << 20);
    let most = share.max(LEAST_MEMORY_BYTES).next_multiple_of(1 << 20);
    let quarter =
        || format!("a quarter of {} free, for {}", units::bytes(free), units::plural(builds, "key"));
    if own > most {
        (most, format!("{}; the server's own {} are over it", quarter(), units::bytes(own)))
    } else if wanted <= own {
        let why = if whole <= own {
            "the sort fits into it"
        } else {
            "more would be over a quarter of free memory"
        };
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
    let files = if workers > 0 { "; they hand their keys over in files" } else { "" };
    let keys = units::plural(builds, "large key");
    (workers, format!("{cpus}, {keys} at a time, each with a process that leads{files}"))
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
        assert_eq!(reason, "a quarter of 16 GiB free, for 1 key; the server's own 8 GiB are over it");
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
