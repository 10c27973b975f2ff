//! Properties of datasets and pools of ZFS, and parameters of its module.

use pgdyno_core::{
    host::{BlockDevice, Mount, PgPurpose, ZfsDataset},
    units::bytes,
};

use super::{
    rule::{Facts, Given, Rule},
    scope::{holds, is_disk, server_block_bytes},
};
use crate::{Finding, Page, Purpose, Today};

/// Rules of this family, in the order in which they are printed.
pub const RULES: &[Rule] = &[
    Rule::of(Page {
        name: "ashift",
        also: &["ashift=12", "ashift=13"],
        what: "The sector of a pool of ZFS as a power of two: 9 is 512 bytes, 12 is 4 KiB, 13 is 8 KiB.",
        today: Today::Kept,
        why: "It must not be below the physical block of the disks, or they read before they write; some disks report \
             512 bytes and have 4 KiB. 12 fits nearly all. 13 makes each record of 8 KiB one sector, which \
             compression cannot shrink. It is fixed when a vdev is added.",
        source: "zpoolprops(7).",
        ..Page::EMPTY
    })
    .datasets(judge_sector),
    Rule::of(Page {
        name: "recordsize",
        also: &["recordsize=8K"],
        what: "The largest unit in which ZFS stores, checksums and compresses a file; 128 KiB by default.",
        today: Today::Depends,
        why: "A block that changes makes ZFS write the whole record, and read it first if it is not cached. A record \
             below the server's block splits it, which makes full_page_writes necessary. The server's block (8 KiB) \
             writes least, and compresses and scans worst; the documentation of OpenZFS names 32 KiB, 64 KiB and the \
             default as good with lz4. Large records suit scans, loads and WAL. It holds for files written after it \
             was set.",
        source: "zfsprops(7); OpenZFS documentation, Workload Tuning, PostgreSQL; OpenZFS issue 17258 on write \
                amplification.",
        ..Page::EMPTY
    })
    .datasets(judge_record),
    Rule::of(Page {
        name: "zfs atime",
        also: &["atime", "atime=off"],
        what: "Whether reading a file of a dataset updates its time of access.",
        today: Today::Kept,
        why: "PostgreSQL never looks at it, and each update copies metadata. ZFS has it on by default, tempered by \
             its property relatime where that is on.",
        source: "zfsprops(7).",
        ..Page::EMPTY
    })
    .property(|zfs| zfs.atime.as_deref(), judge_access_times),
    Rule::of(Page {
        name: "primarycache",
        also: &["primarycache=metadata"],
        what: "What the cache of ZFS in memory (ARC) keeps of a dataset: all, metadata or none.",
        today: Today::DefaultIsRight,
        why: "metadata was published because shared_buffers keeps data already. But PostgreSQL is built on a second \
             cache below, which for ZFS is the ARC and not the page cache: without it every miss of shared_buffers is \
             a read of the disk, a record larger than the block is read again for each change of one of its blocks, \
             and read-ahead has no place to read to. It can be right where shared_buffers holds nearly all memory.",
        source: "zfsprops(7); OpenZFS documentation, Workload Tuning, which no longer advises it for PostgreSQL.",
        ..Page::EMPTY
    })
    .property(|zfs| zfs.primary_cache.as_deref(), judge_cache),
    Rule::of(Page {
        name: "secondarycache",
        also: &["secondarycache=none"],
        what: "What a cache device of the pool (L2ARC) keeps of a dataset: all, metadata or none.",
        today: Today::Depends,
        why: "It has an effect only if the pool has a cache device, and only on what went through primarycache. For a \
             pool on SSDs a cache on another SSD brings little; before disks that rotate, all serves reads that do \
             not fit into memory.",
        source: "zfsprops(7), zpoolconcepts(7) (Cache Devices).",
        ..Page::EMPTY
    }),
    Rule::of(Page {
        name: "logbias",
        also: &["logbias=throughput", "logbias=latency"],
        what: "Whether synchronous writes go to the intent log of ZFS first (latency) or to their final place at once \
              (throughput).",
        today: Today::Depends,
        why: "fsync of WAL is what a commit waits for: latency answers after one write of the log, on a log device if \
             the pool has one. throughput saves writing data twice and can serve checkpoints of datasets that hold \
             data only; it fragments files and makes small commits slower, so it is wrong for WAL. What it brings was \
             not measured here.",
        source: "zfsprops(7); OpenZFS documentation, Workload Tuning, PostgreSQL.",
        ..Page::EMPTY
    })
    .property(|zfs| zfs.log_bias.as_deref(), judge_log_bias),
    Rule::of(Page {
        name: "sync=disabled",
        also: &["zfs sync", "sync=standard", "sync=always"],
        what: "Whether ZFS obeys fsync: standard does, always syncs every write, disabled ignores it.",
        today: Today::Dangerous,
        why: "With disabled, fsync returns at once and data reaches the disks with the next transaction group, some \
             seconds later. All files of a pool stay consistent with each other, but confirmed commits of those \
             seconds are lost, and with WAL on another pool or file system the cluster may be damaged. For the same \
             gain with a bounded loss there is synchronous_commit=off. always syncs each write of a checkpoint by \
             itself, which the server does not need.",
        danger: "Loss of confirmed commits at a crash of the host; standbys that are ahead of their primary.",
        source: "zfsprops(7); PostgreSQL manual, Asynchronous Commit.",
        ..Page::EMPTY
    })
    .property(|zfs| zfs.sync.as_deref(), judge_sync),
    Rule::of(Page {
        name: "compression",
        also: &["compression=lz4", "compression=off"],
        what: "How ZFS compresses records; since OpenZFS 2.2 lz4 by default.",
        today: Today::Kept,
        why: "lz4 is cheap and gives up early on what it cannot compress; tables often shrink to half, which saves \
             reads as well. It works on whole sectors: with a record of 8 KiB and ashift=13 there is nothing to save, \
             with ashift=12 only halves. Volumes of benchmark data compress far better than real ones, so that \
             figures of both do not compare. The gain was not measured here.",
        source: "zfsprops(7); OpenZFS documentation, Workload Tuning, PostgreSQL.",
        ..Page::EMPTY
    })
    .datasets(judge_compression),
    Rule::of(Page {
        name: "canmount",
        also: &["canmount=off"],
        what: "Whether a dataset is mounted by itself, on request (noauto), or never (off).",
        today: Today::Depends,
        why: "off on the root of a pool keeps files out of it and lets datasets below inherit its properties. It has \
             no effect on speed.",
        danger: "A data directory whose dataset is not mounted is an empty directory: initdb or a start script may \
                fill it.",
        source: "zfsprops(7).",
        ..Page::EMPTY
    }),
    Rule::of(Page {
        name: "mountpoint",
        what: "Where a dataset of ZFS is mounted; legacy leaves it to fstab.",
        today: Today::Depends,
        why: "ZFS mounts by this property when the pool is imported, and no line of fstab is needed. The unit of the \
             server must wait for it (RequiresMountsFor= of systemd). It has no effect on speed.",
        source: "zfsprops(7), zfs-mount(8).",
        ..Page::EMPTY
    }),
    Rule::of(Page {
        name: "zfs_prefetch_disable",
        also: &["zfs_prefetch_disable=1"],
        what: "A parameter of the module zfs that switches off its read-ahead.",
        today: Today::DefaultIsRight,
        why: "ZFS does not use the kernel's read-ahead but its own, which recognises sequential reads per file and \
             grows with success. 1 was published for short transactions; it makes sequential scans, VACUUM and base \
             backups wait for each record, for all datasets of the host. Random reads hardly trigger it.",
        source: "zfs(4), zfs_prefetch_disable.",
        ..Page::EMPTY
    }),
    Rule::of(Page {
        name: "zfs_arc_shrink_shift",
        what: "A parameter of the module zfs: under pressure the cache (ARC) gives back its size divided by 2 to this \
              power at a time.",
        today: Today::DefaultIsRight,
        why: "The default of 7 gives back 1/128, which is 2 GiB of 256 GiB and was felt as a pause on old releases. \
             15 gives back 1/32768, 8 MiB, so that the cache may not shrink fast enough. Limit the cache by \
             zfs_arc_max instead, so that shared_buffers, sessions and the cache fit into memory together.",
        danger: "A cache that gives back too little under pressure invites the OOM killer.",
        source: "zfs(4), zfs_arc_shrink_shift and zfs_arc_max.",
        ..Page::EMPTY
    }),
];

fn judge_sector(given: &Given<'_>, mount: &Mount, zfs: &ZfsDataset) -> Option<Finding> {
    /// The largest sector that ZFS has: an `ashift` of 16 (`ASHIFT_MAX`), whatever a disk says of its blocks.
    const LARGEST_SECTOR: u64 = 1 << 16;
    let ashift = zfs.ashift.filter(|&shift| (9..=16).contains(&shift))?;
    let sector = 1_u64 << ashift;
    let disks: Vec<&BlockDevice> = match mount.device.as_deref() {
        Some(name) => given.host.disks_below(name),
        None => given.host.devices.iter().filter(|device| is_disk(device)).collect(),
    };
    let blocks = disks.iter().filter_map(|disk| disk.physical_block_bytes);
    let blocks = blocks.map(|bytes| bytes.min(LARGEST_SECTOR));
    let (largest, smallest) = (blocks.clone().max()?, blocks.min()?);
    let finding = if sector >= largest {
        given.fine(format!("The disks write {} at once, which is not more.", bytes(largest)))
    } else if sector < smallest {
        given
            .improve(format!("The disks write {} at once and read before smaller writes.", bytes(smallest)))
            .recommend(smallest.next_power_of_two().trailing_zeros())
    } else {
        // Which of the disks of this host belong to the pool is unknown.
        return None;
    };
    Some(finding.present(ashift))
}

fn judge_record(given: &Given<'_>, mount: &Mount, zfs: &ZfsDataset) -> Option<Finding> {
    /// Above this, changing one block of 8 KiB writes more than eight times as much.
    const LARGE: u64 = 64 << 10;
    let block = server_block_bytes(given.host);
    let record = zfs.record_bytes.filter(|&bytes| bytes > 0)?;
    let blocks = record / block;
    let finding = if record < block || !record.is_multiple_of(block) {
        given
            .improve(format!("A block of the server ({}) is split between records.", bytes(block)))
            .recommend(bytes(block))
    } else if holds_only_wal(given, mount) {
        given.fine("WAL is written in sequence, which suits records of any size.")
    } else if given.purpose == Purpose::Oltp && record > LARGE.max(block) {
        given
            .improve(format!("A block that changes makes ZFS write up to {blocks} times as much."))
            .recommend(bytes(block.max(32 << 10)))
    } else {
        given.fine(format!("It holds {blocks} blocks of the server, whole."))
    };
    Some(finding.present(bytes(record)))
}

/// Whether a mount of the named server holds its WAL and no data or tablespace.
fn holds_only_wal(facts: &Facts<'_>, mount: &Mount) -> bool {
    holds(facts.host, mount, &[PgPurpose::Wal])
        && !holds(facts.host, mount, &[PgPurpose::Data, PgPurpose::Tablespace])
}

fn judge_access_times(given: &Given<'_>, _: &Mount, value: &str) -> Option<Finding> {
    match value {
        "on" => Some(given.improve("Reads of files copy metadata to record their time.").recommend("off")),
        "off" => Some(given.fine("Reads write no times of access.")),
        _ => None,
    }
}

fn judge_cache(given: &Given<'_>, _: &Mount, value: &str) -> Option<Finding> {
    match value {
        "all" => Some(given.fine("Data that shared_buffers does not hold may still be in memory.")),
        "metadata" | "none" => {
            let reason = "Every miss of shared_buffers reads the disk, and read-ahead has no place to go.";
            Some(given.improve(reason).recommend("all"))
        }
        _ => None,
    }
}

fn judge_log_bias(given: &Given<'_>, mount: &Mount, value: &str) -> Option<Finding> {
    match value {
        "latency" => Some(given.fine("Commits wait for one write of the intent log.")),
        "throughput" if holds(given.host, mount, &[PgPurpose::Wal]) => {
            let reason = "WAL is here, whose small synchronous writes go to scattered places.";
            Some(given.improve(reason).recommend("latency"))
        }
        "throughput" => Some(given.fine("No WAL is known to be here; data is not written twice.")),
        _ => None,
    }
}

fn judge_sync(given: &Given<'_>, _: &Mount, value: &str) -> Option<Finding> {
    Some(match value {
        "standard" => given.fine("fsync waits until data is safe."),
        "always" => given
            .improve("Every write of a checkpoint waits by itself, though one fsync is enough.")
            .recommend("standard"),
        "disabled" => given
            .dangerous("fsync returns before data is safe: a crash loses confirmed commits.")
            .recommend("standard"),
        _ => return None,
    })
}

fn judge_compression(given: &Given<'_>, _: &Mount, zfs: &ZfsDataset) -> Option<Finding> {
    let present = zfs.compression.as_deref().filter(|value| !value.is_empty() && *value != "-")?;
    let sector = zfs.ashift.filter(|&shift| shift < 32).map(|shift| 1_u64 << shift);
    let is_one_sector =
        zfs.record_bytes.zip(sector).is_some_and(|(record, sector)| record > 0 && record <= sector);
    let incompressible = "A record is one sector, which compression cannot shrink.";
    let finding = match (present, is_one_sector) {
        ("off", true) => given.fine(incompressible),
        ("off", false) => given.improve("Tables are stored and read at full size.").recommend("lz4"),
        (_, true) => given.no_effect(incompressible),
        (_, false) => given.fine("Records are compressed."),
    };
    Some(finding.present(present))
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::{DeviceKind, Inventory};

    use super::*;
    use crate::{
        Standing,
        host::testing::{
            check_hosts, device, findings, findings_for, standings, with_dataset, with_directory,
        },
    };

    /// A host with a dataset whose property has a value.
    fn with_property(property: fn(&mut ZfsDataset) -> &mut Option<String>, value: Option<&str>) -> Inventory {
        let mut dataset = ZfsDataset::default();
        *property(&mut dataset) = value.map(str::to_owned);
        with_dataset(dataset)
    }

    #[test]
    fn hosts_are_judged() {
        use Standing::{Dangerous, Fine, Improve, NoEffect};
        let with_disks = |ashift, physical: &[u64]| {
            let mut host = with_dataset(ZfsDataset { ashift, ..ZfsDataset::default() });
            host.devices = physical
                .iter()
                .map(|&physical| BlockDevice {
                    physical_block_bytes: Some(physical),
                    ..device("sda", DeviceKind::Disk, &[])
                })
                .collect();
            host
        };

        let of_one_sector = |value: &str| {
            let dataset = ZfsDataset {
                compression: Some(value.to_owned()),
                record_bytes: Some(8192),
                ashift: Some(13),
                ..ZfsDataset::default()
            };
            with_dataset(dataset)
        };
        check_hosts(&[
            ("ashift", with_disks(Some(12), &[4096, 4096]), &[Fine]),
            ("ashift", with_disks(Some(13), &[4096, 512]), &[Fine]),
            ("ashift", with_disks(Some(9), &[4096, 4096]), &[Improve]),
            ("ashift", with_disks(Some(9), &[4096, 512]), &[]),
            ("ashift", with_disks(Some(16), &[1 << 20]), &[Fine]),
            ("ashift", with_disks(Some(12), &[u64::MAX]), &[Improve]),
            ("ashift", with_disks(Some(12), &[]), &[]),
            ("ashift", with_disks(Some(0), &[4096]), &[]),
            ("ashift", with_disks(Some(255), &[4096]), &[]),
            ("ashift", with_disks(None, &[4096]), &[]),
            ("zfs atime", with_property(|zfs| &mut zfs.atime, Some("off")), &[Fine]),
            ("zfs atime", with_property(|zfs| &mut zfs.atime, Some("on")), &[Improve]),
            ("zfs atime", with_property(|zfs| &mut zfs.atime, Some("-")), &[]),
            ("zfs atime", with_property(|zfs| &mut zfs.atime, None), &[]),
            ("primarycache", with_property(|zfs| &mut zfs.primary_cache, Some("all")), &[Fine]),
            ("primarycache", with_property(|zfs| &mut zfs.primary_cache, Some("metadata")), &[Improve]),
            ("primarycache", with_property(|zfs| &mut zfs.primary_cache, Some("none")), &[Improve]),
            ("primarycache", with_property(|zfs| &mut zfs.primary_cache, Some("")), &[]),
            ("primarycache", with_property(|zfs| &mut zfs.primary_cache, None), &[]),
            ("logbias", with_property(|zfs| &mut zfs.log_bias, Some("latency")), &[Fine]),
            ("logbias", with_property(|zfs| &mut zfs.log_bias, Some("throughput")), &[Fine]),
            ("logbias", with_property(|zfs| &mut zfs.log_bias, Some("")), &[]),
            ("logbias", with_property(|zfs| &mut zfs.log_bias, None), &[]),
            ("sync=disabled", with_property(|zfs| &mut zfs.sync, Some("standard")), &[Fine]),
            ("sync=disabled", with_property(|zfs| &mut zfs.sync, Some("disabled")), &[Dangerous]),
            ("sync=disabled", with_property(|zfs| &mut zfs.sync, Some("always")), &[Improve]),
            ("sync=disabled", with_property(|zfs| &mut zfs.sync, Some("")), &[]),
            ("sync=disabled", with_property(|zfs| &mut zfs.sync, None), &[]),
            ("compression", with_property(|zfs| &mut zfs.compression, Some("lz4")), &[Fine]),
            ("compression", with_property(|zfs| &mut zfs.compression, Some("off")), &[Improve]),
            ("compression", with_property(|zfs| &mut zfs.compression, Some("-")), &[]),
            ("compression", with_property(|zfs| &mut zfs.compression, None), &[]),
            ("compression", of_one_sector("lz4"), &[NoEffect]),
            ("compression", of_one_sector("off"), &[Fine]),
        ]);
    }

    #[test]
    fn a_mount_of_wal_only_is_recognised() {
        let is_wal_only = |host: &Inventory| {
            let facts = Facts { host, purpose: Purpose::Oltp };
            holds_only_wal(&facts, &with_dataset(ZfsDataset::default()).mounts[0])
        };
        let host = with_directory(with_dataset(ZfsDataset::default()), PgPurpose::Wal, "/data");
        assert!(is_wal_only(&host));
        assert!(!is_wal_only(&with_directory(host, PgPurpose::Data, "/data")));
        assert!(!is_wal_only(&Inventory::default()));
    }

    #[test]
    fn the_right_power_is_recommended() {
        for (physical, expected) in [(4096, "12"), (u64::MAX, "16")] {
            let mut host = with_dataset(ZfsDataset { ashift: Some(9), ..ZfsDataset::default() });
            host.devices = vec![BlockDevice {
                physical_block_bytes: Some(physical),
                ..device("sda", DeviceKind::Disk, &[])
            }];
            assert_eq!(findings("ashift", &host)[0].recommended.as_deref(), Some(expected));
        }
    }

    fn standing(purpose: Purpose, record_bytes: Option<u64>) -> Option<Standing> {
        let host = with_dataset(ZfsDataset { record_bytes, ..ZfsDataset::default() });
        findings_for("recordsize", &host, purpose).first().map(|finding| finding.standing)
    }

    #[test]
    fn records_are_compared_with_blocks_and_the_purpose() {
        for (purpose, record, expected) in [
            (Purpose::Oltp, Some(8 << 10), Some(Standing::Fine)),
            (Purpose::Oltp, Some(32 << 10), Some(Standing::Fine)),
            (Purpose::Oltp, Some(128 << 10), Some(Standing::Improve)),
            (Purpose::Olap, Some(128 << 10), Some(Standing::Fine)),
            (Purpose::Olap, Some(4 << 10), Some(Standing::Improve)),
            (Purpose::Oltp, Some(0), None),
            (Purpose::Oltp, None, None),
        ] {
            assert_eq!(standing(purpose, record), expected, "{purpose:?} {record:?}");
        }
    }

    #[test]
    fn wal_may_have_large_records() {
        let host = with_dataset(ZfsDataset { record_bytes: Some(128 << 10), ..ZfsDataset::default() });
        let host = with_directory(host, PgPurpose::Wal, "/data");
        assert_eq!(findings_for("recordsize", &host, Purpose::Oltp)[0].standing, Standing::Fine);
    }

    #[test]
    fn wal_wants_latency() {
        let host =
            with_dataset(ZfsDataset { log_bias: Some("throughput".to_owned()), ..ZfsDataset::default() });
        let host = with_directory(host, PgPurpose::Wal, "/data");
        assert_eq!(standings("logbias", &host), [Standing::Improve]);
    }
}
