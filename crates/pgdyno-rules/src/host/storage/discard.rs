//! `discard`.

use super::scope::{judge_each, mounts_with};
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `discard`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "discard",
        also: &["nodiscard", "fstrim"],
        what: "The file system tells the disk at once which blocks became free.",
        today: Today::DefaultIsRight,
        why: "The disk needs to know, but not at once: dropping or truncating large tables then waits for \
              discards, which some disks process slowly. fstrim.timer of util-linux tells it once a week instead, \
              and most distributions enable it. btrfs discards in the background by default since Linux 6.2, which \
              is fine.",
        source: "fstrim(8); Linux Documentation/admin-guide/ext4.rst and xfs.rst (discard).",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    judge_each(mounts_with(facts.host, &["ext4", "xfs", "jfs"]), |mount| {
        mount.option("discard")?;
        let reason =
            "Dropping large tables waits for discards; fstrim tells the disk the same at a time of its own.";
        Some(
            RULE.finding(Standing::Improve, reason)
                .seen("discard")
                .better("without the option, and with fstrim.timer"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::example::{mount, mounted, standings};

    #[test]
    fn discards_at_once_are_found() {
        for (filesystem, options, expected) in [
            ("ext4", "rw,discard", &[Standing::Improve][..]),
            ("xfs", "rw,discard", &[Standing::Improve]),
            ("btrfs", "rw,discard=async", &[]),
            ("ext4", "rw", &[]),
        ] {
            let host = mounted(mount(filesystem, Some("sda"), options), Vec::new());
            assert_eq!(standings(&RULE, &host), expected, "{filesystem} {options}");
        }
    }
}
