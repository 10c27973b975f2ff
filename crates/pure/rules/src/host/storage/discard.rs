//! `discard`.

use pgdyno_core::host::Mount;

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
        why: "The disk needs to know, but not at once. ext4 with a journal (since Linux 5.15) and XFS (since 4.11) \
              discard in the background after the blocks became free; before, and on ext4 without a journal, dropping \
              or truncating large tables waits for discards. In the background, too, they compete with the requests \
              of the server on disks that process them slowly. fstrim.timer of util-linux tells the disk once a week \
              instead, and most distributions enable it. btrfs discards in the background by default since Linux \
              6.2, which is fine.",
        source: "fstrim(8); Linux Documentation/admin-guide/ext4.rst and xfs.rst (discard); fs/ext4/mballoc.c, \
                 ext4_discard_work; fs/xfs/xfs_discard.c.",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    judge_each(mounts_with(facts.host, &["ext4", "xfs", "jfs"]), |mount| {
        mount.option("discard")?;
        let reason = match waits(facts, mount) {
            Some(true) => {
                "Dropping large tables waits for discards; fstrim tells the disk the same at a time of its own."
            }
            Some(false) => {
                "Blocks are discarded in the background as soon as they are free, beside the requests of the \
                 server; fstrim does so at a time of its own."
            }
            None => {
                "Dropping large tables may wait for discards; fstrim tells the disk the same at a time of its own."
            }
        };
        Some(RULE.finding(Standing::Improve, reason).seen("discard").better(
            "without the option, and fstrim once a week (fstrim.timer, or cron where there is no systemd)",
        ))
    })
}

/// Whether who frees blocks waits until they are discarded; `None` if it is unknown.
fn waits(facts: &Facts<'_>, mount: &Mount) -> Option<bool> {
    match (mount.filesystem.as_str(), mount.is_journaled()) {
        ("xfs", _) => facts.kernel_is_at_least(4, 11).map(|is_newer| !is_newer),
        ("ext4", Some(true)) => facts.kernel_is_at_least(5, 15).map(|is_newer| !is_newer),
        ("ext4", None) => (facts.kernel_is_at_least(5, 15) == Some(false)).then_some(true),
        _ => Some(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::example::{judged, mount, mounted, standings};

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

    #[test]
    fn newer_kernels_discard_in_the_background() {
        let journal = "rw,discard,data=ordered";
        for (filesystem, options, has_journal, release, expected) in [
            ("ext4", journal, None, "6.1.0", "in the background"),
            ("ext4", "rw,discard", Some(true), "5.15.0", "in the background"),
            ("ext4", journal, None, "5.10.0", "waits for discards"),
            ("ext4", "rw,discard", Some(false), "6.18.0", "waits for discards"),
            ("ext4", "rw,discard", None, "6.18.0", "may wait"),
            ("ext4", journal, None, "", "may wait"),
            ("xfs", "rw,discard", None, "4.18.0", "in the background"),
            ("xfs", "rw,discard", None, "3.10.0", "waits for discards"),
            ("jfs", "rw,discard", None, "6.1.0", "waits for discards"),
        ] {
            let mount = Mount { has_journal, ..mount(filesystem, Some("sda"), options) };
            let mut host = mounted(mount, Vec::new());
            release.clone_into(&mut host.kernel.release);
            let reason = judged(&RULE, &host).remove(0).reason;
            assert!(reason.contains(expected), "{filesystem} {options} {has_journal:?} {release}: {reason}");
        }
    }
}
