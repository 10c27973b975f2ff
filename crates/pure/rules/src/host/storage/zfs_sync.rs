//! `sync` of ZFS.

use super::zfs::judge_datasets;
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `sync` of ZFS.
pub static RULE: Rule = Rule {
    page: Page {
        name: "sync=disabled",
        also: &["zfs sync", "sync=standard", "sync=always"],
        what: "Whether ZFS obeys fsync: standard does, always syncs every write, disabled ignores it.",
        today: Today::Dangerous,
        why: "With disabled, fsync returns at once and data reaches the disks with the next transaction group, \
              some seconds later. All files of a pool stay consistent with each other, but confirmed commits of \
              those seconds are lost, and with WAL on another pool or file system the cluster may be damaged. For \
              the same gain with a bounded loss there is synchronous_commit=off. always syncs each write of a \
              checkpoint by itself, which the server does not need.",
        danger: "Loss of confirmed commits at a crash of the host; standbys that are ahead of their primary.",
        source: "zfsprops(7); PostgreSQL manual, Asynchronous Commit.",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    judge_datasets(facts.host, |_, zfs| {
        let present = zfs.sync.as_deref()?;
        let finding = match present {
            "standard" => RULE.finding(Standing::Fine, "fsync waits until data is safe."),
            "always" => RULE
                .finding(
                    Standing::Improve,
                    "Every write of a checkpoint waits by itself, though one fsync is enough.",
                )
                .better("standard"),
            "disabled" => RULE
                .finding(
                    Standing::Dangerous,
                    "fsync returns before data is safe: a crash loses confirmed commits.",
                )
                .better("standard"),
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
            (Some("standard"), &[Standing::Fine][..]),
            (Some("disabled"), &[Standing::Dangerous]),
            (Some("always"), &[Standing::Improve]),
            (Some(""), &[]),
            (None, &[]),
        ] {
            let host = host(ZfsDataset { sync: value.map(str::to_owned), ..ZfsDataset::default() });
            assert_eq!(standings(&RULE, &host), expected, "{value:?}");
        }
    }
}
