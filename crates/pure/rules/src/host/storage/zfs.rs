//! Datasets of ZFS, and the properties and module parameters that no rule judges.

use pgdyno_core::host::{Inventory, Mount, PgPurpose, ZfsDataset};

use super::scope::{mounts, mounts_of};
use crate::host::Rule;
use crate::host::compose::{Compose, explained};
use crate::{Finding, Page, Today};

/// What is said of each dataset, with its mount point as the object.
pub fn judge_datasets(
    host: &Inventory,
    judge: impl Fn(&Mount, &ZfsDataset) -> Option<Finding>,
) -> Vec<Finding> {
    let datasets = mounts(host).into_iter().filter_map(|mount| Some((mount, mount.zfs.as_ref()?)));
    datasets.filter_map(|(mount, zfs)| Some(judge(mount, zfs)?.about(&mount.point))).collect()
}

/// Whether a mount of the named server holds its WAL and no data or tablespace.
pub fn holds_only_wal(host: &Inventory, mount: &Mount) -> bool {
    let holds =
        |purposes: &[PgPurpose]| mounts_of(host, purposes).iter().any(|other| other.point == mount.point);
    holds(&[PgPurpose::Wal]) && !holds(&[PgPurpose::Data, PgPurpose::Tablespace])
}

/// `secondarycache`.
pub static SECONDARY_CACHE: Rule = explained(Page {
    name: "secondarycache",
    also: &["secondarycache=none"],
    what: "What a cache device of the pool (L2ARC) keeps of a dataset: all, metadata or none.",
    today: Today::Depends,
    why: "It has an effect only if the pool has a cache device, and only on what went through primarycache. For a \
          pool on SSDs a cache on another SSD brings little; before disks that rotate, all serves reads that do \
          not fit into memory.",
    source: "zfsprops(7), zpoolconcepts(7) (Cache Devices).",
    ..Page::EMPTY
});

/// `canmount`.
pub static CAN_MOUNT: Rule = explained(Page {
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
});

/// `mountpoint`.
pub static MOUNT_POINT: Rule = explained(Page {
    name: "mountpoint",
    also: &[],
    what: "Where a dataset of ZFS is mounted; legacy leaves it to fstab.",
    today: Today::Depends,
    why: "ZFS mounts by this property when the pool is imported, and no line of fstab is needed. The unit of the \
          server must wait for it (RequiresMountsFor= of systemd). It has no effect on speed.",
    source: "zfsprops(7), zfs-mount(8).",
    ..Page::EMPTY
});

/// `zfs_prefetch_disable`.
pub static PREFETCH: Rule = explained(Page {
    name: "zfs_prefetch_disable",
    also: &["zfs_prefetch_disable=1"],
    what: "A parameter of the module zfs that switches off its read-ahead.",
    today: Today::DefaultIsRight,
    why: "ZFS does not use the kernel's read-ahead but its own, which recognises sequential reads per file and \
          grows with success. 1 was published for short transactions; it makes sequential scans, VACUUM and base \
          backups wait for each record, for all datasets of the host. Random reads hardly trigger it.",
    source: "zfs(4), zfs_prefetch_disable.",
    ..Page::EMPTY
});

/// `zfs_arc_shrink_shift`.
pub static SHRINK: Rule = explained(Page {
    name: "zfs_arc_shrink_shift",
    also: &[],
    what: "A parameter of the module zfs: under pressure the cache (ARC) gives back its size divided by 2 to this \
           power at a time.",
    today: Today::DefaultIsRight,
    why: "The default of 7 gives back 1/128, which is 2 GiB of 256 GiB and was felt as a pause on old releases. 15 \
          gives back 1/32768, 8 MiB, so that the cache may not shrink fast enough. Limit the cache by zfs_arc_max \
          instead, so that shared_buffers, sessions and the cache fit into memory together.",
    danger: "A cache that gives back too little under pressure invites the OOM killer.",
    source: "zfs(4), zfs_arc_shrink_shift and zfs_arc_max.",
    ..Page::EMPTY
});

#[cfg(test)]
pub mod example {
    use pgdyno_core::host::{Inventory, ZfsDataset};

    use crate::host::example::{mount, mounted};

    /// A host with a dataset at `/data`.
    pub fn host(dataset: ZfsDataset) -> Inventory {
        let mut mount = mount("zfs", None, "rw");
        mount.zfs = Some(dataset);
        mounted(mount, Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::example::with_directory;

    #[test]
    fn a_mount_of_wal_only_is_recognised() {
        let host = with_directory(example::host(ZfsDataset::default()), PgPurpose::Wal, "/data");
        assert!(holds_only_wal(&host, &host.mounts[0]));
        let host = with_directory(host, PgPurpose::Data, "/data");
        assert!(!holds_only_wal(&host, &host.mounts[0]));
        assert!(!holds_only_wal(&Inventory::default(), &host.mounts[0]));
    }
}
