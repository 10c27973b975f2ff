//! `noatime`.

use pgdyno_core::host::Knob;

use super::scope::{judge_each, mounts_with};
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today, measured::here};

/// `noatime`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "noatime",
        also: &["relatime", "strictatime"],
        what: "Reading a file does not update its time of access.",
        today: Today::Kept,
        why: "PostgreSQL never looks at this time. The default since Linux 2.6.30, relatime, writes it at the first \
              read after a change of the file, otherwise once a day, so that noatime saves an inode now and then: it \
              is harmless and brings little. On btrfs each such update copies metadata, more so with snapshots. \
              strictatime writes at every read.",
        gain: here(
            "noatime instead of relatime: no difference could be told, -1.4 % [-11, 8.8] of the TPS of reads by key of \
             8 clients from the page cache, on ext4 on a loop device",
        ),
        source: "mount(8).",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    judge_each(mounts_with(facts.host, &["ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "jfs"]), |mount| {
        let has = |name| mount.option(name).is_some();
        let better = |reason: &str, present| {
            let finding = RULE.finding(Standing::Improve, reason).seen(present).better("noatime");
            Some(finding.by(Knob::MountOption(mount.point.clone()), "noatime"))
        };
        if mount.options.is_empty() {
            None
        } else if has("noatime") {
            Some(RULE.finding(Standing::Fine, "Reads write no times of access.").seen("noatime"))
        } else if has("relatime") && mount.filesystem == "btrfs" {
            better("Each update of a time of access copies metadata of btrfs.", "relatime")
        } else if has("relatime") {
            let reason = "A time of access is written at the first read after a change, otherwise once a day; noatime \
                          would save that \
                          too.";
            Some(RULE.finding(Standing::Fine, reason).seen("relatime"))
        } else {
            better("Every read of a file writes its time of access.", "strictatime")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::example::{mount, mounted, standings};

    #[test]
    fn options_are_judged() {
        for (filesystem, options, expected) in [
            ("ext4", "rw,noatime", &[Standing::Fine][..]),
            ("xfs", "rw,relatime", &[Standing::Fine]),
            ("btrfs", "rw,relatime", &[Standing::Improve]),
            ("ext4", "rw", &[Standing::Improve]),
            ("ext4", "", &[]),
            ("zfs", "rw", &[]),
        ] {
            let host = mounted(mount(filesystem, Some("sda"), options), Vec::new());
            assert_eq!(standings(&RULE, &host), expected, "{filesystem} {options}");
        }
    }
}
