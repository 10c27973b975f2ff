//! `data=writeback`.

use pgdyno_core::host::Knob;

use super::scope::{judge_each, mounts_with};
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `data=writeback`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "data=writeback",
        also: &["data=ordered", "data="],
        what: "ext4 commits its journal without writing the data of new blocks first, as the default data=ordered \
               does.",
        today: Today::Depends,
        why: "fsync writes data and metadata in both modes, so that PostgreSQL loses no commit by it: the manual \
              even names it as a way to avoid flushes of data by the journal, for ext3. What it exposes: after a \
              crash, blocks that were allocated but not yet synced may show old contents of deleted files, of \
              other users too. PostgreSQL replays what it needs from WAL, but log files, archives and files of \
              other programs are not protected. With delayed allocation, ordered mode flushes little, so that the \
              gain on ext4 is small. ext4 refuses another mode at a remount: it holds from the next mount, after \
              umount or a reboot.",
        danger: "Old contents of other files may appear in files that were not synced when the host crashed. With \
                 barrier=0 beside it, commits are lost as well.",
        source: "Linux Documentation/admin-guide/ext4.rst (data=); PostgreSQL manual, Write-Ahead Logging (tip on \
                 journaled file systems).",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    judge_each(mounts_with(facts.host, &["ext3", "ext4"]), |mount| {
        let finding = match mount.option("data")? {
            "writeback" => RULE
                .finding(
                    Standing::Improve,
                    "Files that were not synced may show old contents of others after a crash; this alone risks \
                     no commit. ext4 refuses another mode at a remount, so it takes umount and mount, or a reboot.",
                )
                .seen("data=writeback")
                .better("data=ordered")
                .by(Knob::MountOption(mount.point.clone()), "data=ordered"),
            "ordered" => RULE
                .finding(Standing::Fine, "New blocks are written before the journal refers to them.")
                .seen("data=ordered"),
            _ => return None,
        };
        Some(finding)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::example::{mount, mounted, standings};

    #[test]
    fn modes_are_judged() {
        for (filesystem, options, expected) in [
            ("ext4", "rw,data=writeback", &[Standing::Improve][..]),
            ("ext4", "rw,data=ordered", &[Standing::Fine]),
            ("ext4", "rw,data=journal", &[]),
            ("ext4", "rw", &[]),
            ("xfs", "rw,data=writeback", &[]),
        ] {
            let host = mounted(mount(filesystem, Some("sda"), options), Vec::new());
            assert_eq!(standings(&RULE, &host), expected, "{filesystem} {options}");
        }
    }
}
