//! `lvcreate -i`.

use std::collections::BTreeSet;

use pgdyno_core::host::{BlockDevice, DeviceKind, Inventory};

use super::scope::devices;
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `lvcreate -i`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "lvcreate -i",
        also: &["--stripes", "lvcreate --stripes"],
        what: "Over how many physical volumes a logical volume is striped.",
        today: Today::Kept,
        why: "As many as there are disks: each then serves its share of requests. Where a physical volume is an \
              array, its own stripes do the same below, and one array needs no stripes of LVM: the advice to count \
              the data disks of a RAID set (5 disks of RAID 5 as 4) is about its full stripe, not about -i, as LVM \
              wants one physical volume per stripe. Several partitions of one disk must not be stripes of one \
              volume.",
        danger: "Striping without redundancy loses the volume with any one disk.",
        source: "lvcreate(8); lvmraid(7).",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let volumes = devices(facts.host).into_iter().filter(|device| device.kind == DeviceKind::Lvm);
    volumes.filter_map(|volume| judge_volume(facts.host, volume)).collect()
}

fn judge_volume(host: &Inventory, volume: &BlockDevice) -> Option<Finding> {
    let stripes = volume.stripe.as_ref().filter(|stripe| stripe.level == "striped")?.members as usize;
    let disks: BTreeSet<&str> =
        volume.parents.iter().map(|parent| below_partition(host, parent)).collect::<Option<_>>()?;
    let finding = if disks.is_empty() {
        return None;
    } else if disks.len() < stripes {
        RULE.finding(
            Standing::Improve,
            format!(
                "{stripes} stripes lie on {}: a disk holds several and moves between them.",
                counted(disks.len())
            ),
        )
        .better(disks.len().to_string())
    } else if disks.len() > stripes {
        RULE.finding(
            Standing::Improve,
            format!("The volume is on {}, of which {stripes} serve a range at a time.", counted(disks.len())),
        )
        .better(disks.len().to_string())
    } else {
        RULE.finding(Standing::Fine, format!("It is striped over all of its {}.", counted(disks.len())))
    };
    Some(finding.about(volume.alias.as_deref().unwrap_or(&volume.name)).seen(stripes.to_string()))
}

fn counted(disks: usize) -> String {
    if disks == 1 { "1 device".to_owned() } else { format!("{disks} devices") }
}

/// The disk of a partition; otherwise the device itself. `None` if it is unknown.
fn below_partition<'a>(host: &'a Inventory, name: &str) -> Option<&'a str> {
    let device = host.device(name)?;
    match device.kind {
        DeviceKind::Partition => Some(device.parents.first()?.as_str()),
        _ => Some(device.name.as_str()),
    }
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::Stripe;

    use super::*;
    use crate::host::example::{device, mount, mounted, standings};

    fn host(members: u32, parents: &[&str]) -> Inventory {
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
    fn stripes_are_compared_with_disks() {
        for (stripes, parents, expected) in [
            (2, &["sda1", "sdb1"][..], &[Standing::Fine][..]),
            (2, &["sda", "sdb"], &[Standing::Fine]),
            (2, &["sda1", "sda2"], &[Standing::Improve]),
            (1, &["sda1", "sdb1"], &[Standing::Improve]),
            (2, &["sda1", "unknown"], &[]),
            (2, &[], &[]),
        ] {
            assert_eq!(standings(&RULE, &host(stripes, parents)), expected, "{stripes} on {parents:?}");
        }
    }

    #[test]
    fn volumes_without_stripes_are_not_judged() {
        let mut host = host(2, &["sda1", "sda2"]);
        host.devices[0].stripe = None;
        assert_eq!(standings(&RULE, &host), []);
    }
}
