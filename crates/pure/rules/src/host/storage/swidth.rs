//! `swidth` of XFS.

use pgdyno_core::units::bytes;

use super::geometry::striped;
use super::scope::{judge_each, mounts_with};
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `swidth`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "swidth",
        also: &["mkfs.xfs -d swidth", "-d swidth", "-d sw"],
        what: "The full stripe of XFS in sectors of 512 bytes: sunit times the disks that hold data (sw is that \
               number of disks).",
        today: Today::Kept,
        why: "Disks of parity or copies do not count: RAID 5 of 5 disks has 4, RAID 10 of 10 has 5. mkfs.xfs reads \
              it from md and LVM by itself. 48 sectors are three stripes of 8 KiB.",
        source: "mkfs.xfs(8), data section options; Linux Documentation/admin-guide/xfs.rst (swidth).",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    judge_each(mounts_with(facts.host, &["xfs"]), |mount| {
        let present = mount.option("swidth")?.parse::<u64>().ok()?.checked_mul(512)?;
        let below = striped(facts.host, mount)?;
        let disks = below.full / below.chunk;
        let reason =
            format!("{} has {disks} disks with data, of {} each.", below.device.name, bytes(below.chunk));
        let finding = match present == below.full {
            true => RULE.finding(Standing::Fine, reason),
            false => RULE.finding(Standing::Improve, reason).better(bytes(below.full)),
        };
        Some(finding.seen(bytes(present)))
    })
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::{BlockDevice, DeviceKind, Inventory, Stripe};

    use super::*;
    use crate::host::example::{device, mount, mounted, standings};

    fn host(options: &str, level: &str, members: u32) -> Inventory {
        let stripe = Some(Stripe { level: level.to_owned(), members, chunk_bytes: 8192 });
        let volume = BlockDevice { stripe, ..device("md0", DeviceKind::Md, &[]) };
        mounted(mount("xfs", Some("md0"), options), vec![volume])
    }

    #[test]
    fn the_width_is_compared_with_the_stripes_below() {
        for (options, level, members, expected) in [
            ("sunit=16,swidth=48", "raid0", 3, &[Standing::Fine][..]),
            ("sunit=16,swidth=64", "raid5", 5, &[Standing::Fine]),
            ("sunit=16,swidth=80", "raid5", 5, &[Standing::Improve]),
            ("sunit=16,swidth=80", "raid1", 5, &[]),
            ("sunit=16", "raid0", 3, &[]),
            ("swidth=18446744073709551615", "raid0", 3, &[]),
        ] {
            assert_eq!(standings(&RULE, &host(options, level, members)), expected, "{options} {level}");
        }
    }
}
