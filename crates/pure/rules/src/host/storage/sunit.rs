//! `sunit` of XFS.

use pgdyno_core::units::bytes;

use super::geometry::striped;
use super::scope::{judge_each, mounts_with};
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `sunit`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "sunit",
        also: &["mkfs.xfs -d sunit", "-d sunit", "-d su"],
        what: "The stripe unit of XFS in sectors of 512 bytes: what lies on one disk before the next one follows \
               (su is in bytes).",
        today: Today::Kept,
        why: "mkfs.xfs reads it from md and LVM by itself; a RAID controller often reports nothing. 16 sectors are \
              stripes of 8 KiB. As a mount option it can be corrected after the array was changed.",
        source: "mkfs.xfs(8), data section options; Linux Documentation/admin-guide/xfs.rst (sunit).",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    judge_each(mounts_with(facts.host, &["xfs"]), |mount| {
        if mount.options.is_empty() {
            return None;
        }
        let below = striped(facts.host, mount)?;
        let present = match mount.option("sunit") {
            // XFS shows it always, if it has one.
            None => 0,
            Some(sectors) => sectors.parse::<u64>().ok()?.checked_mul(512)?,
        };
        let name = &below.device.name;
        let finding = match present {
            0 => RULE.finding(
                Standing::Improve,
                format!("{name} is striped, and the file system does not know it."),
            ),
            _ if present == below.chunk => return Some(fine(name).seen(bytes(present))),
            _ => RULE.finding(
                Standing::Improve,
                format!("A disk of {name} holds {} at a time.", bytes(below.chunk)),
            ),
        };
        Some(finding.seen(bytes(present)).better(bytes(below.chunk)))
    })
}

fn fine(name: &str) -> Finding {
    RULE.finding(Standing::Fine, format!("It is what a disk of {name} holds at a time."))
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::{BlockDevice, DeviceKind, Inventory, Stripe};

    use super::*;
    use crate::host::example::{device, mount, mounted, standings};

    fn host(options: &str, is_striped: bool) -> Inventory {
        // 3 stripes of 8 KiB, as the second article lays them out: sunit 16, swidth 48.
        let stripe =
            is_striped.then(|| Stripe { level: "striped".to_owned(), members: 3, chunk_bytes: 8192 });
        let volume = BlockDevice { stripe, ..device("dm-0", DeviceKind::Lvm, &[]) };
        mounted(mount("xfs", Some("dm-0"), options), vec![volume])
    }

    #[test]
    fn the_unit_is_compared_with_the_stripes_below() {
        for (options, is_striped, expected) in [
            ("rw,sunit=16,swidth=48", true, &[Standing::Fine][..]),
            ("rw,sunit=128,swidth=384", true, &[Standing::Improve]),
            ("rw,noquota", true, &[Standing::Improve]),
            ("rw,sunit=16", false, &[]),
            ("rw,sunit=x", true, &[]),
            ("", true, &[]),
        ] {
            assert_eq!(standings(&RULE, &host(options, is_striped)), expected, "{options}");
        }
    }
}
