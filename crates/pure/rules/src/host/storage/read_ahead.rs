//! Read-ahead.

use pgdyno_core::host::{BlockDevice, Inventory, Knob};
use pgdyno_core::units::bytes;

use super::scope::{mounts, queue_of, sysfs};
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Purpose, Standing, Today};

/// Below this a scan of a table is read in pieces that are small for any disk.
const SCAN: u64 = 1 << 20;

/// Above this a scan that ends early has read far too much.
const MUCH: u64 = 4 << 20;

/// The default of the kernel.
const DEFAULT: u64 = 128 << 10;

/// `read_ahead_kb`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "read_ahead_kb",
        also: &["read-ahead", "readahead", "--setra", "--setra 16384", "setra", "bdi/read_ahead_kb"],
        what: "How much the kernel reads ahead of a sequential read; blockdev --setra counts sectors of 512 bytes, \
               so that 16384 is 8 MiB.",
        today: Today::Depends,
        why: "It matters to sequential scans through the page cache; random reads of blocks hardly use it. The \
              level that counts is the one that the file system is on: the logical volume or array, or the disk of \
              a partition. What is set on disks below a volume is used only by who reads the disks directly. For \
              scans it should span the full stripe several times; for short transactions the default of 128 kB is \
              enough.",
        danger: "Large values evict other pages from the page cache whenever a scan stops early.",
        source: "Linux mm/readahead.c; Documentation/ABI/stable/sysfs-block (read_ahead_kb); blockdev(8).",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for mount in mounts(facts.host) {
        let top = mount.device.as_deref().and_then(|name| facts.host.device(name));
        let Some(top) = top.and_then(|device| queue_of(facts.host, device)) else { continue };
        let found =
            std::iter::once(judge_top(facts.purpose, top)).chain(judge_below(facts.host, top)).flatten();
        for finding in found {
            // Two file systems may be on one disk.
            if !findings.contains(&finding) {
                findings.push(finding);
            }
        }
    }
    findings
}

/// The device that the file system reads from.
fn judge_top(purpose: Purpose, device: &BlockDevice) -> Option<Finding> {
    let present = device.read_ahead_bytes?;
    // The kernel itself chooses twice the full stripe for arrays and striped volumes.
    let stripes = device.optimal_io_bytes.unwrap_or(0).saturating_mul(2);
    let (wanted, reason) = match purpose {
        Purpose::Oltp if present > MUCH.max(stripes) => (
            DEFAULT.max(stripes),
            "Short transactions read little in sequence, and a scan that stops early has read too much.",
        ),
        Purpose::Olap | Purpose::BulkLoad if present < SCAN.max(stripes) => (
            SCAN.max(stripes),
            "Long scans are read in small pieces; what a larger value brings here was not measured.",
        ),
        _ => {
            let finding = RULE
                .finding(Standing::Fine, "The file system reads ahead by this much, which fits the purpose.");
            return Some(finding.about(&device.name).seen(bytes(present)));
        }
    };
    Some(
        RULE.finding(Standing::Improve, reason)
            .about(&device.name)
            .seen(bytes(present))
            .better(bytes(wanted))
            .by(Knob::Sysfs(sysfs(device, "queue/read_ahead_kb")), &(wanted / 1024).to_string()),
    )
}

/// What was set below the device that counts.
fn judge_below<'a>(host: &'a Inventory, top: &'a BlockDevice) -> impl Iterator<Item = Option<Finding>> + 'a {
    let below = host.stack(&top.name).into_iter().filter(move |device| device.name != top.name);
    below.map(move |device| {
        let present = device.read_ahead_bytes?;
        let own = device.optimal_io_bytes.map(|bytes| bytes.saturating_mul(2));
        if present == DEFAULT || Some(present) == own || Some(present) == top.read_ahead_bytes {
            return None;
        }
        let reason =
            format!("The file system is on {}, whose own value counts: this one is not used.", top.name);
        Some(RULE.finding(Standing::NoEffect, reason).about(&device.name).seen(bytes(present)))
    })
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::DeviceKind;

    use super::*;
    use crate::host::example::{device, judged_for, mount, mounted};

    fn with(device: BlockDevice, read_ahead_bytes: u64) -> BlockDevice {
        BlockDevice { read_ahead_bytes: Some(read_ahead_bytes), ..device }
    }

    /// What is said of a volume on one disk, as objects, standings and recommended values.
    fn judged(purpose: Purpose, volume: u64, disk: u64) -> Vec<(String, Standing, Option<String>)> {
        let devices = vec![
            with(device("dm-0", DeviceKind::Lvm, &["sda"]), volume),
            with(device("sda", DeviceKind::Disk, &[]), disk),
        ];
        let host = mounted(mount("ext4", Some("dm-0"), ""), devices);
        let said = judged_for(&RULE, &host, purpose).into_iter();
        said.map(|finding| (finding.object, finding.standing, finding.change.map(|change| change.value)))
            .collect()
    }

    #[test]
    fn the_purpose_decides_what_is_right() {
        let one =
            |standing, value: Option<&str>| vec![("dm-0".to_owned(), standing, value.map(str::to_owned))];
        for (purpose, present, expected) in [
            (Purpose::Oltp, 128 << 10, one(Standing::Fine, None)),
            (Purpose::Oltp, 8 << 20, one(Standing::Improve, Some("128"))),
            (Purpose::Mixed, 8 << 20, one(Standing::Fine, None)),
            (Purpose::Olap, 128 << 10, one(Standing::Improve, Some("1024"))),
            (Purpose::Olap, 8 << 20, one(Standing::Fine, None)),
        ] {
            assert_eq!(judged(purpose, present, 128 << 10), expected, "{purpose:?} {present}");
        }
    }

    #[test]
    fn what_is_set_below_a_volume_is_not_used() {
        let said = judged(Purpose::Olap, 8 << 20, 4 << 20);
        assert_eq!(said[1], ("sda".to_owned(), Standing::NoEffect, None));
        assert_eq!(judged(Purpose::Olap, 8 << 20, 8 << 20).len(), 1, "the same value misleads nobody");
    }

    #[test]
    fn the_disk_of_a_partition_counts() {
        let devices = vec![
            device("sda1", DeviceKind::Partition, &["sda"]),
            with(device("sda", DeviceKind::Disk, &[]), 8 << 20),
        ];
        let host = mounted(mount("ext4", Some("sda1"), ""), devices);
        let said = judged_for(&RULE, &host, Purpose::Oltp);
        assert_eq!((said.len(), said[0].object.as_str(), said[0].standing), (1, "sda", Standing::Improve));
    }

    #[test]
    fn wide_stripes_allow_more() {
        let mut volume = with(device("md0", DeviceKind::Md, &[]), 8 << 20);
        volume.optimal_io_bytes = Some(4 << 20);
        let host = mounted(mount("ext4", Some("md0"), ""), vec![volume]);
        assert_eq!(judged_for(&RULE, &host, Purpose::Oltp)[0].standing, Standing::Fine);
    }

    #[test]
    fn nothing_is_claimed_of_what_is_unknown() {
        let host = mounted(mount("ext4", Some("sda"), ""), vec![device("sda", DeviceKind::Disk, &[])]);
        assert_eq!(judged_for(&RULE, &host, Purpose::Oltp), []);
    }
}
