//! `compression` of ZFS.

use super::zfs::judge_datasets;
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `compression` of ZFS.
pub static RULE: Rule = Rule {
    page: Page {
        name: "compression",
        also: &["compression=lz4", "compression=off"],
        what: "How ZFS compresses records; since OpenZFS 2.2 lz4 by default.",
        today: Today::Kept,
        why: "lz4 is cheap and gives up early on what it cannot compress; tables often shrink to half, which saves \
              reads as well. It works on whole sectors: with a record of 8 KiB and ashift=13 there is nothing to \
              save, with ashift=12 only halves. Volumes of benchmark data compress far better than real ones, so \
              that figures of both do not compare. The gain was not measured here.",
        source: "zfsprops(7); OpenZFS documentation, Workload Tuning, PostgreSQL.",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    judge_datasets(facts.host, |_, zfs| {
        let present = zfs.compression.as_deref().filter(|value| !value.is_empty() && *value != "-")?;
        let sector = zfs.ashift.filter(|&shift| shift < 32).map(|shift| 1_u64 << shift);
        let is_one_sector =
            zfs.record_bytes.zip(sector).is_some_and(|(record, sector)| record > 0 && record <= sector);
        let finding = match (present, is_one_sector) {
            ("off", true) => {
                RULE.finding(Standing::Fine, "A record is one sector, which compression cannot shrink.")
            }
            ("off", false) => {
                RULE.finding(Standing::Improve, "Tables are stored and read at full size.").better("lz4")
            }
            (_, true) => {
                RULE.finding(Standing::NoEffect, "A record is one sector, which compression cannot shrink.")
            }
            (_, false) => RULE.finding(Standing::Fine, "Records are compressed."),
        };
        Some(finding.seen(present))
    })
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::ZfsDataset;

    use super::super::zfs::example::host;
    use super::*;
    use crate::host::example::standings;

    #[test]
    fn values_are_judged() {
        for (value, expected) in [
            (Some("lz4"), &[Standing::Fine][..]),
            (Some("off"), &[Standing::Improve]),
            (Some("-"), &[]),
            (None, &[]),
        ] {
            let host = host(ZfsDataset { compression: value.map(str::to_owned), ..ZfsDataset::default() });
            assert_eq!(standings(&RULE, &host), expected, "{value:?}");
        }
    }

    #[test]
    fn a_record_of_one_sector_does_not_shrink() {
        for (value, expected) in [("lz4", Standing::NoEffect), ("off", Standing::Fine)] {
            let dataset = ZfsDataset {
                compression: Some(value.to_owned()),
                record_bytes: Some(8192),
                ashift: Some(13),
                ..ZfsDataset::default()
            };
            assert_eq!(standings(&RULE, &host(dataset)), [expected], "{value}");
        }
    }
}
