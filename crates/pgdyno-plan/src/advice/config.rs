//! Derives a `postgresql.conf` from facts: one small rule per setting, each with the reason for its value.
//!
//! No rule touches durability: `fsync`, `full_page_writes` and `synchronous_commit` stay as the server has them.

use pgdyno_core::{
    facts::{
        Choice, HostFacts, StorageFacts,
        amount::{GB, MB, format},
    },
    units::plural,
};

use super::logging::log_settings;

/// Facts that the rules use.
#[derive(Debug, Clone, Copy)]
pub struct Inputs<'a> {
    /// The machine that the server will run on.
    pub host: &'a HostFacts,
    /// Storage of the data directory.
    pub data: &'a StorageFacts,
    /// Storage of WAL if it is separate from the data directory.
    pub wal: Option<&'a StorageFacts>,
    /// `server_version_num`, for example 180004.
    pub version_num: u32,
    /// Number of client sessions open at the same time.
    pub clients: u32,
    /// Most tables and indexes that one statement locks; 0 if there are few.
    pub relations: u64,
    /// Parallel workers that a load requests for its keys.
    pub key_workers: KeyDemand,
    /// Size of a WAL segment in bytes.
    pub wal_segment_bytes: u64,
    /// Number of processors that the server is pinned to; `None` means all that are allowed.
    pub server_cpus: Option<u32>,
}

/// Parallel workers that were requested for building keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KeyDemand {
    /// Workers of each key; 0 if none were requested.
    pub each: u64,
    /// Keys that are built at the same time.
    pub keys: u64,
}

impl KeyDemand {
    /// Workers of all keys that are built at the same time, at most as many as PostgreSQL ever starts.
    pub fn total(self) -> u64 {
        self.each.saturating_mul(self.keys).min(MOST_WORKERS.max(self.each))
    }

    fn reason(self) -> String {
        let keys = plural(self.keys, "key");
        format!("{} requested for each key, {keys} at a time", plural(self.each, "worker"))
    }
}

/// Most parallel workers of one command (`MAX_PARALLEL_WORKER_LIMIT`): more keys at a time share them.
const MOST_WORKERS: u64 = 1_024;
/// Default of `max_worker_processes`.
pub(crate) const DEFAULT_WORKER_PROCESSES: u64 = 8;

/// Memory in bytes that a server may count on: physical memory, or less if a control group or the kernel's
/// commit limit is lower.
pub fn usable_memory_bytes(host: &HostFacts) -> u64 {
    let memory = &host.memory;
    let granted = memory.total_bytes.min(host.cgroup.memory_bytes.unwrap_or(u64::MAX));
    if memory.overcommit_mode == 2 {
        granted.min(memory.commit_limit_bytes.saturating_sub(memory.committed_bytes))
    } else {
        granted
    }
}

/// Settings derived from the facts, in reading order.
///
/// A setting that would stay at the server's default is left out; so is `wal_buffers`, which the server derives
/// from `shared_buffers`.
pub fn settings(inputs: &Inputs<'_>) -> Vec<Choice> {
    let rules: [fn(&Inputs<'_>) -> Option<Choice>; 17] = [
        shared_buffers,
        effective_cache_size,
        maintenance_work_mem,
        work_mem,
        max_connections,
        max_locks_per_transaction,
        max_wal_size,
        min_wal_size,
        checkpoint_timeout,
        checkpoint_completion_target,
        random_page_cost,
        effective_io_concurrency,
        max_worker_processes,
        max_parallel_workers,
        max_parallel_workers_per_gather,
        max_parallel_maintenance_workers,
        track_io_timing,
    ];
    let sized = rules.iter().filter_map(|rule| rule(inputs));
    sized.chain(log_settings(inputs.version_num)).collect()
}

fn choice(name: &str, value: impl ToString, reason: impl Into<String>) -> Option<Choice> {
    Some(Choice { name: name.to_owned(), value: value.to_string(), reason: reason.into() })
}

/// Names the source of the memory figure, for a reason.
fn memory_words(host: &HostFacts) -> String {
    let usable = usable_memory_bytes(host);
    let source = if usable == host.memory.total_bytes {
        "memory"
    } else if Some(usable) == host.cgroup.memory_bytes {
        "memory that the control group allows"
    } else {
        "memory left under CommitLimit (vm.overcommit_memory is 2)"
    };
    format!("{} MB of {source}", usable / MB)
}

/// Rounds down to whole megabytes, but to no less than `least` bytes.
pub(crate) fn whole_mb(bytes: u64, least: u64) -> u64 {
    (bytes / MB * MB).max(least)
}

fn shared_buffers_bytes(host: &HostFacts) -> u64 {
    let usable = usable_memory_bytes(host);
    // On a tiny machine a minimum of 16 MB would be over 40 % of memory, so the share wins.
    whole_mb(usable / 4, (16 * MB).min(usable * 2 / 5).max(MB / 8))
}

fn shared_buffers(inputs: &Inputs<'_>) -> Option<Choice> {
    let reason = format!("a quarter of {}", memory_words(inputs.host));
    choice("shared_buffers", format(shared_buffers_bytes(inputs.host)), reason)
}

fn effective_cache_size(inputs: &Inputs<'_>) -> Option<Choice> {
    let bytes = whole_mb(usable_memory_bytes(inputs.host) / 4 * 3, MB);
    let reason =
        format!("three quarters of {}: a hint to the planner, not reserved", memory_words(inputs.host));
    choice("effective_cache_size", format(bytes), reason)
}

fn maintenance_work_mem(inputs: &Inputs<'_>) -> Option<Choice> {
    let bytes = whole_mb(usable_memory_bytes(inputs.host) / 16, MB).min(2 * GB - MB);
    let reason = format!("a sixteenth of {}, below 2 GB", memory_words(inputs.host));
    choice("maintenance_work_mem", format(bytes), reason)
}

fn work_mem(inputs: &Inputs<'_>) -> Option<Choice> {
    let free = usable_memory_bytes(inputs.host) - shared_buffers_bytes(inputs.host);
    let connections = u64::from(connections_for(inputs.clients));
    let bytes = whole_mb(free / (3 * connections), 4 * MB).min(256 * MB);
    let reason =
        format!("memory beside shared_buffers over 3 x {connections} connections, from 4 MB to 256 MB");
    choice("work_mem", format(bytes), reason)
}

/// Value of `max_connections` for this many clients: 20 more for administration and observation, never below
/// the default of 100.
pub(crate) fn connections_for(clients: u32) -> u32 {
    clients.saturating_add(20).max(100)
}

pub(crate) fn max_connections(inputs: &Inputs<'_>) -> Option<Choice> {
    let value = connections_for(inputs.clients);
    let reason = format!("{} clients and 20 more for administration; at least 100", inputs.clients);
    choice("max_connections", value, reason)
}

/// Default of `max_locks_per_transaction`.
pub(crate) const DEFAULT_LOCKS: u64 = 64;
/// Bytes of shared memory for a lock and its holder (`LOCK`, `PROCLOCK` and their entries in hash tables).
const LOCK_BYTES: u64 = 400;
/// Sessions that may lock everything at once in any case.
const LOCKING_SESSIONS: u64 = 8;

/// Locks for a statement over all partitions in every session, such as the generic plan of a prepared statement: the
/// lock table has room for this number times that of sessions. Where that takes more than a sixteenth of memory, fewer
/// sessions have the room, since it is shared.
pub(crate) fn max_locks_per_transaction(inputs: &Inputs<'_>) -> Option<Choice> {
    let wanted = inputs.relations.saturating_add(DEFAULT_LOCKS);
    if wanted <= 2 * DEFAULT_LOCKS {
        return None;
    }
    let sessions = u64::from(connections_for(inputs.clients));
    let room = usable_memory_bytes(inputs.host) / 16 / LOCK_BYTES / sessions;
    let least = wanted.saturating_mul(LOCKING_SESSIONS).div_ceil(sessions).max(DEFAULT_LOCKS);
    let value = wanted.min(room.max(least));
    let reason = match value == wanted {
        true => format!("a statement may lock {} tables and indexes, in every session", inputs.relations),
        false => format!(
            "a statement may lock {} tables and indexes; {} sessions may do so at once",
            inputs.relations,
            value * sessions / wanted
        ),
    };
    choice("max_locks_per_transaction", value, reason)
}

/// Bytes for `max_wal_size`: a twentieth of the free space of its storage, between 1 GB and 16 GB and never
/// less than 8 segments. A multiple of 64 MB, so that a quarter (`min_wal_size`) is a multiple of 16 MB:
/// servers before 10 round to segments and would otherwise differ from newer ones.
fn max_wal_bytes(inputs: &Inputs<'_>) -> u64 {
    wal_room_bytes(inputs).min(16 * GB).max(8 * inputs.wal_segment_bytes)
}

/// A twentieth of the free space where WAL lies, in bytes, at least 1 GB and 8 segments.
pub(crate) fn wal_room_bytes(inputs: &Inputs<'_>) -> u64 {
    const STEP: u64 = 64 * MB;
    let storage = inputs.wal.unwrap_or(inputs.data);
    (whole_mb(storage.available_bytes / 20, GB) / STEP * STEP).max(8 * inputs.wal_segment_bytes)
}

fn max_wal_size(inputs: &Inputs<'_>) -> Option<Choice> {
    let storage = inputs.wal.unwrap_or(inputs.data);
    let reason = format!(
        "a twentieth of {} MB free where WAL lies, from 1 GB to 16 GB: time, not volume, starts checkpoints",
        storage.available_bytes / MB
    );
    choice("max_wal_size", format(max_wal_bytes(inputs)), reason)
}

fn min_wal_size(inputs: &Inputs<'_>) -> Option<Choice> {
    let bytes = whole_mb(max_wal_bytes(inputs) / 4, 2 * inputs.wal_segment_bytes);
    choice("min_wal_size", format(bytes), "a quarter of max_wal_size: segments are recycled, not created")
}

fn checkpoint_timeout(_: &Inputs<'_>) -> Option<Choice> {
    choice("checkpoint_timeout", "15min", "fewer full-page images than the default of 5min")
}

fn checkpoint_completion_target(inputs: &Inputs<'_>) -> Option<Choice> {
    let reason = "spreads the writes of a checkpoint; the default from version 14 on";
    (inputs.version_num < 140_000).then(|| choice("checkpoint_completion_target", "0.9", reason))?
}

fn random_page_cost(inputs: &Inputs<'_>) -> Option<Choice> {
    let fast = inputs.data.rotational == Some(false);
    fast.then(|| choice("random_page_cost", "1.1", "the kernel reports non-rotational storage for the data"))?
}

/// Pages to prefetch. Before version 13 the setting counted drives (release notes of 13: new = Σ old/i), so 26
/// there prefetches about as many pages as 100 does later.
fn effective_io_concurrency(inputs: &Inputs<'_>) -> Option<Choice> {
    if inputs.data.rotational != Some(false) {
        return None;
    }
    let value = match inputs.version_num {
        ..130_000 => 26,
        130_000..180_000 => 100,
        _ => 32,
    };
    choice("effective_io_concurrency", value, "non-rotational storage serves many reads at once")
}

fn cpus(inputs: &Inputs<'_>) -> u32 {
    let allowed = (inputs.host.cpu.allowed.len() as u32).max(1);
    let quota = inputs.host.cgroup.cpus.map_or(allowed, |cpus| (cpus.ceil() as u32).max(1));
    allowed.min(quota).min(inputs.server_cpus.unwrap_or(u32::MAX)).max(1)
}

/// One process more than workers: the launcher of logical replication is one of them.
pub(crate) fn max_worker_processes(inputs: &Inputs<'_>) -> Option<Choice> {
    let (cpus, wanted) = (u64::from(cpus(inputs)), inputs.key_workers.total());
    let (value, reason) = match wanted + 1 {
        processes if wanted > 0 && processes > cpus => (processes, inputs.key_workers.reason()),
        _ => (cpus, format!("one for each of {}", plural(cpus, "processor"))),
    };
    (value > DEFAULT_WORKER_PROCESSES).then(|| choice("max_worker_processes", value, reason))?
}

fn max_parallel_workers(inputs: &Inputs<'_>) -> Option<Choice> {
    let (cpus, wanted) = (u64::from(cpus(inputs)), inputs.key_workers.total());
    let (value, reason) = match wanted > cpus {
        true => (wanted, inputs.key_workers.reason()),
        false => (cpus, format!("one for each of {}", plural(cpus, "processor"))),
    };
    (inputs.version_num >= 100_000).then(|| choice("max_parallel_workers", value, reason))?
}

fn max_parallel_workers_per_gather(inputs: &Inputs<'_>) -> Option<Choice> {
    let cpus = cpus(inputs);
    let reason = format!("half of {}, at most 4", plural(cpus.into(), "processor"));
    let value = (cpus / 2).min(4);
    (inputs.version_num >= 90_600).then(|| choice("max_parallel_workers_per_gather", value, reason))?
}

fn max_parallel_maintenance_workers(inputs: &Inputs<'_>) -> Option<Choice> {
    let cpus = cpus(inputs);
    let (value, reason) = match inputs.key_workers.each {
        0 => (
            (cpus / 2).clamp(1, 8).into(),
            format!("half of {}, from 1 to 8", plural(cpus.into(), "processor")),
        ),
        each => (each, "requested for each key".to_owned()),
    };
    (inputs.version_num >= 110_000).then(|| choice("max_parallel_maintenance_workers", value, reason))?
}

pub(crate) fn track_io_timing(_: &Inputs<'_>) -> Option<Choice> {
    choice("track_io_timing", "on", "pgdyno records read and write times")
}

#[cfg(test)]
mod tests {
    use pgdyno_core::facts::{
        HostFacts,
        amount::{BLOCK, parse},
    };
    use proptest::prelude::*;

    use super::*;
    use crate::advice::will_it_start::tests::{host, storage};

    fn sized(host: &HostFacts, data: &StorageFacts, version_num: u32) -> Vec<Choice> {
        settings(&Inputs {
            host,
            data,
            wal: None,
            version_num,
            clients: 64,
            relations: 0,
            key_workers: KeyDemand::default(),
            wal_segment_bytes: 16 * MB,
            server_cpus: None,
        })
    }

    fn value<'a>(choices: &'a [Choice], name: &str) -> Option<&'a str> {
        choices.iter().find(|choice| choice.name == name).map(|choice| choice.value.as_str())
    }

    fn bytes(choices: &[Choice], name: &str) -> u64 {
        parse(value(choices, name).expect("it is chosen"), BLOCK).expect("it is an amount")
    }

    #[test]
    fn partitions_have_their_locks() {
        let locks = |relations: u64, clients: u32, memory: u64| {
            let (host, data) = (host(memory), storage(100 * GB, None));
            let inputs = Inputs {
                host: &host,
                data: &data,
                wal: None,
                version_num: 180_004,
                clients,
                relations,
                key_workers: KeyDemand::default(),
                wal_segment_bytes: 16 * MB,
                server_cpus: None,
            };
            max_locks_per_transaction(&inputs).map(|choice| choice.value.parse::<u64>().expect("a number"))
        };
        assert_eq!((locks(0, 64, 16 * GB), locks(64, 64, 16 * GB)), (None, None));
        assert_eq!(locks(8_192, 64, 16 * GB), Some(8_256));
        // In a gibibyte they do not fit for a thousand sessions, but for eight they always do.
        let few = locks(8_192, 1_000, GB).expect("they are many");
        assert!((64..8_256).contains(&few) && few * 1_020 >= 8 * 8_256, "{few}");
    }

    /// Article 003: 24 workers for one key, where the server started no more than 18.
    #[test]
    fn requested_workers_of_keys_have_their_processes() {
        let of = |key_workers: KeyDemand, version_num| {
            let (host, data) = (host(16 * GB), storage(100 * GB, None));
            let inputs = Inputs {
                host: &host,
                data: &data,
                wal: None,
                version_num,
                clients: 8,
                relations: 0,
                key_workers,
                wal_segment_bytes: 16 * MB,
                server_cpus: None,
            };
            let choices = settings(&inputs);
            let names = ["max_worker_processes", "max_parallel_workers", "max_parallel_maintenance_workers"];
            names.map(|name| value(&choices, name).map(str::to_owned))
        };
        let some = |values: [&str; 3]| values.map(|value| Some(value.to_owned()));
        let asked = |each, keys| KeyDemand { each, keys };
        assert_eq!(of(asked(24, 1), 180_004), some(["25", "24", "24"]));
        assert_eq!(of(asked(6, 4), 180_004), some(["25", "24", "6"]));
        assert_eq!(of(asked(2, 1), 180_004), [None, Some("4".into()), Some("2".into())]);
        assert_eq!(of(asked(1_000, 1_000), 180_004)[0].as_deref(), Some("1025"));
        assert_eq!(of(KeyDemand::default(), 90_600), [None, None, None]);
    }

    #[test]
    fn a_common_machine() {
        let choices = sized(&host(16 * GB), &storage(100 * GB, Some(false)), 180_004);
        for (name, expected) in [
            ("shared_buffers", "4GB"),
            ("effective_cache_size", "12GB"),
            ("maintenance_work_mem", "1GB"),
            ("work_mem", "40MB"),
            ("max_connections", "100"),
            ("max_wal_size", "5GB"),
            ("min_wal_size", "1280MB"),
            ("random_page_cost", "1.1"),
            ("effective_io_concurrency", "32"),
            ("max_parallel_workers", "4"),
            ("max_parallel_workers_per_gather", "2"),
        ] {
            assert_eq!(value(&choices, name), Some(expected), "{name}");
        }
        assert!(choices.iter().all(|choice| !choice.reason.is_empty()));
    }

    #[test]
    fn the_control_group_counts_where_it_is_smaller() {
        let mut host = host(64 * GB);
        host.cgroup.memory_bytes = Some(4 * GB);
        host.cgroup.cpus = Some(1.5);
        let choices = sized(&host, &storage(100 * GB, None), 170_000);
        assert_eq!(value(&choices, "shared_buffers"), Some("1GB"));
        assert_eq!(value(&choices, "max_parallel_workers"), Some("2"));
        assert!(choices[0].reason.contains("control group"), "{}", choices[0].reason);
    }

    #[test]
    fn the_commit_limit_counts_only_where_the_kernel_keeps_it() {
        let mut host = host(16 * GB);
        host.memory.commit_limit_bytes = 5 * GB;
        host.memory.committed_bytes = GB;
        assert_eq!(usable_memory_bytes(&host), 16 * GB);
        host.memory.overcommit_mode = 2;
        assert_eq!(usable_memory_bytes(&host), 4 * GB);
    }

    #[test]
    fn old_majors_get_only_settings_they_know() {
        let choices = sized(&host(GB), &storage(GB, Some(false)), 90_624);
        assert_eq!(value(&choices, "max_parallel_workers"), None);
        assert_eq!(value(&choices, "max_parallel_maintenance_workers"), None);
        assert_eq!(value(&choices, "checkpoint_completion_target"), Some("0.9"));
        assert_eq!(value(&choices, "effective_io_concurrency"), Some("26"));
        assert_eq!(value(&choices, "max_parallel_workers_per_gather"), Some("2"));
        let choices = sized(&host(GB), &storage(GB, Some(false)), 90_503);
        assert_eq!(value(&choices, "max_parallel_workers_per_gather"), None);
    }

    #[test]
    fn rotating_and_unknown_storage_keep_the_defaults() {
        for rotational in [Some(true), None] {
            let choices = sized(&host(GB), &storage(GB, rotational), 150_000);
            assert_eq!(value(&choices, "random_page_cost"), None);
            assert_eq!(value(&choices, "effective_io_concurrency"), None);
        }
    }

    proptest! {
        #[test]
        fn shared_buffers_stays_under_two_fifths_and_grows_with_memory(a in MB..1 << 45, b in MB..1 << 45) {
            let (small, large) = (a.min(b), a.max(b));
            let data = storage(GB, None);
            let of = |memory| bytes(&sized(&host(memory), &data, 180_000), "shared_buffers");
            prop_assert!(of(small) <= small * 2 / 5);
            prop_assert!(of(small) <= of(large));
        }

        #[test]
        fn what_is_chosen_can_start(
            memory in 64 * MB..1 << 45, free in 0_u64..1 << 50, old in any::<bool>()
        ) {
            let host = host(memory);
            let version = if old { 90_624 } else { 180_000 };
            let chosen = sized(&host, &storage(free, Some(false)), version);
            let map = chosen.iter().map(|choice| (choice.name.clone(), choice.value.clone())).collect();
            prop_assert_eq!(crate::advice::will_it_start::problems(&host, version, BLOCK, &map), vec![]);
        }

        #[test]
        fn wal_sizes_hold_what_the_server_asks_for(free in 0_u64..1 << 50, shift in 20_u32..31) {
            let host = host(GB);
            let data = storage(free, None);
            let segment = 1_u64 << shift;
            let inputs = Inputs { host: &host, data: &data, wal: None, version_num: 180_000, clients: 1, relations: 0,
                key_workers: KeyDemand::default(), wal_segment_bytes: segment, server_cpus: None };
            let choices = settings(&inputs);
            prop_assert!(bytes(&choices, "min_wal_size") >= 2 * segment);
            prop_assert!(bytes(&choices, "max_wal_size") >= bytes(&choices, "min_wal_size"));
        }

        #[test]
        fn durability_is_never_touched(memory in MB..1 << 45, version in 90_600_u32..190_000) {
            for choice in sized(&host(memory), &storage(GB, Some(false)), version) {
                prop_assert!(!["fsync", "full_page_writes", "synchronous_commit", "wal_sync_method"]
                    .contains(&choice.name.as_str()));
            }
        }
    }
}
