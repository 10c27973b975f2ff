//! `logbias`.

use pgdyno_core::host::PgPurpose;

use super::scope::mounts_of;
use super::zfs::judge_datasets;
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `logbias`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "logbias",
        also: &["logbias=throughput", "logbias=latency"],
        what: "Whether synchronous writes go to the intent log of ZFS first (latency) or to their final place at \
               once (throughput).",
        today: Today::Depends,
        why: "fsync of WAL is what a commit waits for: latency answers after one write of the log, on a log device \
              if the pool has one. throughput saves writing data twice and can serve checkpoints of datasets that \
              hold data only; it fragments files and makes small commits slower, so it is wrong for WAL. What it \
              brings was not measured here.",
        source: "zfsprops(7); OpenZFS documentation, Workload Tuning, PostgreSQL.",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    judge_datasets(facts.host, |mount, zfs| {
        let present = zfs.log_bias.as_deref()?;
        let holds_wal =
            mounts_of(facts.host, &[PgPurpose::Wal]).iter().any(|other| other.point == mount.point);
        let finding = match present {
            "latency" => RULE.finding(Standing::Fine, "Commits wait for one write of the intent log."),
            "throughput" if holds_wal => RULE
                .finding(
                    Standing::Improve,
                    "WAL is here, whose small synchronous writes go to scattered places.",
                )
                .better("latency"),
            "throughput" => {
                RULE.finding(Standing::Fine, "No WAL is known to be here; data is not written twice.")
            }
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
            (Some("latency"), &[Standing::Fine][..]),
            (Some("throughput"), &[Standing::Fine]),
            (Some(""), &[]),
            (None, &[]),
        ] {
            let host = host(ZfsDataset { log_bias: value.map(str::to_owned), ..ZfsDataset::default() });
            assert_eq!(standings(&RULE, &host), expected, "{value:?}");
        }
    }

    #[test]
    fn wal_wants_latency() {
        let host = host(ZfsDataset { log_bias: Some("throughput".to_owned()), ..ZfsDataset::default() });
        let host = crate::host::example::with_directory(host, PgPurpose::Wal, "/data");
        assert_eq!(standings(&RULE, &host), [Standing::Improve]);
    }
}
