//! Options of LVM that no running host tells.

use crate::host::Rule;
use crate::host::compose::explained;
use crate::{Page, Today};

/// `pvcreate --dataalignment`.
pub static DATA_ALIGNMENT: Rule = explained(Page {
    name: "--dataalignment",
    also: &["pvcreate --dataalignment", "pe_start"],
    what: "Where the first extent of a physical volume begins, as a multiple of this.",
    today: Today::DefaultIsRight,
    why: "LVM begins at 1 MiB, or at a multiple of the full stripe that the device reports \
          (devices/data_alignment_detection), which is right for disks and md arrays. It is needed for a RAID \
          controller that does not report its stripe: name the full stripe. pvs -o +pe_start shows the result, and \
          alignment_offset whether the kernel finds it wrong.",
    source: "pvcreate(8), lvm.conf(5): devices/default_data_alignment, devices/data_alignment_detection.",
    ..Page::EMPTY
});

/// `devices/types` of `lvm.conf`.
pub static DEVICE_TYPES: Rule = explained(Page {
    name: "lvm.conf types",
    also: &["devices/types", "types = [ \"fd\", 16 ]"],
    what: "Drivers of block devices that LVM does not know and shall accept as physical volumes.",
    today: Today::Depends,
    why: "LVM knows sd, nvme, virtio, md, device-mapper and most others; only drivers of vendors, as some PCIe \
          cards have, need an entry, or pvcreate refuses the device. The number after the name is the most \
          partitions of such a device, not its major number, with which it is often confused.",
    source: "lvm.conf(5): devices/types.",
    ..Page::EMPTY
});

/// `vgcreate -s`.
pub static EXTENT: Rule = explained(Page {
    name: "vgcreate -s",
    also: &["--physicalextentsize", "vgcreate --physicalextentsize"],
    what: "The unit in which a volume group gives space to volumes; 4 MiB by default.",
    today: Today::DefaultIsRight,
    why: "Requests do not see extents: they have no effect on speed. Volumes are rounded up to them, and a stripe \
          must not be larger than one. Large extents, such as 128 MiB, keep the metadata of volumes of many TiB \
          short and the tools quick.",
    source: "vgcreate(8).",
    ..Page::EMPTY
});

/// `vgcreate -A`.
pub static AUTOBACKUP: Rule = explained(Page {
    name: "vgcreate -A",
    also: &["vgcreate -A y", "--autobackup"],
    what: "Whether LVM keeps a copy of its metadata in /etc/lvm/backup after each change.",
    today: Today::DefaultIsRight,
    why: "It does so by default (backup/backup = 1 of lvm.conf): -A y repeats the default.",
    danger: "Without a copy, metadata that was damaged cannot be restored by vgcfgrestore.",
    source: "vgcreate(8), vgcfgbackup(8).",
    ..Page::EMPTY
});

/// `lvcreate -L`.
pub static SIZE: Rule = explained(Page {
    name: "lvcreate -L",
    also: &["lvcreate --size"],
    what: "The size of a logical volume in bytes, rounded up to whole extents.",
    today: Today::Depends,
    why: "Leave some space of the group unassigned: a snapshot or a volume that grew needs it. A file system grows \
          online, but XFS cannot shrink, and ext4 only unmounted.",
    source: "lvcreate(8), lvextend(8).",
    ..Page::EMPTY
});

/// `lvcreate -l`.
pub static EXTENTS: Rule = explained(Page {
    name: "lvcreate -l",
    also: &["lvcreate --extents", "lvcreate -l 100%FREE"],
    what: "The size of a logical volume in extents, or as a share such as 100%FREE.",
    today: Today::Depends,
    why: "100%FREE leaves nothing for a snapshot or for another volume that must grow. A striped volume takes the \
          same share of each disk, so that the smallest one limits it.",
    source: "lvcreate(8).",
    ..Page::EMPTY
});

/// `lvcreate -c` of a snapshot.
pub static CHUNK: Rule = explained(Page {
    name: "lvcreate -c",
    also: &["--chunksize", "lvcreate -s -c", "snapshot chunk"],
    what: "The unit in which a snapshot copies old contents before they are overwritten: 4 KiB (default) to 512 KiB.",
    today: Today::Depends,
    why: "While such a snapshot exists, the first write to each chunk of the original waits until the old chunk \
          was read, written elsewhere and recorded. A chunk of the server's block copies no more than it must; \
          larger ones record less often and suit loads. Thin volumes share blocks instead and slow down less. \
          Never measure a server whose volume has a snapshot unless that is the question.",
    danger: "A snapshot that runs full becomes invalid: what was to be backed up is lost, the original is not.",
    source: "lvcreate(8); Linux Documentation/admin-guide/device-mapper/snapshot.rst and thin-provisioning.rst.",
    ..Page::EMPTY
});
