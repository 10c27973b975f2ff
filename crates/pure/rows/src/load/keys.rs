//! Chooses memory and parallel workers for building primary keys.

use pgdyno_core::{facts::Choice, units};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// Most background workers of the server (`max_worker_processes`).
    pub max_worker_processes: u64,
    /// Free memory of the server's machine in bytes; `None` if that is another machine.
    pub memory_available_bytes: Option<u64>,
    /// CPUs of the server's machine; `None` if that is another machine.
    pub cpus: Option<u64>,
    /// Rows of the largest table or partition.
    pub rows: u64,
    /// Bytes of the largest table or partition, without its key.
    pub heap_bytes: u64,
    /// Smallest table that the server scans in parallel (`min_parallel_table_scan_size`), in bytes.
    pub min_parallel_bytes: u64,
    /// Number of large keys built at the same time.
    pub builds: u64,
    /// Parallel workers requested for each key.
    pub requested: Option<u64>,
    /// Whether the table was given a storage option `parallel_workers`, which counts unless workers are requested.
    pub has_option: bool,
}

/// Settings of the sessions that build keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeySettings {
    /// `maintenance_work_mem` in bytes.
    pub maintenance_bytes: u64,
    /// `max_parallel_maintenance_workers`; `None` if the server does not have it.
    pub workers: Option<u64>,
    /// `max_parallel_workers`, if the server's own is less than was requested for a key.
    pub parallel_workers: Option<u64>,
    /// What allows a key fewer workers than were requested, the lowest first.
    pub limits: Vec<KeyLimit>,
    /// All settings with their reasons.
    pub choices: Vec<Choice>,
}

/// A limit that is lower than the number of workers requested for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeyLimit {
    /// What limits.
    pub of: KeyLimitKind,
    /// Workers that it allows each key.
    pub workers: u64,
}

/// What limits the workers of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KeyLimitKind {
    /// The largest table or partition is smaller than `min_parallel_table_scan_size`.
    TableSize,
    /// `maintenance_work_mem` has to provide 32 MiB for each process.
    Memory,
    /// `max_worker_processes`, shared by the keys that are built at the same time.
    WorkerProcesses,
}

impl KeySettings {
    /// Chooses the settings.
    pub fn choose(facts: &KeyFacts) -> Self {
        let builds = facts.builds.max(1);
        let (maintenance_bytes, memory_reason) = memory(facts, builds);
        let mut choices =
            vec![choice("maintenance_work_mem", units::bytes(maintenance_bytes), memory_reason)];
        let is_parallel = facts.version_num >= PARALLEL_SINCE;
        let requested = facts.requested.filter(|_| is_parallel);
        let limits = requested.map_or_else(Vec::new, |asked| limits(facts, builds, maintenance_bytes, asked));
        let workers = is_parallel.then(|| {
            let (workers, reason) = match requested {
                Some(asked) => (asked, requested_words(&limits, builds)),
                None => workers(facts, builds, maintenance_bytes),
            };
            choices.push(choice("max_parallel_maintenance_workers", workers.to_string(), reason));
            workers
        });
        let parallel_workers = requested.filter(|asked| *asked > facts.max_parallel_workers);
        choices.extend(parallel_workers.map(|workers| {
            let reason = format!("the server's own {} are fewer than requested", facts.max_parallel_workers);
            choice("max_parallel_workers", workers.to_string(), reason)
        }));
        choices.extend(workers.and_then(|workers| table_option(facts, workers, maintenance_bytes)));
        Self { maintenance_bytes, workers, parallel_workers, limits, choices }
    }
}

fn choice(name: &str, value: String, reason: String) -> Choice {
    Choice { name: name.to_owned(), value, reason }
}

/// Workers that share this memory with their leader.
pub fn workers_by_memory(maintenance_bytes: u64) -> u64 {
    (maintenance_bytes / WORKER_BYTES).saturating_sub(1)
}

/// Limits below the number of workers that was requested for a key, the lowest first.
fn limits(facts: &KeyFacts, builds: u64, maintenance_bytes: u64, asked: u64) -> Vec<KeyLimit> {
    let is_small = facts.heap_bytes < facts.min_parallel_bytes;
    let limit = |of, workers| KeyLimit { of, workers };
    let mut limits = vec![
        limit(KeyLimitKind::TableSize, if is_small { 0 } else { u64::MAX }),
        limit(KeyLimitKind::Memory, workers_by_memory(maintenance_bytes)),
        limit(KeyLimitKind::WorkerProcesses, facts.max_worker_processes / builds),
    ];
    limits.retain(|limit| limit.workers < asked);
    limits.sort_by_key(|limit| limit.workers);
    limits
}

/// The reason for a number of workers that was requested, with the lowest limit.
fn requested_words(limits: &[KeyLimit], builds: u64) -> String {
    let Some(KeyLimit { of, workers }) = limits.first() else { return "requested".to_owned() };
    let why = match of {
        KeyLimitKind::TableSize => {
            return "requested, but tables below min_parallel_table_scan_size have none".to_owned();
        }
        KeyLimitKind::Memory => format!("maintenance_work_mem, 32 MiB for each process, allows {workers}"),
        KeyLimitKind::WorkerProcesses => format!(
            "max_worker_processes allows {workers} for each of {} at a time",
            units::plural(builds, "key")
        ),
    };
    format!("requested, but {why}")
}

/// Bytes of a table for each process that scans it for a key, where no number was requested: a worker starts in
/// milliseconds, and reads this in some hundred.
const SCAN_BYTES: u64 = 64 << 20;

/// Workers that a server plans by the size of a table alone: one from `min_parallel_table_scan_size` on, one more for
/// every tripling (`compute_parallel_worker` of `allpaths.c`).
fn workers_by_size(heap_bytes: u64, min_parallel_bytes: u64) -> u64 {
    if heap_bytes < min_parallel_bytes {
        return 0;
    }
    let triplings = (heap_bytes / min_parallel_bytes.max(1)).checked_ilog(3).unwrap_or(0);
    1 + u64::from(triplings)
}

/// The storage option `parallel_workers` that a table gets while its key is built; `None` if the server plans as many
/// by the table's size, or builds the key without workers. `workers` are those that each key may have, of which
/// `is_requested` ones are wanted whatever the size.
pub fn table_workers(
    heap_bytes: u64,
    min_parallel_bytes: u64,
    workers: u64,
    is_requested: bool,
) -> Option<u64> {
    let by_size = workers_by_size(heap_bytes, min_parallel_bytes);
    let wanted = if is_requested { workers } else { workers.min(heap_bytes / SCAN_BYTES) };
    let is_planned = !is_requested && wanted <= by_size;
    (by_size > 0 && wanted > 0 && !is_planned).then_some(wanted)
}

/// The storage option of large tables while their keys are built. It has the server ignore their sizes, by which even
/// 10 TiB make no more than 13 workers.
fn table_option(facts: &KeyFacts, workers: u64, maintenance_bytes: u64) -> Option<Choice> {
    let is_requested = facts.requested.is_some();
    if facts.has_option && !is_requested {
        return None;
    }
    let most = workers.min(workers_by_memory(maintenance_bytes)).min(facts.max_worker_processes);
    let least = units::bytes(facts.min_parallel_bytes);
    let wanted = table_workers(facts.heap_bytes, facts.min_parallel_bytes, most, is_requested)?;
    let reason = match is_requested {
        true => format!("on tables of {least} and more, only while their keys are built"),
        false => format!(
            "one for each {} of {}, for which the server alone plans {}; only while keys are built",
            units::bytes(SCAN_BYTES),
            units::bytes(facts.heap_bytes),
            workers_by_size(facts.heap_bytes, facts.min_parallel_bytes)
        ),
    };
    Some(choice("parallel_workers", wanted.to_string(), reason))
}

fn memory(facts: &KeyFacts, builds: u64) -> (u64, String) {
    let own = facts.maintenance_bytes;
    let Some(free) = facts.memory_available_bytes else {
        return (own, "the server's own: its machine's memory cannot be examined from here".to_owned());
    };
    let share = free / MEMORY_SHARE / builds;
    let sorted = facts.rows.saturating_mul(SORT_MEMORY_BYTES);
    let of_processes = facts.requested.map_or(0, |workers| (workers + 1) * WORKER_BYTES);
    let whole = sorted.max(of_processes);
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
    } else if whole <= share && sorted < of_processes {
        (wanted, format!("32 MiB for each of the {} processes of a key", of_processes / WORKER_BYTES))
    } else if whole <= share {
        (wanted, format!("has room for {} keys", units::count(facts.rows)))
    } else {
        (wanted, quarter())
    }
}

fn workers(facts: &KeyFacts, builds: u64, maintenance_bytes: u64) -> (u64, String) {
    let most = facts.max_parallel_workers.min(facts.max_worker_processes);
    let processes = facts.cpus.unwrap_or(u64::MAX).min(most.saturating_add(1));
    let workers = (processes / builds).saturating_sub(1).min(workers_by_memory(maintenance_bytes));
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
        max_worker_processes: 8,
        memory_available_bytes: Some(16 << 30),
        cpus: Some(4),
        rows: 10_000_000,
        heap_bytes: 1 << 30,
        min_parallel_bytes: 8 << 20,
        builds: 1,
        requested: None,
        has_option: false,
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

    fn requested(workers: u64) -> KeyFacts {
        KeyFacts { requested: Some(workers), max_worker_processes: 32, ..FACTS }
    }

    /// Article 003: 24 workers were requested, and the table's size alone makes 11 or 12.
    #[test]
    fn requested_workers_get_their_memory_and_the_option_of_the_table() {
        let chosen = KeySettings::choose(&KeyFacts { rows: 1_000_000, ..requested(24) });
        assert_eq!((chosen.workers, chosen.parallel_workers), (Some(24), Some(24)));
        assert_eq!((chosen.maintenance_bytes, chosen.limits.len()), (25 * (32 << 20), 0));
        let said: Vec<_> = chosen.choices.iter().map(|of| (of.name.as_str(), of.value.as_str())).collect();
        let expected = [
            ("maintenance_work_mem", "800 MiB"),
            ("max_parallel_maintenance_workers", "24"),
            ("max_parallel_workers", "24"),
            ("parallel_workers", "24"),
        ];
        assert_eq!(said, expected);
        assert_eq!(KeySettings::choose(&KeyFacts { version_num: 100_000, ..requested(24) }).workers, None);
    }

    /// By size a server plans 5 workers for 1 GiB, and 9 for 100 GiB, on any machine.
    #[test]
    fn workers_follow_from_processors_where_the_size_alone_plans_fewer() {
        assert_eq!(
            [0, 8 << 20, (24 << 20) - 1, 24 << 20, 1 << 30].map(|b| workers_by_size(b, 8 << 20)),
            [0, 1, 1, 2, 5]
        );
        assert_eq!(workers_by_size(100 << 30, 8 << 20), 9);
        let large = KeyFacts { cpus: Some(64), max_worker_processes: 64, max_parallel_workers: 64, ..FACTS };
        let large = KeyFacts { rows: 1_000_000_000, memory_available_bytes: Some(64 << 30), ..large };
        let option = |facts: KeyFacts| {
            let choices = KeySettings::choose(&facts).choices;
            choices.into_iter().find(|choice| choice.name == "parallel_workers")
        };
        let chosen = option(KeyFacts { heap_bytes: 100 << 30, ..large }).expect("the size plans 9");
        let reason =
            "one for each 64 MiB of 100 GiB, for which the server alone plans 9; only while keys are built";
        assert_eq!((&*chosen.value, &*chosen.reason), ("63", reason));
        assert_eq!(
            option(KeyFacts { heap_bytes: 1 << 30, ..large }).map(|of| of.value).as_deref(),
            Some("16")
        );
        assert_eq!(option(KeyFacts { heap_bytes: 256 << 20, ..large }), None, "4 either way");
        assert_eq!(option(FACTS), None, "there are processors for 3");
        assert_eq!(option(KeyFacts { heap_bytes: 100 << 30, has_option: true, ..large }), None);
        assert_eq!(option(KeyFacts { heap_bytes: 100 << 30, version_num: 100_000, ..large }), None);
    }

    #[test]
    fn what_allows_fewer_workers_is_named_the_lowest_first() {
        use KeyLimitKind::{Memory, TableSize, WorkerProcesses};
        let limits = |facts: KeyFacts| -> Vec<_> {
            let chosen = KeySettings::choose(&facts);
            chosen.limits.iter().map(|limit| (limit.of, limit.workers)).collect()
        };
        assert_eq!(limits(requested(8)), []);
        let poor = KeyFacts { memory_available_bytes: Some(1 << 30), rows: 100_000_000, ..requested(16) };
        assert_eq!(limits(poor), [(Memory, 7)], "256 MiB for eight processes");
        assert_eq!(limits(KeyFacts { builds: 8, ..poor }), [(Memory, 1), (WorkerProcesses, 4)]);
        let small = KeyFacts { heap_bytes: 1 << 20, ..requested(2) };
        assert_eq!(limits(small), [(TableSize, 0)]);
        let chosen = KeySettings::choose(&small);
        assert!(chosen.choices.iter().all(|of| of.name != "parallel_workers"), "{chosen:?}");
        assert_eq!(limits(KeyFacts { memory_available_bytes: None, ..requested(4) }), [(Memory, 1)]);
    }
}
