//! Physical volumes, volume groups and logical volumes of LVM.

use std::collections::BTreeSet;

use pgdyno_core::{
    host::{BlockDevice, DeviceKind, Inventory, Stripe},
    units::bytes,
};

use super::{
    rule::{Given, Rule},
    scope::server_block_bytes,
};
use crate::{Finding, Page, Today};

/// Rules of this family, in the order in which they are printed.
pub const RULES: &[Rule] = &[
    Rule::of(Page {
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
    }),
    Rule::of(Page {
        name: "lvm.conf types",
        also: &["devices/types", "types = [ \"fd\", 16 ]"],
        what: "Drivers of block devices that LVM does not know and shall accept as physical volumes.",
        today: Today::Depends,
        why: "LVM knows sd, nvme, virtio, md, device-mapper and most others; only drivers of vendors, as some PCIe \
             cards have, need an entry, or pvcreate refuses the device. The number after the name is the most \
             partitions of such a device, not its major number, with which it is often confused.",
        source: "lvm.conf(5): devices/types.",
        ..Page::EMPTY
    }),
    Rule::of(Page {
        name: "vgcreate -s",
        also: &["--physicalextentsize", "vgcreate --physicalextentsize"],
        what: "The unit in which a volume group gives space to volumes; 4 MiB by default.",
        today: Today::DefaultIsRight,
        why: "Requests do not see extents: they have no effect on speed. Volumes are rounded up to them, and a stripe \
             must not be larger than one. Large extents, such as 128 MiB, keep the metadata of volumes of many TiB \
             short and the tools quick.",
        source: "vgcreate(8).",
        ..Page::EMPTY
    }),
    Rule::of(Page {
        name: "vgcreate -A",
        also: &["vgcreate -A y", "--autobackup"],
        what: "Whether LVM keeps a copy of its metadata in /etc/lvm/backup after each change.",
        today: Today::DefaultIsRight,
        why: "It does so by default (backup/backup = 1 of lvm.conf): -A y repeats the default.",
        danger: "Without a copy, metadata that was damaged cannot be restored by vgcfgrestore.",
        source: "vgcreate(8), vgcfgbackup(8).",
        ..Page::EMPTY
    }),
    Rule::of(Page {
        name: "lvcreate -i",
        also: &["--stripes", "lvcreate --stripes"],
        what: "Over how many physical volumes a logical volume is striped.",
        today: Today::Kept,
        why: "As many as there are disks: each then serves its share of requests. Where a physical volume is an \
             array, its own stripes do the same below, and one array needs no stripes of LVM: the advice to count the \
             data disks of a RAID set (5 disks of RAID 5 as 4) is about its full stripe, not about -i, as LVM wants \
             one physical volume per stripe. Several partitions of one disk must not be stripes of one volume.",
        danger: "Striping without redundancy loses the volume with any one disk.",
        source: "lvcreate(8); lvmraid(7).",
        ..Page::EMPTY
    })
    .devices(judge_stripes),
    Rule::of(Page {
        name: "lvcreate -I",
        also: &["--stripesize", "lvcreate --stripesize", "stripe size"],
        what: "How many KiB of a volume lie on one disk before the next one follows; 64 by default.",
        today: Today::Depends,
        why: "The size of the server's block (8 KiB) was published, but requests are cut at stripes: read-ahead, \
             writes of checkpoints and the combined reads of 128 kB since PostgreSQL 17 (io_combine_limit) are cut \
             into sixteen small pieces each, which the kernel can join again only for each disk. A block can lie \
             within one stripe where stripes are a multiple of it; files of ext4 and XFS begin at multiples of 4 KiB, \
             so that some blocks lie on two disks all the same, the fewer the larger stripes are. 64 KiB to 512 KiB \
             suit short transactions as well as scans; which of them is best was not measured here. A file system \
             that was made for stripes (stripe, stripe_width, sunit, swidth) is to be made for the new size.",
        source: "lvcreate(8); Linux Documentation/admin-guide/device-mapper/striped.rst; PostgreSQL manual, Resource \
                Consumption, io_combine_limit.",
        ..Page::EMPTY
    })
    .devices(judge_stripe_size),
    Rule::of(Page {
        name: "lvcreate -L",
        also: &["lvcreate --size"],
        what: "The size of a logical volume in bytes, rounded up to whole extents.",
        today: Today::Depends,
        why: "Leave some space of the group unassigned: a snapshot or a volume that grew needs it. A file system \
             grows online, but XFS cannot shrink, and ext4 only unmounted.",
        source: "lvcreate(8), lvextend(8).",
        ..Page::EMPTY
    }),
    Rule::of(Page {
        name: "lvcreate -l",
        also: &["lvcreate --extents", "lvcreate -l 100%FREE"],
        what: "The size of a logical volume in extents, or as a share such as 100%FREE.",
        today: Today::Depends,
        why: "100%FREE leaves nothing for a snapshot or for another volume that must grow. A striped volume takes the \
             same share of each disk, so that the smallest one limits it.",
        source: "lvcreate(8).",
        ..Page::EMPTY
    }),
    Rule::of(Page {
        name: "lvcreate -c",
        also: &["--chunksize", "lvcreate -s -c", "snapshot chunk"],
        what: "The unit in which a snapshot copies old contents before they are overwritten: 4 KiB (default) to 512 \
              KiB.",
        today: Today::Depends,
        why: "While such a snapshot exists, the first write to each chunk of the original waits until the old chunk \
             was read, written elsewhere and recorded. A chunk of the server's block copies no more than it must; \
             larger ones record less often and suit loads. Thin volumes share blocks instead and slow down less. \
             Never measure a server whose volume has a snapshot unless that is the question.",
        danger: "A snapshot that runs full becomes invalid: what was to be backed up is lost, the original is not.",
        source: "lvcreate(8); Linux Documentation/admin-guide/device-mapper/snapshot.rst and thin-provisioning.rst.",
        ..Page::EMPTY
    }),
];

/// How a logical volume is striped, and its name.
fn striped(volume: &BlockDevice) -> Option<(&Stripe, &str)> {
    let stripe = volume.stripe.as_ref().filter(|stripe| stripe.level == "striped");
    let stripe = stripe.filter(|_| volume.kind == DeviceKind::Lvm)?;
    Some((stripe, volume.alias.as_deref().unwrap_or(&volume.name)))
}

fn judge_stripes(given: &Given<'_>, volume: &BlockDevice) -> Option<Finding> {
    let (stripe, name) = striped(volume)?;
    let stripes = stripe.members as usize;
    let below = volume.parents.iter().map(|parent| below_partition(given.host, parent));
    let disks = below.collect::<Option<BTreeSet<&str>>>()?.len();
    let counted = if disks == 1 { "1 device".to_owned() } else { format!("{disks} devices") };
    let finding = match disks {
        0 => return None,
        _ if disks < stripes => given
            .improve(format!(
                "{stripes} stripes lie on {counted}: a disk holds several and moves between them."
            ))
            .recommend(disks),
        _ if disks > stripes => given
            .improve(format!("The volume is on {counted}, of which {stripes} serve a range at a time."))
            .recommend(disks),
        _ => given.fine(format!("It is striped over all of its {counted}.")),
    };
    Some(finding.on(name).present(stripes))
}

/// The disk of a partition; otherwise the device itself. `None` if it is unknown.
fn below_partition<'a>(host: &'a Inventory, name: &str) -> Option<&'a str> {
    let device = host.device(name)?;
    match device.kind {
        DeviceKind::Partition => Some(device.parents.first()?.as_str()),
        _ => Some(device.name.as_str()),
    }
}

fn judge_stripe_size(given: &Given<'_>, volume: &BlockDevice) -> Option<Finding> {
    /// The default of LVM.
    const DEFAULT: u64 = 64 << 10;
    let (stripe, name) = striped(volume).filter(|(stripe, _)| stripe.members > 1)?;
    let (chunk, block) = (stripe.chunk_bytes, server_block_bytes(given.host));
    let finding = if chunk == 0 {
        return None;
    } else if !chunk.is_multiple_of(block) {
        let reason = format!(
            "A block of the server ({}) is spread over two disks now and then. The size is fixed: for another one, \
             volume and file system are recreated, and the data is copied.",
            bytes(block)
        );
        given.improve(reason).recommend(bytes(DEFAULT.max(block)))
    } else if chunk < DEFAULT {
        let reason = format!(
            "A read of 128 KiB is cut into {} pieces, which the kernel can join again only for each disk. The size \
             is fixed: for another one, volume and file system are recreated, and the data is copied.",
            (128 << 10) / chunk
        );
        given.improve(reason).recommend(bytes(DEFAULT.max(block)))
    } else {
        given.fine("It is a multiple of the server's block, and does not cut reads into small pieces.")
    };
    Some(finding.on(name).present(bytes(chunk)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Standing,
        host::testing::{check_hosts, device, findings, mount, mounted, standings, with_setting},
    };

    #[test]
    fn hosts_are_judged() {
        use Standing::{Fine, Improve};
        check_hosts(&[
            ("lvcreate -i", stripes_host(2, &["sda1", "sdb1"]), &[Fine]),
            ("lvcreate -i", stripes_host(2, &["sda", "sdb"]), &[Fine]),
            ("lvcreate -i", stripes_host(2, &["sda1", "sda2"]), &[Improve]),
            ("lvcreate -i", stripes_host(1, &["sda1", "sdb1"]), &[Improve]),
            ("lvcreate -i", stripes_host(2, &["sda1", "unknown"]), &[]),
            ("lvcreate -i", stripes_host(2, &[]), &[]),
            ("lvcreate -I", size_host(8 << 10), &[Improve]),
            ("lvcreate -I", size_host(4 << 10), &[Improve]),
            ("lvcreate -I", size_host(64 << 10), &[Fine]),
            ("lvcreate -I", size_host(512 << 10), &[Fine]),
            ("lvcreate -I", size_host(0), &[]),
        ]);
    }

    fn stripes_host(members: u32, parents: &[&str]) -> Inventory {
        let stripe = Some(Stripe { level: "striped".to_owned(), members, chunk_bytes: 65536 });
        let volume = BlockDevice { stripe, ..device("dm-0", DeviceKind::Lvm, parents) };
        let mut devices =
            vec![volume, device("sda", DeviceKind::Disk, &[]), device("sdb", DeviceKind::Disk, &[])];
        for (partition, disk) in [("sda1", "sda"), ("sda2", "sda"), ("sdb1", "sdb")] {
            devices.push(device(partition, DeviceKind::Partition, &[disk]));
        }
        mounted(mount("ext4", Some("dm-0"), ""), devices)
    }

    #[test]
    fn volumes_without_stripes_are_not_judged() {
        let mut host = stripes_host(2, &["sda1", "sda2"]);
        host.devices[0].stripe = None;
        assert_eq!(standings("lvcreate -i", &host), []);
    }

    fn size_host(chunk_bytes: u64) -> Inventory {
        let stripe = Some(Stripe { level: "striped".to_owned(), members: 8, chunk_bytes });
        let volume =
            BlockDevice { stripe, alias: Some("vg-lv".to_owned()), ..device("dm-0", DeviceKind::Lvm, &[]) };
        mounted(mount("ext4", Some("dm-0"), ""), vec![volume])
    }

    #[test]
    fn small_stripes_cut_requests() {
        let said = findings("lvcreate -I", &size_host(8 << 10)).remove(0);
        assert_eq!(
            (said.object.as_str(), said.reason.as_str()),
            (
                "vg-lv",
                "A read of 128 KiB is cut into 16 pieces, which the kernel can join again only for each disk. The size \
                 is fixed: for another one, volume and file system are recreated, and the data is copied."
            )
        );
    }

    #[test]
    fn a_block_must_fit_into_a_stripe() {
        let large_blocks = with_setting(size_host(16 << 10), "block_size", "32768");
        assert!(findings("lvcreate -I", &large_blocks)[0].reason.contains("two disks"));
    }

    #[test]
    fn size_volumes_without_stripes_are_not_judged() {
        let mut host = size_host(8 << 10);
        host.devices[0].stripe = None;
        assert_eq!(standings("lvcreate -I", &host), []);
    }
}
