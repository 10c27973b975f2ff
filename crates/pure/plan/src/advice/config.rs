//! The `postgresql.conf` of servers that pgdyno starts: a part of the rules of `pgdyno-settings`.
//!
//! No rule touches durability: `fsync`, `full_page_writes` and `synchronous_commit` stay as the server has them.

use pgdyno_core::facts::Choice;
pub(crate) use pgdyno_settings::{DEFAULT_LOCKS, DEFAULT_WORKER_PROCESSES, choose};
pub use pgdyno_settings::{
    Inputs, KeyDemand, Purpose, connections_for, usable_memory_bytes, wal_room_bytes, whole_mb,
};

use super::logging::log_settings;

/// Settings that servers of pgdyno get, in reading order. A longer list would make them other servers than those of
/// earlier records; `recommend` of the rules has more for a server that stays.
const CHOSEN: [&str; 17] = [
    "shared_buffers",
    "effective_cache_size",
    "maintenance_work_mem",
    "work_mem",
    "max_connections",
    "max_locks_per_transaction",
    "max_wal_size",
    "min_wal_size",
    "checkpoint_timeout",
    "checkpoint_completion_target",
    "random_page_cost",
    "effective_io_concurrency",
    "max_worker_processes",
    "max_parallel_workers",
    "max_parallel_workers_per_gather",
    "max_parallel_maintenance_workers",
    "track_io_timing",
];

/// Settings derived from the facts, in reading order.
///
/// A setting that would stay at the server's default is left out; so is `wal_buffers`, which the server derives
/// from `shared_buffers`.
pub fn settings(inputs: &Inputs<'_>) -> Vec<Choice> {
    CHOSEN.iter().filter_map(|name| choose(name, inputs)).chain(log_settings(inputs)).collect()
}

#[cfg(test)]
mod tests {
    use pgdyno_core::{
        facts::amount::{BLOCK, GB, MB, parse},
        host::{Inventory, Storage, samples::storage},
    };
    use proptest::prelude::*;

    use super::*;
    use crate::advice::will_it_start::tests::host;

    fn sized(host: &Inventory, data: &Storage, version_num: u32) -> Vec<Choice> {
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
            purpose: Purpose::Oltp,
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
                purpose: Purpose::Oltp,
            };
            choose("max_locks_per_transaction", &inputs)
                .map(|choice| choice.value.parse::<u64>().expect("a number"))
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
                purpose: Purpose::Oltp,
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
        host.kernel.cgroup.memory_bytes = Some(4 * GB);
        host.kernel.cgroup.cpus = Some(1.5);
        let choices = sized(&host, &storage(100 * GB, None), 170_000);
        assert_eq!(value(&choices, "shared_buffers"), Some("1GB"));
        assert_eq!(value(&choices, "max_parallel_workers"), Some("2"));
        assert!(choices[0].reason.contains("control group"), "{}", choices[0].reason);
    }

    #[test]
    fn the_commit_limit_counts_only_where_the_kernel_keeps_it() {
        let mut host = host(16 * GB);
        host.memory.commit_limit_bytes = Some(5 * GB);
        host.memory.committed_bytes = Some(GB);
        assert_eq!(usable_memory_bytes(&host), 16 * GB);
        host.kernel.sysctls.insert("vm.overcommit_memory".into(), "2".into());
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
                key_workers: KeyDemand::default(), wal_segment_bytes: segment, server_cpus: None,
                purpose: Purpose::Oltp };
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
