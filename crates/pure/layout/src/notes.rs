//! What to know of a layout besides its numbers.

use crate::{
    request::{FilesystemKind, Manager, Raid, Request, VolumeKind},
    units::{KIB, size_text},
};

const EXT4: [&str; 3] = [
    "-O extent,uninit_bg, as articles of 2018 to 2020 have it, is obsolete: extent is a default of ext4, and \
     metadata_csum, a default of e2fsprogs since 1.43, replaces uninit_bg.",
    "Mount options of these articles that are not used: barrier=0 (a power failure loses what was acknowledged, \
     and may destroy the file system), data=writeback (a file may show old blocks after a crash), nodelalloc \
     (gain not measured; it gives up large extents), nodiratime (noatime implies it).",
    "full_page_writes stays on: a block of 4 KiB is smaller than a page of PostgreSQL, which may be torn.",
];

const XFS: [&str; 3] = [
    "Mount options of an article of 2017 that are not used: nobarrier (removed in Linux 4.19, and dangerous before), \
     inode64 (the default since Linux 3.7), allocsize and largeio (the dynamic preallocation fits files that grow), \
     swalloc (rounds large files up to whole stripes), logbsize (the default holds a log stripe).",
    "The log is internal: PostgreSQL waits for its WAL, and rarely for the metadata of XFS. An external log \
     device, as in that article, is one more device whose loss loses the file system.",
    "full_page_writes stays on: PostgreSQL up to 18 does not ask the kernel for untorn writes, whatever the \
     block of the file system is.",
];

const ZFS: [&str; 2] = [
    "WAL on ZFS: wal_init_zero = off and wal_recycle = off (PostgreSQL 12 and later), because a copy-on-write \
     file system never writes in place.",
    "zpool names the disks as the script resolves them; `zpool export`, then `zpool import -d /dev/disk/by-id`, \
     makes it keep names that do not change.",
];

/// The notes of a request.
pub fn notes(request: &Request) -> Vec<String> {
    let texts: &[&str] = match request.filesystem {
        FilesystemKind::Ext4 => &EXT4,
        FilesystemKind::Xfs => &XFS,
        FilesystemKind::Zfs => &ZFS,
    };
    let mut notes: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
    notes.extend(large_block(request));
    notes.extend(redundancy(request).map(str::to_owned));
    notes.extend(parity(request).map(str::to_owned));
    if !request.volumes.iter().any(|volume| volume.kind == VolumeKind::Wal) {
        notes
            .push("WAL shares the volume of the data: what both do at the same time delays both.".to_owned());
    }
    notes.push(
        "discard is not a mount option: fstrim.timer trims weekly, apart from transactions. ZFS has `zpool trim`."
            .to_owned(),
    );
    notes
}

fn large_block(request: &Request) -> Option<String> {
    let block = request.overrides.filesystem_block_bytes?;
    (block > request.page_bytes).then(|| {
        format!(
            "A kernel whose page is {} mounts blocks of {} only with large folios (CONFIG_TRANSPARENT_HUGEPAGE); \
             an older one refuses the mount, also in a rescue system.",
            size_text(request.page_bytes),
            size_text(block)
        )
    })
}

fn redundancy(request: &Request) -> Option<&'static str> {
    let one_copy = matches!(request.raid, Raid::None | Raid::Striped);
    (one_copy && request.disks.len() > 1).then_some(
        "No disk may fail: with the first one that does, its volumes are lost. That is right for disks that are \
         replicated below (cloud volumes) and for data that can be made again.",
    )
}

fn parity(request: &Request) -> Option<&'static str> {
    let is_parity = matches!(request.raid, Raid::Parity | Raid::DoubleParity);
    match (request.filesystem, request.manager) {
        (FilesystemKind::Zfs, _) if is_parity && request.block_bytes <= 16 * KIB => Some(
            "raidz with small records: each record has its own parity, and is padded to whole groups of sectors, so \
             that 8 KiB on sectors of 4 KiB take as much space as on mirrors. Mirrors read faster.",
        ),
        (_, Manager::Md) if is_parity => Some(
            "RAID 5 and 6 read before they write less than a full stripe, and a power failure between data and parity \
             leaves a stripe that a later failure of a disk turns into garbage (the write hole): a RAID 5 of md \
             can have --consistency-policy=ppl (Linux 4.12) in place of the bitmap. Measure only when \
             /proc/mdstat shows no resync.",
        ),
        (_, Manager::Lvm) if is_parity => Some(
            "RAID 5 and 6 read before they write less than a full stripe. Measure only when `lvs -o \
             sync_percent` shows 100.",
        ),
        _ => None,
    }
}
