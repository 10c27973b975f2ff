//! `ashift`.

use pgdyno_core::host::{BlockDevice, DeviceKind, Inventory};
use pgdyno_core::units::bytes;

use super::zfs::judge_datasets;
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `ashift`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "ashift",
        also: &["ashift=12", "ashift=13"],
        what: "The sector of a pool of ZFS as a power of two: 9 is 512 bytes, 12 is 4 KiB, 13 is 8 KiB.",
        today: Today::Kept,
        why: "It must not be below the physical block of the disks, or they read before they write; some disks \
              report 512 bytes and have 4 KiB. 12 fits nearly all. 13 makes each record of 8 KiB one sector, which \
              compression cannot shrink. It is fixed when a vdev is added.",
        source: "zpoolprops(7).",
        ..Page::EMPTY
    },
    judge,
};

/// The largest sector that ZFS has: an `ashift` of 16 (`ASHIFT_MAX`), whatever a disk says of its blocks.
const LARGEST_SECTOR: u64 = 1 << 16;

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    judge_datasets(facts.host, |mount, zfs| {
        let ashift = zfs.ashift.filter(|&shift| (9..=16).contains(&shift))?;
        let sector = 1_u64 << ashift;
        let disks = match mount.device.as_deref() {
            Some(name) => facts.host.disks_below(name),
            None => all_disks(facts.host),
        };
        let blocks = || {
            disks.iter().filter_map(|disk| disk.physical_block_bytes).map(|bytes| bytes.min(LARGEST_SECTOR))
        };
        let largest = blocks().max()?;
        let smallest = blocks().min()?;
        let finding = if sector >= largest {
            RULE.finding(
                Standing::Fine,
                format!("The disks write {} at once, which is not more.", bytes(largest)),
            )
        } else if sector < smallest {
            RULE.finding(
                Standing::Improve,
                format!("The disks write {} at once and read before smaller writes.", bytes(smallest)),
            )
            .better(smallest.next_power_of_two().trailing_zeros().to_string())
        } else {
            // Which of the disks of this host belong to the pool is unknown.
            return None;
        };
        Some(finding.seen(ashift.to_string()))
    })
}

fn all_disks(host: &Inventory) -> Vec<&BlockDevice> {
    let is_disk = |device: &&BlockDevice| {
        device.parents.is_empty()
            && matches!(device.kind, DeviceKind::Disk | DeviceKind::Nvme | DeviceKind::Virtual)
    };
    host.devices.iter().filter(is_disk).collect()
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::ZfsDataset;

    use super::super::zfs::example::host;
    use super::*;
    use crate::host::example::{device, judged, standings};

    #[test]
    fn sectors_are_compared_with_disks() {
        for (ashift, physical, expected) in [
            (Some(12), &[4096, 4096][..], &[Standing::Fine][..]),
            (Some(13), &[4096, 512], &[Standing::Fine]),
            (Some(9), &[4096, 4096], &[Standing::Improve]),
            (Some(9), &[4096, 512], &[]),
            (Some(16), &[1 << 20], &[Standing::Fine]),
            (Some(12), &[u64::MAX], &[Standing::Improve]),
            (Some(12), &[], &[]),
            (Some(0), &[4096], &[]),
            (Some(255), &[4096], &[]),
            (None, &[4096], &[]),
        ] {
            let mut host = host(ZfsDataset { ashift, ..ZfsDataset::default() });
            host.devices = physical
                .iter()
                .map(|&physical| BlockDevice {
                    physical_block_bytes: Some(physical),
                    ..device("sda", DeviceKind::Disk, &[])
                })
                .collect();
            assert_eq!(standings(&RULE, &host), expected, "{ashift:?} {physical:?}");
        }
    }

    #[test]
    fn the_right_power_is_recommended() {
        for (physical, expected) in [(4096, "12"), (u64::MAX, "16")] {
            let mut host = host(ZfsDataset { ashift: Some(9), ..ZfsDataset::default() });
            host.devices = vec![BlockDevice {
                physical_block_bytes: Some(physical),
                ..device("sda", DeviceKind::Disk, &[])
            }];
            assert_eq!(judged(&RULE, &host)[0].recommended.as_deref(), Some(expected));
        }
    }
}
