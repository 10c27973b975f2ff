//! Disks, volumes and file systems.

mod alignment;
mod alignment_offset;
mod allocsize;
mod ashift;
mod barrier;
mod block_sizes;
mod compression;
mod cpu_list;
mod data_journal;
mod data_writeback;
mod discard;
mod ext4_block;
mod free_space;
mod full_page_writes;
mod geometry;
mod inode64;
mod journal;
mod journal_async;
mod largeio;
mod lazy_init;
mod logbias;
mod logbsize;
mod logdev;
mod lvm;
mod lvm_stripe_size;
mod lvm_stripes;
mod mkfs_ext4;
mod mkfs_xfs;
mod nfs_hard;
mod nfs_sync;
mod noatime;
mod nobarrier;
mod nodatacow;
mod nodelalloc;
mod nodiratime;
mod nolargeio;
mod nr_requests;
mod primarycache;
mod read_ahead;
mod recordsize;
mod reserved_blocks;
mod rq_affinity;
mod scheduler;
mod scope;
mod sectors;
mod stripe_width;
mod sunit;
mod swalloc;
mod swidth;
mod volatile;
mod wal_device;
mod write_cache;
mod xfs_block;
mod zfs;
mod zfs_atime;
mod zfs_sync;

use super::Rule;

/// Rules of storage, in the order in which they are printed.
pub const RULES: &[&Rule] = &[
    // The whole stack.
    &full_page_writes::RULE,
    &block_sizes::RULE,
    &wal_device::RULE,
    &free_space::RULE,
    &volatile::OVERLAY,
    &volatile::TMPFS,
    &volatile::FUSE,
    &nfs_hard::RULE,
    &nfs_sync::RULE,
    // Disks.
    &scheduler::RULE,
    &read_ahead::RULE,
    &rq_affinity::RULE,
    &nr_requests::RULE,
    &cpu_list::RULE,
    &write_cache::RULE,
    &sectors::RULE,
    &alignment::RULE,
    &alignment_offset::RULE,
    // LVM.
    &lvm::DATA_ALIGNMENT,
    &lvm::DEVICE_TYPES,
    &lvm::EXTENT,
    &lvm::AUTOBACKUP,
    &lvm_stripes::RULE,
    &lvm_stripe_size::RULE,
    &lvm::SIZE,
    &lvm::EXTENTS,
    &lvm::CHUNK,
    // ext4, and what other file systems have as well.
    &reserved_blocks::RULE,
    &mkfs_ext4::EXTENT,
    &mkfs_ext4::UNINIT,
    &lazy_init::RULE,
    &mkfs_ext4::STRIDE,
    &stripe_width::RULE,
    &ext4_block::RULE,
    &mkfs_ext4::USAGE,
    &mkfs_ext4::LABEL,
    &noatime::RULE,
    &nodiratime::RULE,
    &nodelalloc::RULE,
    &barrier::RULE,
    &journal::RULE,
    &data_writeback::RULE,
    &data_journal::RULE,
    &journal_async::RULE,
    &discard::RULE,
    // XFS.
    &xfs_block::RULE,
    &mkfs_xfs::LOG_SIZE,
    &mkfs_xfs::LOG_UNIT,
    &mkfs_xfs::GROUPS,
    &mkfs_xfs::GROUP_SIZE,
    &sunit::RULE,
    &swidth::RULE,
    &nobarrier::RULE,
    &largeio::RULE,
    &nolargeio::RULE,
    &logbsize::RULE,
    &logdev::RULE,
    &swalloc::RULE,
    &allocsize::RULE,
    &inode64::RULE,
    // btrfs.
    &nodatacow::RULE,
    // ZFS.
    &ashift::RULE,
    &recordsize::RULE,
    &zfs_atime::RULE,
    &primarycache::RULE,
    &zfs::SECONDARY_CACHE,
    &logbias::RULE,
    &zfs_sync::RULE,
    &compression::RULE,
    &zfs::CAN_MOUNT,
    &zfs::MOUNT_POINT,
    &zfs::PREFETCH,
    &zfs::SHRINK,
];
