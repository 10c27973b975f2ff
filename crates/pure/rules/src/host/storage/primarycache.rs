//! `primarycache`.

use super::zfs::judge_datasets;
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `primarycache`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "primarycache",
        also: &["primarycache=metadata"],
        what: "What the cache of ZFS in memory (ARC) keeps of a dataset: all, metadata or none.",
        today: Today::DefaultIsRight,
        why: "metadata was published because shared_buffers keeps data already. But PostgreSQL is built on a \
              second cache below, which for ZFS is the ARC and not the page cache: without it every miss of \
              shared_buffers is a read of the disk, a record larger than the block is read again for each change \
              of one of its blocks, and read-ahead has no place to read to. It can be right where shared_buffers \
              holds nearly all memory.",
        source: "zfsprops(7); OpenZFS documentation, Workload Tuning, which no longer advises it for PostgreSQL.",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    judge_datasets(facts.host, |_, zfs| {
        let present = zfs.primary_cache.as_deref()?;
        let finding = match present {
            "all" => {
                RULE.finding(Standing::Fine, "Data that shared_buffers does not hold may still be in memory.")
            }
            "metadata" | "none" => RULE
                .finding(
                    Standing::Improve,
                    "Every miss of shared_buffers reads the disk, and read-ahead has no place to go.",
                )
                .better("all"),
            _ => return None,
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
            (Some("all"), &[Standing::Fine][..]),
            (Some("metadata"), &[Standing::Improve]),
            (Some("none"), &[Standing::Improve]),
            (Some(""), &[]),
            (None, &[]),
        ] {
            let host = host(ZfsDataset { primary_cache: value.map(str::to_owned), ..ZfsDataset::default() });
            assert_eq!(standings(&RULE, &host), expected, "{value:?}");
        }
    }
}
