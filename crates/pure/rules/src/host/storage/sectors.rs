//! Logical and physical blocks of disks.

use pgdyno_core::units::bytes;

use super::scope::{disks, server_block_bytes};
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `physical_block_size`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "physical_block_size",
        also: &["logical_block_size", "4Kn", "512e", "sector size"],
        what: "The smallest unit that a disk addresses (logical) and that it writes without reading before \
               (physical): 512 and 4096 bytes is 512e, 4096 and 4096 is 4Kn.",
        today: Today::DefaultIsRight,
        why: "A write that does not fill whole physical blocks is read, changed and written by the disk. \
              PostgreSQL writes blocks of 8 KiB and WAL in multiples of 8 KiB, so that 4 KiB blocks are filled if \
              partitions begin on their boundaries. A physical block above that of the server is not.",
        source: "Linux Documentation/ABI/stable/sysfs-block (logical_block_size, physical_block_size).",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let server = server_block_bytes(facts.host);
    let mut findings = Vec::new();
    for disk in disks(facts.host) {
        let (Some(logical), Some(physical)) = (disk.logical_block_bytes, disk.physical_block_bytes) else {
            continue;
        };
        let finding = match physical > server {
            true => RULE.finding(
                Standing::Improve,
                format!(
                    "The disk writes {} at once and the server {}, so that it reads before most writes.",
                    bytes(physical),
                    bytes(server)
                ),
            ),
            false => RULE.finding(
                Standing::Fine,
                format!("A block of the server ({}) fills whole physical blocks.", bytes(server)),
            ),
        };
        findings.push(finding.about(&disk.name).seen(format!(
            "{} logical, {} physical",
            bytes(logical),
            bytes(physical)
        )));
    }
    findings
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::{BlockDevice, DeviceKind};

    use super::*;
    use crate::host::example::{device, mount, mounted, standings};

    #[test]
    fn physical_blocks_above_that_of_the_server_are_found() {
        for (logical, physical, expected) in [
            (Some(512), Some(512), &[Standing::Fine][..]),
            (Some(512), Some(4096), &[Standing::Fine]),
            (Some(4096), Some(4096), &[Standing::Fine]),
            (Some(512), Some(16384), &[Standing::Improve]),
            (Some(512), None, &[]),
            (None, Some(4096), &[]),
        ] {
            let disk = BlockDevice {
                logical_block_bytes: logical,
                physical_block_bytes: physical,
                ..device("sda", DeviceKind::Disk, &[])
            };
            let host = mounted(mount("ext4", Some("sda"), ""), vec![disk]);
            assert_eq!(standings(&RULE, &host), expected, "{logical:?}, {physical:?}");
        }
    }
}
