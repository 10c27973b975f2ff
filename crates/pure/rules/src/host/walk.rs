//! What holds for all rules of hosts, and which names have one.

use std::collections::BTreeSet;

use pgdyno_core::{
    facts::amount::GB,
    host::{
        BlockDevice, BlockedProcess, Cgroup, DeviceKind, HugePagePool, IdleState, Interface, Inventory, Knob,
        Limit, LimitLine, Mount, NumaNode, PgPurpose, Pressure, Stripe, Swap, SysctlLine, TableOption,
        ZfsDataset,
    },
};
use proptest::{collection::vec, prelude::*, sample::select};

use super::{
    FAMILIES, Facts, check, rules,
    testing::{self, booted, device, mount, with_directory, with_setting},
};
use crate::{Finding, Gain, Purpose, Standing, Today};

/// How many rules each family has.
const COUNTS: &[(&str, usize)] = &[
    ("Memory", 12),
    ("Overcommit", 4),
    ("Writeback", 6),
    ("Huge pages", 6),
    ("Processors", 12),
    ("Shared memory and semaphores", 4),
    ("Limits", 11),
    ("Network", 11),
    ("TCP", 15),
    ("Control groups and containers", 4),
    ("Combinations", 3),
    ("Boot line", 13),
    ("Volumes", 7),
    ("Disks", 9),
    ("LVM", 9),
    ("File systems", 7),
    ("ext4", 15),
    ("XFS", 14),
    ("ZFS", 12),
    ("Clusters", 8),
    ("Builds", 17),
    ("Tables and sessions", 15),
];

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

/// Names that the articles set, as they write them, by the families of the list of all their names.
const NAMES: &[(&str, &[&str])] = &[
    ("boot line", &["numa=off", "elevator=deadline", "intel_idle.max_cstate=0", "scsi_mod.scan=sync"]),
    ("block", &["rq_affinity", "--setra 16384", "mq CPU list"]),
    (
        "LVM",
        &[
            "pvcreate --dataalignment",
            "lvm.conf types",
            "vgcreate -s",
            "vgcreate -A y",
            "lvcreate -i",
            "lvcreate -I",
            "lvcreate -L",
            "lvcreate -l",
            "lvcreate -s -c",
        ],
    ),
    (
        "ext4",
        &[
            "mkfs.ext4 -m 0",
            "-O extent",
            "uninit_bg",
            "lazy_itable_init",
            "stride",
            "stripe_width",
            "mkfs.ext4 -b 4096",
            "mkfs.ext4 -T largefile",
            "mkfs.ext4 -L",
            "noatime",
            "nodiratime",
            "nodelalloc",
            "barrier=0",
            "data=writeback",
        ],
    ),
    (
        "XFS",
        &[
            "mkfs.xfs -b size",
            "mkfs.xfs -l logdev",
            "mkfs.xfs -l size",
            "mkfs.xfs -l sunit",
            "mkfs.xfs -d agcount",
            "mkfs.xfs -d agsize",
            "mkfs.xfs -d sunit",
            "mkfs.xfs -d swidth",
            "nobarrier",
            "largeio",
            "nolargeio",
            "logbsize",
            "logdev",
            "noatime",
            "nodiratime",
            "swalloc",
            "allocsize",
            "inode64",
        ],
    ),
    (
        "ZFS",
        &[
            "ashift",
            "recordsize",
            "atime",
            "primarycache",
            "secondarycache",
            "logbias",
            "canmount",
            "mountpoint",
            "zfs_prefetch_disable",
            "zfs_arc_shrink_shift",
        ],
    ),
    (
        "initdb",
        &["initdb -E", "--locale", "--lc-collate", "--lc-ctype", "--wal-segsize", "initdb -X", "initdb -U"],
    ),
    (
        "configure",
        &[
            "--with-blocksize",
            "--with-wal-segsize",
            "--with-pgport",
            "--with-perl",
            "--with-python",
            "--with-tcl",
            "--with-openssl",
            "--with-pam",
            "--with-ldap",
            "--with-libxml",
            "--with-libxslt",
            "--enable-thread-safety",
            "-O3",
            "-march=native",
            "-flto",
            "-O2",
            "-fstrict-enums",
        ],
    ),
    (
        "tables and sessions",
        &[
            "parallel_workers",
            "autovacuum_enabled",
            "table autovacuum_freeze_max_age",
            "autovacuum_freeze_table_age",
            "table autovacuum_multixact_freeze_max_age",
            "autovacuum_multixact_freeze_table_age",
            "sequence CACHE",
            "enable_indexscan",
            "enable_indexonlyscan",
            "enable_bitmapscan",
            "enable_seqscan",
            "SET max_parallel_workers_per_gather",
            "SET maintenance_work_mem",
            "role search_path",
        ],
    ),
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
fn no_rule_is_lost() {
    let counts: Vec<_> = FAMILIES.iter().map(|family| (family.title, family.rules.len())).collect();
    assert_eq!(counts, COUNTS);
    assert_eq!(rules().count(), 214);
}

#[test]
fn every_name_of_the_articles_has_one_page() {
    let names = NAMES.iter().flat_map(|(_, names)| *names);
    for name in SYSCTLS.iter().chain(&OTHERS).chain(names) {
        let pages: Vec<&str> =
            rules().filter(|rule| rule.page.is_of(name)).map(|rule| rule.page.name).collect();
        assert_eq!(pages.len(), 1, "{name}: {pages:?}");
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
            let owners: Vec<&str> =
                rules().filter(|rule| rule.page.is_of(name)).map(|rule| rule.page.name).collect();
            assert_eq!(owners, [page.name], "{name}");
            // Options such as `lvcreate -i` and `-I` differ by case alone.
            let key = if name.contains('-') { (*name).to_owned() } else { name.to_ascii_lowercase() };
            assert!(seen.insert(key), "{name} is explained twice");
        }
    }
}

#[test]
fn pages_are_sentences_with_sources() {
    for page in rules().map(|rule| rule.page) {
        let danger = Some(page.danger).filter(|text| !text.is_empty());
        for text in [page.what, page.why].into_iter().chain(danger) {
            assert_sentence(text, page.name);
            assert!(text.len() > 15, "{}: {text}", page.name);
        }
        assert_sentence(page.source, page.name);
        assert!(page.today != Today::Dangerous || !page.danger.is_empty(), "{}: which danger?", page.name);
        assert!(page.also.iter().all(|name| !name.is_empty() && *name != page.name), "{}", page.name);
        if let Gain::Measured { by, result } = page.gain {
            let is_told = by.contains("machine") && result.contains('%');
            assert!(is_told, "{}: who measured what? {by}: {result}", page.name);
        }
    }
}

fn assert_sentence(text: &str, name: &str) {
    assert!(text.ends_with('.') && text.len() > 5, "{name}: {text:?} is no sentence");
    assert!(!text.contains('\n') && !text.contains("  "), "{name}: {text:?} has blanks of the source");
}

/// Rules that report what every host has and this one does not show.
const EXPECTED: [&str; 10] = [
    "vm.swappiness",
    "vm.min_free_kbytes",
    "vm.overcommit_memory",
    "vm.dirty_background_bytes",
    "vm.dirty_bytes",
    "vm.nr_hugepages",
    "transparent_hugepage/enabled",
    "clocksource",
    "fs.file-max",
    "net.core.somaxconn",
];

#[test]
fn an_empty_inventory_is_judged() {
    let host = Inventory::default();
    for purpose in Purpose::ALL {
        let found = check(&Facts { host: &host, purpose });
        for finding in &found {
            assert_finding(finding);
            assert_eq!(finding.standing, Standing::Unknown, "{finding:?} claims something of nothing");
        }
        let names: Vec<&str> = found.iter().map(|finding| finding.name.as_str()).collect();
        assert_eq!(names, EXPECTED);
    }
}

/// What holds for every finding.
fn assert_finding(finding: &Finding) {
    assert!(rules().any(|rule| rule.page.name == finding.name), "{finding:?} has no page");
    assert_sentence(&finding.reason.replace(['\n', ' '], "_"), &finding.name);
    let Some(change) = &finding.change else { return };
    assert!(!matches!(finding.standing, Standing::Fine | Standing::Unknown), "{finding:?}");
    let is_word = matches!(change.knob, Knob::BootWord(_));
    assert!(is_word || !change.value.is_empty(), "{finding:?}");
    if is_elsewhere(finding) {
        return;
    }
    assert!(change.knob.is_reversible(), "{finding:?}");
    let expected = match &change.knob {
        Knob::Sysctl(other) if *other != finding.name => format!("{other} = {}", change.value),
        _ => change.value.clone(),
    };
    assert_eq!(Some(&expected), finding.recommended.as_ref(), "{finding:?}");
    assert_ne!(finding.present.as_ref(), Some(&change.value), "{finding:?} changes nothing");
}

/// Whether a finding changes something in other words than it recommends: what only the administrator sets, and what
/// has other units in sysfs.
fn is_elsewhere(finding: &Finding) -> bool {
    let knob = finding.change.as_ref().map(|change| &change.knob);
    matches!(knob, Some(Knob::BootWord(_) | Knob::MountOption(_)))
        || matches!(knob, Some(Knob::Sysfs(file)) if file.starts_with("/sys/block/"))
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
fn odd_parameters() -> impl Strategy<Value = Inventory> {
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
    (odd_parameters(), server, lines, vec(size(), 4), any::<f64>()).prop_map(
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

fn odd_number() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![Just(None), select(vec![0, 1, 7, 512, 4096, 8192, 65536, 1 << 20, u64::MAX]).prop_map(Some)]
}

fn odd_text() -> impl Strategy<Value = Option<String>> {
    let texts = [
        "",
        " ",
        "none",
        "off",
        "on",
        "0",
        "write back",
        "throughput",
        "disabled",
        "bfq",
        "mq-deadline",
        "é=\u{0}",
    ];
    prop_oneof![Just(None), select(texts.to_vec()).prop_map(|text| Some(text.to_owned()))]
}

fn odd_stripe() -> impl Strategy<Value = Option<Stripe>> {
    let levels = select(vec!["raid0", "raid1", "raid5", "raid6", "raid10", "striped", ""]);
    let stripe =
        (levels, select(vec![0, 1, 3, u32::MAX]), odd_number()).prop_map(|(level, members, chunk)| Stripe {
            level: level.to_owned(),
            members,
            chunk_bytes: chunk.unwrap_or(0),
        });
    prop::option::of(stripe)
}

fn odd_device(name: &'static str, parents: &'static [&'static str]) -> impl Strategy<Value = BlockDevice> {
    let kinds = [
        DeviceKind::Disk,
        DeviceKind::Nvme,
        DeviceKind::Virtual,
        DeviceKind::Partition,
        DeviceKind::Lvm,
        DeviceKind::Md,
    ];
    let numbers = vec(odd_number(), 7);
    let offset = prop::option::of(select(vec![0, -1, i64::MIN, i64::MAX]));
    (select(kinds.to_vec()), numbers, odd_text(), any::<Option<bool>>(), offset, odd_stripe()).prop_map(
        move |(kind, numbers, text, flag, alignment_offset_bytes, stripe)| BlockDevice {
            rotational: flag,
            scheduler: text.clone(),
            schedulers: vec!["none".to_owned(), "mq-deadline".to_owned()],
            read_ahead_bytes: numbers[0],
            queue_depth: numbers[1],
            queues: vec!["0".to_owned(); numbers[1].unwrap_or(0).min(9) as usize],
            completion_affinity: numbers[1].map(|number| number as u8),
            write_cache: text,
            force_unit_access: flag,
            logical_block_bytes: numbers[2],
            physical_block_bytes: numbers[3],
            optimal_io_bytes: numbers[4],
            start_bytes: numbers[5],
            atomic_write_bytes: numbers[6],
            alignment_offset_bytes,
            stripe,
            ..device(name, kind, parents)
        },
    )
}

fn odd_dataset() -> impl Strategy<Value = Option<ZfsDataset>> {
    let dataset =
        (odd_number(), any::<Option<u8>>(), vec(odd_text(), 5)).prop_map(|(record_bytes, ashift, texts)| {
            ZfsDataset {
                record_bytes,
                ashift,
                primary_cache: texts[0].clone(),
                log_bias: texts[1].clone(),
                atime: texts[2].clone(),
                compression: texts[3].clone(),
                sync: texts[4].clone(),
            }
        });
    prop::option::of(dataset)
}

fn odd_mount() -> impl Strategy<Value = Mount> {
    let filesystems =
        ["ext4", "xfs", "btrfs", "zfs", "nfs4", "overlay", "tmpfs", "fuse.x", ""].map(str::to_owned).to_vec();
    let options = [
        "noatime",
        "relatime",
        "nodiratime",
        "barrier=0",
        "nobarrier",
        "data=writeback",
        "data=journal",
        "data=",
        "nodelalloc",
        "journal_async_commit",
        "discard",
        "stripe=18446744073709551615",
        "stripe=0",
        "sunit=16",
        "sunit=18446744073709551615",
        "swidth=48",
        "swidth=-1",
        "logbsize=k",
        "logbsize=32k",
        "logdev=",
        "logdev=/dev/sda",
        "swalloc",
        "allocsize=99999999999999999999m",
        "inode32",
        "inode64",
        "largeio",
        "hard",
        "soft",
        "sync",
        "nodatacow",
    ];
    let chosen = vec(select(options.to_vec()), 0..8).prop_map(|options| options.join(","));
    (select(filesystems), chosen, vec(odd_number(), 3), odd_dataset(), any::<Option<bool>>()).prop_map(
        |(filesystem, options, numbers, zfs, initialises_inodes)| Mount {
            block_bytes: numbers[0],
            size_bytes: numbers[1],
            available_bytes: numbers[2],
            reserved_bytes: numbers[0],
            zfs,
            initialises_inodes,
            has_journal: initialises_inodes.map(|initialises| !initialises),
            ..mount(&filesystem, Some("dm-0"), &options)
        },
    )
}

/// A host with odd words of the boot line, devices and mounts.
fn odd_storage() -> impl Strategy<Value = Inventory> {
    let words = [
        "numa=off",
        "elevator=",
        "elevator=cfq",
        "scsi_mod.scan=sync",
        "scsi_mod.use_blk_mq=1",
        "intel_idle.max_cstate=0",
        "processor.max_cstate=1",
        "transparent_hugepage=never",
        "hugepages=-1",
        "hugepages=5",
        "hugepagesz=1G",
        "mitigations=off",
        "isolcpus=1",
        "clocksource=hpet",
        "tsc=unstable",
        "tsc=reliable",
    ];
    let words = vec(select(words.to_vec()), 0..6);
    let devices = (
        odd_device("dm-0", &["sda1", "sdb"]),
        odd_device("sda1", &["sda"]),
        odd_device("sda", &[]),
        odd_device("sdb", &["dm-0"]),
    );
    (words, devices, odd_mount(), vec(odd_text(), 6), odd_number(), any::<bool>()).prop_map(
        |(words, devices, mount, texts, number, is_named)| {
            let mut host = booted(&words);
            host.kernel.release = texts[0].clone().unwrap_or_else(|| "4.9".to_owned());
            host.kernel.clocks.current = texts[1].clone();
            host.cpu.idle_driver = texts[2].clone();
            host.cpu.idle_states =
                vec![IdleState { latency_us: number.unwrap_or(0), ..IdleState::default() }];
            host.cpu.logical = number.unwrap_or(0) as u32;
            host.cpu.sockets = number.map(|number| number as u32);
            host.cpu.mitigations.insert("x".to_owned(), texts[3].clone().unwrap_or_default());
            host.memory.page_bytes = number.unwrap_or(0);
            host.memory.transparent.enabled = texts[4].clone();
            host.memory.default_huge_page_bytes = number;
            host.memory.huge_pages =
                vec![HugePagePool { page_bytes: number.unwrap_or(0), ..HugePagePool::default() }];
            host.devices = [devices.0, devices.1, devices.2, devices.3].to_vec();
            host.mounts = vec![mount];
            for (name, text) in
                [("block_size", &texts[5]), ("full_page_writes", &texts[3]), ("data_checksums", &texts[4])]
            {
                if let Some(text) = text {
                    host = with_setting(host, name, text);
                }
            }
            match is_named {
                true => {
                    with_directory(with_directory(host, PgPurpose::Data, "/data"), PgPurpose::Wal, "/data")
                }
                false => host,
            }
        },
    )
}

proptest! {
    #[test]
    fn no_host_is_too_odd(
        parameters in odd_parameters(),
        server in odd_server(),
        storage in odd_storage(),
    ) {
        for purpose in Purpose::ALL {
            for host in [&parameters, &server, &storage] {
                check(&Facts { host, purpose }).iter().for_each(assert_finding);
            }
        }
    }
}

#[test]
fn objects_of_one_rule_are_named_once() {
    let host = with_directory(booted(&[]), PgPurpose::Data, "/data");
    let mut host = with_directory(host, PgPurpose::Wal, "/data");
    host.mounts = vec![mount("ext4", Some("sda"), "rw,barrier=0,nodelalloc,noatime")];
    host.devices =
        vec![BlockDevice { scheduler: Some("none".to_owned()), ..device("sda", DeviceKind::Nvme, &[]) }];
    let facts = Facts { host: &host, purpose: Purpose::Oltp };
    for rule in rules() {
        let objects: Vec<String> = rule.judge(&facts).into_iter().map(|finding| finding.object).collect();
        let distinct: BTreeSet<&String> = objects.iter().collect();
        assert_eq!(distinct.len(), objects.len(), "{}: {objects:?}", rule.page.name);
    }
}
