//! `atime` of ZFS.

use super::zfs::judge_datasets;
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `atime` of ZFS.
pub static RULE: Rule = Rule {
    page: Page {
        name: "zfs atime",
        also: &["atime", "atime=off"],
        what: "Whether reading a file of a dataset updates its time of access.",
        today: Today::Kept,
        why: "PostgreSQL never looks at it, and each update copies metadata. ZFS has it on by default, tempered by \
              its property relatime where that is on.",
        source: "zfsprops(7).",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    judge_datasets(facts.host, |_, zfs| {
        let present = zfs.atime.as_deref()?;
        let finding = match present {
            "on" => RULE
                .finding(Standing::Improve, "Reads of files copy metadata to record their time.")
                .better("off"),
            "off" => RULE.finding(Standing::Fine, "Reads write no times of access."),
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
            (Some("off"), &[Standing::Fine][..]),
            (Some("on"), &[Standing::Improve]),
            (Some("-"), &[]),
            (None, &[]),
        ] {
            let host = host(ZfsDataset { atime: value.map(str::to_owned), ..ZfsDataset::default() });
            assert_eq!(standings(&RULE, &host), expected, "{value:?}");
        }
    }
}
