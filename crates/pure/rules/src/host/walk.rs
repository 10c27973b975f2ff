//! What holds for all rules of hosts, and which names have one.

use std::collections::BTreeSet;

use pgdyno_core::facts::amount::GB;
use pgdyno_core::host::{
    BlockDevice, BlockedProcess, Cgroup, DeviceKind, HugePagePool, IdleState, Interface, Inventory, Knob,
    Limit, LimitLine, NumaNode, Pressure, Swap, SysctlLine, TableOption,
};
use proptest::{collection::vec, prelude::*, sample::select};

use super::{Facts, check, rules, testing};
use crate::{Finding, Purpose};

/// Kernel parameters that the published recipes set.
const SYSCTLS: [&str; 44] = [
    "fs.aio-max-nr",
    "fs.file-max",
    "fs.nr_open",
    "kernel.core_pattern",
    "kernel.sem",
    "kernel.shmall",
    "kernel.shmmax",
    "kernel.shmmni",
    "net.core.netdev_max_backlog",
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.core.somaxconn",
    "net.core.wmem_default",
    "net.core.wmem_max",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_max_tw_buckets",
    "net.ipv4.tcp_mem",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_synack_retries",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_tw_recycle",
    "net.ipv4.tcp_tw_reuse",
    "net.ipv4.tcp_wmem",
    "net.netfilter.nf_conntrack_max",
    "net.nf_conntrack_max",
    "vm.dirty_background_bytes",
    "vm.dirty_expire_centisecs",
    "vm.dirty_ratio",
    "vm.dirty_writeback_centisecs",
    "vm.extra_free_kbytes",
    "vm.lowmem_reserve_ratio",
    "vm.min_free_kbytes",
    "vm.mmap_min_addr",
    "vm.nr_hugepages",
    "vm.overcommit_memory",
    "vm.overcommit_ratio",
    "vm.swappiness",
    "vm.zone_reclaim_mode",
];

/// Other names that have to be explained.
const OTHERS: [&str; 29] = [
    "vm.dirty_background_ratio",
    "vm.dirty_bytes",
    "vm.hugetlb_shm_group",
    "vm.overcommit_kbytes",
    "vm.vfs_cache_pressure",
    "vm.watermark_scale_factor",
    "net.ipv4.tcp_retries2",
    "kernel.numa_balancing",
    "kernel.sched_autogroup_enabled",
    "kernel.sched_migration_cost_ns",
    "vm.max_map_count",
    "vm.nr_overcommit_hugepages",
    "kernel.perf_event_paranoid",
    "nofile",
    "nproc",
    "core",
    "memlock",
    "stack",
    "limits.d",
    "20-nproc.conf",
    "transparent_hugepage/enabled",
    "clocksource",
    "irqbalance",
    "combined",
    "CommitLimit",
    "PG_OOM_ADJUST_FILE",
    "governor",
    "smt",
    "steal",
];

/// Settings of a server that rules ask for.
const SETTINGS: [&str; 24] = [
    "shared_buffers",
    "shared_memory_size",
    "max_connections",
    "max_files_per_process",
    "max_worker_processes",
    "max_locks_per_transaction",
    "wal_buffers",
    "huge_pages",
    "huge_page_size",
    "shared_memory_type",
    "work_mem",
    "max_stack_depth",
    "io_method",
    "port",
    "num_os_semaphores",
    "tcp_keepalives_idle",
    "tcp_keepalives_interval",
    "archive_mode",
    "archive_command",
    "commit_delay",
    "synchronous_commit",
    "fsync",
    "autovacuum_freeze_max_age",
    "autovacuum_max_workers",
];

const ODD: [&str; 24] = [
    "",
    "0",
    "1",
    "2",
    "-1",
    "100",
    "65536",
    "9223372036854775807",
    "18446744073709551615",
    "-9223372036854775808",
    "99999999999999999999",
    "1 2",
    "1 2 3",
    "9 8 7",
    "18446744073709551615 0 18446744073709551615",
    "1 2 3 4",
    "0 18446744073709551615 1 18446744073709551615",
    "on",
    "off",
    "sysv",
    "io_uring",
    "8191PB",
    "7EB ",
    "é|%p",
];

#[test]
fn appendix_a_sysctls_and_limits_have_rules() {
    for name in SYSCTLS.iter().chain(&OTHERS) {
        let pages = rules().filter(|rule| rule.page.is_of(name)).count();
        assert_eq!(pages, 1, "{name}");
    }
    for name in SYSCTLS {
        assert!(rules().any(|rule| rule.page.name == name), "{name} has a page of its own");
    }
}

#[test]
fn names_are_unique() {
    let mut seen = BTreeSet::new();
    for page in rules().map(|rule| rule.page) {
        for name in std::iter::once(&page.name).chain(page.also) {
            // Options such as `lvcreate -i` and `-I` differ by case alone.
            let key = if name.contains('-') { (*name).to_owned() } else { name.to_ascii_lowercase() };
            assert!(seen.insert(key), "{name} is explained twice");
        }
    }
}

#[test]
fn pages_are_sentences_with_sources() {
    for page in rules().map(|rule| rule.page) {
        for text in [page.what, page.why, page.source] {
            assert_sentence(text, page.name);
        }
        if !page.danger.is_empty() {
            assert_sentence(page.danger, page.name);
        }
    }
}

fn assert_sentence(text: &str, name: &str) {
    assert!(text.ends_with('.') && text.len() > 1, "{name}: {text:?} is no sentence");
    assert!(!text.contains('\n') && !text.contains("  "), "{name}: {text:?} has blanks of the source");
}

#[test]
fn an_empty_inventory_is_judged() {
    let host = Inventory::default();
    for purpose in Purpose::ALL {
        for finding in check(&Facts { host: &host, purpose }) {
            assert_finding(&finding);
            assert_eq!(finding.standing, crate::Standing::Unknown, "{finding:?} claims something of nothing");
        }
    }
}

/// What holds for every finding.
fn assert_finding(finding: &Finding) {
    assert!(rules().any(|rule| rule.page.name == finding.name), "{finding:?} has no page");
    assert_sentence(&finding.reason.replace(['\n', ' '], "_"), &finding.name);
    if let Some(change) = &finding.change {
        assert!(change.knob.is_reversible(), "{finding:?}");
        let told = match &change.knob {
            Knob::Sysctl(other) if *other != finding.name => format!("{other} = {}", change.value),
            _ => change.value.clone(),
        };
        assert_eq!(Some(&told), finding.recommended.as_ref(), "{finding:?}");
        assert!(!matches!(finding.standing, crate::Standing::Fine | crate::Standing::Unknown), "{finding:?}");
        assert_ne!(finding.present.as_ref(), Some(&change.value), "{finding:?} changes nothing");
    }
}

fn odd() -> impl Strategy<Value = String> {
    prop_oneof![
        select(&ODD[..]).prop_map(str::to_owned),
        any::<u64>().prop_map(|number| number.to_string()),
        (0_u64..100_000).prop_map(|number| number.to_string()),
    ]
}

fn size() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(1), Just(u64::MAX), 0..(1_u64 << 42), any::<u64>()]
}

fn pairs(names: Vec<&'static str>) -> impl Strategy<Value = Vec<(String, String)>> {
    vec((select(names).prop_map(str::to_owned), odd()), 0..40)
}

/// A host with odd kernel parameters and sizes.
fn odd_host() -> impl Strategy<Value = Inventory> {
    let names: Vec<&'static str> = SYSCTLS.iter().chain(&OTHERS[..13]).copied().collect();
    let releases = select(vec!["", "3.10.0", "4.9", "5.10.0", "6.17.1", "99999999999.1"]);
    (pairs(names), releases, vec(size(), 8)).prop_map(|(sysctls, release, sizes)| {
        let mut host = testing::on_kernel(testing::host(&[]), release);
        for (name, value) in sysctls {
            let line = SysctlLine { file: String::new(), name: name.clone(), value: value.clone() };
            host.kernel.sysctl_lines.push(line);
            host.kernel.sysctls.insert(name, value);
        }
        host.memory.total_bytes = sizes[0];
        host.memory.page_bytes = sizes[1];
        host.memory.default_huge_page_bytes = Some(sizes[2]);
        host.memory.huge_pages = vec![HugePagePool {
            page_bytes: sizes[2],
            total: sizes[3],
            free: sizes[4],
            reserved: sizes[5],
            overcommit: 0,
        }];
        host.memory.committed_bytes = Some(sizes[6]);
        let swap = Swap { size_bytes: sizes[7], used_bytes: sizes[6], ..Swap::default() };
        host.memory.swaps = (sizes[5] != 1).then(|| vec![swap]);
        if sizes[3] == 1 {
            host.memory.huge_pages.clear();
            host.memory.default_huge_page_bytes = None;
            host.arch = "x86_64".to_owned();
        }
        host.devices = vec![
            BlockDevice { kind: DeviceKind::Nvme, size_bytes: GB, ..BlockDevice::default() };
            sizes[1] as usize % 3
        ];
        host
    })
}

/// The same with a server, limits and all else that rules ask for.
fn odd_server() -> impl Strategy<Value = Inventory> {
    let options = ["autovacuum_freeze_max_age", "autovacuum_freeze_table_age", "fillfactor"];
    let item = || select(vec!["nofile", "nproc", "core", "memlock", "stack"]).prop_map(str::to_owned);
    let kind = || select(vec!["soft", "hard", "-", ""]).prop_map(str::to_owned);
    let domain = || select(vec!["*", "@dba", "postgres", ""]).prop_map(str::to_owned);
    let lines = vec((domain(), kind(), item(), odd()), 0..8);
    let server = (0_u32..20, pairs(SETTINGS.to_vec()), pairs(options.to_vec()), any::<Option<i32>>());
    (odd_host(), server, lines, vec(size(), 4), any::<f64>()).prop_map(
        |(host, (major, settings, options, score), lines, sizes, share)| {
            let mut host = testing::with_server(host, major, &[]);
            let server = host.server.as_mut().expect("it was put there");
            server.settings = settings.into_iter().collect();
            let option = |(name, value)| TableOption { table: String::new(), name, value };
            server.table_options = options.into_iter().map(option).collect();
            server.oom_score_adjustment = score;
            server.huge_page_bytes = Some(sizes[0]);
            for name in [
                "Max open files",
                "Max processes",
                "Max core file size",
                "Max locked memory",
                "Max stack size",
            ] {
                server.limits.insert(name.to_owned(), Limit { soft: Some(sizes[1]), hard: None });
            }
            let line =
                |(domain, kind, item, value)| LimitLine { file: String::new(), domain, kind, item, value };
            host.login.lines = lines.into_iter().map(line).collect();
            let numbers = [sizes[2], sizes[3]].map(|size| u32::try_from(size).unwrap_or(u32::MAX));
            host.cpu.numa_nodes = vec![NumaNode { memory_bytes: Some(sizes[2]), ..NumaNode::default() }; 2];
            host.cpu.idle_states = vec![IdleState { latency_us: sizes[3], ..IdleState::default() }];
            host.cpu.steal_share = Some(share);
            host.cpu.steal_share_of_wanted = (sizes[0] != 1).then_some(share);
            let queues = Some((numbers[0], numbers[1]));
            let speed_mbit_s = Some(sizes[0]);
            host.network = vec![Interface {
                queues,
                most_queues: queues.map(|pair| pair.1),
                speed_mbit_s,
                ..Interface::default()
            }];
            let pressure = vec![Pressure { of: "memory".to_owned(), some_share: share, full_share: None }];
            let (memory_bytes, cpus, processes) = (Some(sizes[1]), Some(share), Some(sizes[3]));
            host.kernel.cgroup = Cgroup { version: Some(2), memory_bytes, cpus, processes, pressure };
            let waited_s = Some(share * 1e9);
            host.kernel.blocked = vec![BlockedProcess { waited_s, ..BlockedProcess::default() }];
            host
        },
    )
}

proptest! {
    #[test]
    fn odd_hosts_are_judged(host in odd_host()) {
        for purpose in Purpose::ALL {
            check(&Facts { host: &host, purpose }).iter().for_each(assert_finding);
        }
    }

    #[test]
    fn odd_servers_are_judged(host in odd_server()) {
        for purpose in Purpose::ALL {
            check(&Facts { host: &host, purpose }).iter().for_each(assert_finding);
        }
    }
}
