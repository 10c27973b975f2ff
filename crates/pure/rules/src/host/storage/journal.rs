//! ext4 without a journal.

use super::{
    barrier,
    scope::{judge_each, mounts_with},
};
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// The journal of ext4.
pub static RULE: Rule = Rule {
    page: Page {
        name: "ext4 journal",
        also: &["has_journal", "mkfs.ext4 -O ^has_journal", "no journal", "jbd2"],
        what: "Whether ext4 writes changes of its metadata to a journal first, as it does unless it was made without \
               one (^has_journal); ext2 never has one.",
        today: Today::Kept,
        why: "PostgreSQL replays its data from WAL and syncs files and their directories, so that the manual does not \
              require a journal for them. But without one nothing brings the metadata back in order after a crash: \
              the kernel mounts the file system all the same, with a warning only, and damage goes unnoticed unless \
              it is checked before (e2fsck), for minutes to hours on a large volume; what the check cannot place is \
              lost or in lost+found, WAL included. A journal of metadata costs little beside the WAL: data=ordered \
              does not write data twice. tune2fs -j adds one, which is in use from the next mount on; where the file \
              system is mounted meanwhile, as a file .journal that must stay.",
        danger: "After a crash of the host, files and directories may be damaged or missing.",
        source: "ext4(5), has_journal; tune2fs(8); e2fsck(8); PostgreSQL manual, Write-Ahead Logging (tip on journaled \
                 file systems).",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    judge_each(mounts_with(facts.host, &["ext2", "ext4"]), |mount| match mount.is_journaled()? {
        // Without flushes the journal may reach the disk after what it describes.
        true if barrier::is_off(mount) => None,
        true => Some(RULE.finding(Standing::Fine, "A crash leaves metadata in order.").seen("journal")),
        false => {
            let reason = "After a crash only e2fsck puts the file system in order, and what that cannot place is lost \
                          or in lost+found; WAL does not help there.";
            let finding = RULE.finding(Standing::Dangerous, reason).seen("no journal");
            Some(finding.better("a journal (tune2fs -j, in use from the next mount on)"))
        }
    })
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::Mount;

    use super::*;
    use crate::host::example::{mount, mounted, standings};

    #[test]
    fn a_missing_journal_is_found() {
        for (filesystem, options, has_journal, expected) in [
            ("ext4", "rw", Some(false), &[Standing::Dangerous][..]),
            ("ext4", "rw", Some(true), &[Standing::Fine]),
            ("ext4", "rw,data=writeback", None, &[Standing::Fine]),
            ("ext4", "rw,data=ordered,barrier=0", Some(true), &[]),
            ("ext4", "rw", None, &[]),
            ("ext4", "ro", Some(false), &[]),
            ("ext2", "rw", None, &[Standing::Dangerous]),
            ("xfs", "rw", None, &[]),
        ] {
            let mount = Mount { has_journal, ..mount(filesystem, Some("sda"), options) };
            let host = mounted(mount, Vec::new());
            assert_eq!(standings(&RULE, &host), expected, "{filesystem} {options} {has_journal:?}");
        }
    }
}
