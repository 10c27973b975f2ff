//! `swalloc`.

use super::geometry::striped;
use super::scope::{judge_each, mounts_with};
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `swalloc`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "swalloc",
        also: &[],
        what: "XFS begins new extents of files that grow on full stripes (swidth), not only on stripe units.",
        today: Today::Depends,
        why: "It helps writes of whole stripes on RAID 5 and 6. Without parity, stripe units are enough, and small \
              files leave gaps. On a file system without stripes it does nothing. What it brings was not measured.",
        source: "Linux Documentation/admin-guide/xfs.rst (swalloc).",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    judge_each(mounts_with(facts.host, &["xfs"]), |mount| {
        mount.option("swalloc")?;
        let has_width = mount.option("swidth").is_some_and(|width| width != "0");
        let level = striped(facts.host, mount).map(|below| below.stripe.level.as_str());
        let finding = match level {
            _ if !has_width => RULE
                .finding(Standing::NoEffect, "The file system has no stripe width.")
                .better("without the option"),
            Some("raid0" | "striped" | "raid10") => RULE.finding(
                Standing::NoEffect,
                "Without parity, an array reads nothing to write a partial stripe: it brings nothing that stripe \
                 units do not.",
            ),
            Some(_) => RULE.finding(
                Standing::Fine,
                "The array has parity, so that it gains by writes of whole stripes.",
            ),
            None => return None,
        };
        Some(finding.seen("swalloc"))
    })
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::{BlockDevice, DeviceKind, Inventory, Stripe};

    use super::*;
    use crate::host::example::{device, mount, mounted, standings};

    fn host(options: &str, level: &str) -> Inventory {
        let stripe = Some(Stripe { level: level.to_owned(), members: 4, chunk_bytes: 65536 });
        let array = BlockDevice { stripe, ..device("md0", DeviceKind::Md, &[]) };
        mounted(mount("xfs", Some("md0"), options), vec![array])
    }

    #[test]
    fn stripes_with_parity_gain() {
        for (options, level, expected) in [
            ("swalloc,sunit=128,swidth=384", "raid5", &[Standing::Fine][..]),
            ("swalloc,sunit=128,swidth=512", "raid0", &[Standing::NoEffect]),
            ("swalloc", "raid5", &[Standing::NoEffect]),
            ("sunit=128,swidth=384", "raid5", &[]),
            ("swalloc,sunit=128,swidth=384", "raid1", &[]),
        ] {
            assert_eq!(standings(&RULE, &host(options, level)), expected, "{options} {level}");
        }
    }
}
