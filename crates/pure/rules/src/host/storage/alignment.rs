//! Where partitions begin.

use pgdyno_core::host::{BlockDevice, DeviceKind};
use pgdyno_core::units::bytes;

use super::scope::devices;
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// Partition alignment.
pub static RULE: Rule = Rule {
    page: Page {
        name: "partition alignment",
        also: &["alignment", "first sector 2048", "start 2048"],
        what: "The byte of the disk at which a partition begins.",
        today: Today::Kept,
        why: "A partition must begin on a multiple of the physical block, or each write of a block touches one \
              block more, which the disk has to read before. fdisk and parted begin at 1 MiB (sector 2048) by \
              themselves, which is a multiple of the physical block of all disks, and of most stripes. On an array \
              it should be a multiple of the full stripe. Where a partition ends does not matter.",
        source: "Linux Documentation/ABI/stable/sysfs-block (alignment_offset, optimal_io_size); fdisk(8); \
                 parted(8), align-check.",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let partitions = devices(facts.host).into_iter().filter(|device| device.kind == DeviceKind::Partition);
    partitions
        .filter_map(|partition| judge_partition(partition, facts.host.device(partition.parents.first()?)?))
        .collect()
}

fn judge_partition(partition: &BlockDevice, disk: &BlockDevice) -> Option<Finding> {
    let start = partition.start_bytes?;
    let physical = disk.physical_block_bytes.filter(|&bytes| bytes > 0)?;
    // Disks without stripes report odd values here, such as 33553920 of some USB bridges.
    let stripe = disk
        .optimal_io_bytes
        .filter(|&bytes| bytes > 0 && bytes.is_multiple_of(4096) && disk.stripe.is_some());
    let finding = if !start.is_multiple_of(physical) {
        RULE.finding(
            Standing::Improve,
            format!(
                "It begins {} bytes off a multiple of the physical block of {}: most writes touch one block more.",
                start % physical,
                bytes(physical)
            ),
        )
        .better("a partition that begins at 1 MiB")
    } else if let Some(stripe) = stripe.filter(|&stripe| !start.is_multiple_of(stripe)) {
        RULE.finding(
            Standing::Improve,
            format!(
                "It does not begin on a multiple of the full stripe of {}, which is {}.",
                disk.name,
                bytes(stripe)
            ),
        )
        .better("a partition that begins on a multiple of the stripe")
    } else {
        RULE.finding(
            Standing::Fine,
            format!("It begins on a multiple of the physical block, {}.", bytes(physical)),
        )
    };
    Some(finding.about(&partition.name).seen(bytes(start)))
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::Stripe;

    use super::*;
    use crate::host::example::{mount, mounted, standings};

    fn host(
        start: Option<u64>,
        physical: Option<u64>,
        full_stripe: Option<u64>,
    ) -> pgdyno_core::host::Inventory {
        let device = crate::host::example::device;
        let disk = BlockDevice {
            physical_block_bytes: physical,
            optimal_io_bytes: full_stripe,
            stripe: full_stripe.map(|_| Stripe::default()),
            ..device("sda", DeviceKind::Disk, &[])
        };
        let partition = BlockDevice { start_bytes: start, ..device("sda1", DeviceKind::Partition, &["sda"]) };
        mounted(mount("ext4", Some("sda1"), ""), vec![disk, partition])
    }

    #[test]
    fn partitions_off_their_blocks_are_found() {
        for (start, physical, stripe, expected) in [
            (Some(1 << 20), Some(4096), None, &[Standing::Fine][..]),
            // The beginning that fdisk chose before 2010: sector 63.
            (Some(63 * 512), Some(4096), None, &[Standing::Improve]),
            (Some(63 * 512), Some(512), None, &[Standing::Fine]),
            (Some(1 << 20), Some(4096), Some(192 << 10), &[Standing::Improve]),
            (Some(1 << 20), Some(4096), Some(256 << 10), &[Standing::Fine]),
            (None, Some(4096), None, &[]),
            (Some(1 << 20), None, None, &[]),
            (Some(1 << 20), Some(0), None, &[]),
        ] {
            assert_eq!(
                standings(&RULE, &host(start, physical, stripe)),
                expected,
                "{start:?} {physical:?} {stripe:?}"
            );
        }
    }

    #[test]
    fn odd_values_of_disks_without_stripes_are_ignored() {
        let mut host = host(Some(1 << 20), Some(512), None);
        host.devices[0].optimal_io_bytes = Some(33_553_920);
        assert_eq!(standings(&RULE, &host), [Standing::Fine]);
    }
}
