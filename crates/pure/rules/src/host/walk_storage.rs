//! All rules of the boot line, of storage, of builds and of tables, and all names that the articles set there.

use std::collections::BTreeSet;

use pgdyno_core::host::{
    BlockDevice, DeviceKind, HugePagePool, IdleState, Inventory, Knob, Mount, PgPurpose, Stripe, ZfsDataset,
};
use proptest::prelude::*;

use super::example::{booted, device, mount, with_directory, with_setting};
use super::{Facts, Rule, boot, build, storage, tables};
use crate::{Gain, Purpose, Standing};

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

/// Names of the same families that others explain or nobody does, and why.
const ELSEWHERE: &[(&str, &str)] = &[
    ("transparent_hugepage/enabled", "a rule of the system: it is a mode of memory that can be written"),
    ("clocksource", "a rule of the system: it can be changed without a reboot; the boot word is here"),
    ("NIC queues combined", "a rule of the system: it concerns network interfaces"),
    ("irqbalance", "a rule of the system: it is a service"),
];

fn all() -> impl Iterator<Item = &'static Rule> {
    [boot::RULES, storage::RULES, build::RULES, tables::RULES].into_iter().flatten().copied()
}

#[test]
fn every_name_of_the_articles_has_one_page() {
    for (family, names) in NAMES {
        for name in *names {
            let pages: Vec<&str> =
                all().filter(|rule| rule.page.is_of(name)).map(|rule| rule.page.name).collect();
            assert_eq!(pages.len(), 1, "{family}, {name}: {pages:?}");
        }
    }
}

#[test]
fn names_that_others_explain_are_not_here() {
    for (name, reason) in ELSEWHERE {
        assert!(!all().any(|rule| rule.page.is_of(name)), "{name} has a page here, though it is {reason}");
    }
}

#[test]
fn names_are_unique() {
    for page in all().map(|rule| rule.page) {
        for name in std::iter::once(&page.name).chain(page.also) {
            let owners: Vec<&str> =
                all().filter(|rule| rule.page.is_of(name)).map(|rule| rule.page.name).collect();
            assert_eq!(owners, [page.name], "{name}");
        }
    }
}

#[test]
fn texts_are_sentences() {
    for page in all().map(|rule| rule.page) {
        let texts = [page.what, page.why];
        assert!(texts.iter().all(|text| is_sentence(text)), "{}: {texts:?}", page.name);
        assert!(page.source.len() > 5 && page.source.ends_with('.'), "{}: {}", page.name, page.source);
        assert!(page.danger.is_empty() || is_sentence(page.danger), "{}: {}", page.name, page.danger);
        assert!(page.also.iter().all(|name| !name.is_empty() && *name != page.name), "{}", page.name);
        if let Gain::Measured { by, result } = page.gain {
            let is_told = by.contains("machine") && result.contains('%');
            assert!(is_told, "{}: who measured what? {by}: {result}", page.name);
        }
    }
}

fn is_sentence(text: &str) -> bool {
    text.ends_with('.') && !text.contains('\n') && !text.contains("  ") && text.len() > 15
}

#[test]
fn dangers_are_told_of_what_is_dangerous() {
    for page in all().map(|rule| rule.page).filter(|page| page.today == crate::Today::Dangerous) {
        assert!(!page.danger.is_empty(), "{}", page.name);
    }
}

#[test]
fn an_empty_host_has_no_findings() {
    for purpose in Purpose::ALL {
        for rule in all() {
            let host = &Inventory::default();
            assert_eq!((rule.judge)(&Facts { host, purpose }), [], "{}", rule.page.name);
        }
    }
}

/// What must hold of every finding on every host.
fn check_findings(host: &Inventory) {
    for (purpose, rule) in Purpose::ALL.into_iter().flat_map(|purpose| all().map(move |rule| (purpose, rule)))
    {
        for finding in (rule.judge)(&Facts { host, purpose }) {
            assert_eq!(finding.name, rule.page.name);
            assert!(finding.reason.ends_with('.'), "{}: {}", finding.name, finding.reason);
            if let Some(change) = &finding.change {
                assert_ne!(finding.standing, Standing::Fine, "{finding:?}");
                let is_word = matches!(change.knob, Knob::BootWord(_));
                assert!(is_word || !change.value.is_empty(), "{finding:?}");
            }
        }
    }
}

fn odd_number() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![
        Just(None),
        prop::sample::select(vec![0, 1, 7, 512, 4096, 8192, 65536, 1 << 20, u64::MAX]).prop_map(Some)
    ]
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
    prop_oneof![Just(None), prop::sample::select(texts.to_vec()).prop_map(|text| Some(text.to_owned()))]
}

fn odd_stripe() -> impl Strategy<Value = Option<Stripe>> {
    let levels = prop::sample::select(vec!["raid0", "raid1", "raid5", "raid6", "raid10", "striped", ""]);
    let stripe = (levels, prop::sample::select(vec![0, 1, 3, u32::MAX]), odd_number()).prop_map(
        |(level, members, chunk)| Stripe {
            level: level.to_owned(),
            members,
            chunk_bytes: chunk.unwrap_or(0),
        },
    );
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
    let numbers = prop::collection::vec(odd_number(), 7);
    let offset = prop::option::of(prop::sample::select(vec![0, -1, i64::MIN, i64::MAX]));
    (prop::sample::select(kinds.to_vec()), numbers, odd_text(), any::<Option<bool>>(), offset, odd_stripe())
        .prop_map(move |(kind, numbers, text, flag, alignment_offset_bytes, stripe)| BlockDevice {
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
        })
}

fn odd_dataset() -> impl Strategy<Value = Option<ZfsDataset>> {
    let dataset = (odd_number(), any::<Option<u8>>(), prop::collection::vec(odd_text(), 5)).prop_map(
        |(record_bytes, ashift, texts)| ZfsDataset {
            record_bytes,
            ashift,
            primary_cache: texts[0].clone(),
            log_bias: texts[1].clone(),
            atime: texts[2].clone(),
            compression: texts[3].clone(),
            sync: texts[4].clone(),
        },
    );
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
    let chosen = prop::collection::vec(prop::sample::select(options.to_vec()), 0..8)
        .prop_map(|options| options.join(","));
    (
        prop::sample::select(filesystems),
        chosen,
        prop::collection::vec(odd_number(), 3),
        odd_dataset(),
        any::<Option<bool>>(),
    )
        .prop_map(|(filesystem, options, numbers, zfs, initialises_inodes)| Mount {
            block_bytes: numbers[0],
            size_bytes: numbers[1],
            available_bytes: numbers[2],
            reserved_bytes: numbers[0],
            zfs,
            initialises_inodes,
            has_journal: initialises_inodes.map(|initialises| !initialises),
            ..mount(&filesystem, Some("dm-0"), &options)
        })
}

fn odd_host() -> impl Strategy<Value = Inventory> {
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
    let words = prop::collection::vec(prop::sample::select(words.to_vec()), 0..6);
    let devices = (
        odd_device("dm-0", &["sda1", "sdb"]),
        odd_device("sda1", &["sda"]),
        odd_device("sda", &[]),
        odd_device("sdb", &["dm-0"]),
    );
    (words, devices, odd_mount(), prop::collection::vec(odd_text(), 6), odd_number(), any::<bool>()).prop_map(
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
    fn no_host_is_too_odd(host in odd_host()) {
        check_findings(&host);
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
    for rule in all() {
        let objects: Vec<String> = (rule.judge)(&facts).into_iter().map(|finding| finding.object).collect();
        let distinct: BTreeSet<&String> = objects.iter().collect();
        assert_eq!(distinct.len(), objects.len(), "{}: {objects:?}", rule.page.name);
    }
}
