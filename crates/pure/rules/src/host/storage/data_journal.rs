//! `data=journal`.

use pgdyno_core::host::Knob;

use super::scope::{judge_each, mounts_with};
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `data=journal`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "data=journal",
        also: &[],
        what: "ext4 writes data into its journal first, and into the files later.",
        today: Today::DefaultIsRight,
        why: "Everything is written twice, also WAL, which is a journal already. It disables delayed allocation \
              and direct I/O. It does not replace full_page_writes: a block of 8 KiB may be split between two \
              transactions of the journal, and nothing promises otherwise.",
        source: "Linux Documentation/admin-guide/ext4.rst (data=journal); PostgreSQL manual, Write-Ahead Logging \
                 (tip on journaled file systems).",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    judge_each(mounts_with(facts.host, &["ext3", "ext4"]), |mount| {
        (mount.option("data")? == "journal").then(|| {
            RULE.finding(Standing::Improve, "All data is written twice, into the journal and into its file.")
                .seen("data=journal")
                .better("data=ordered")
                .by(Knob::MountOption(mount.point.clone()), "data=ordered")
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::example::{mount, mounted, standings};

    #[test]
    fn it_is_found() {
        let host = |options| mounted(mount("ext4", Some("sda"), options), Vec::new());
        assert_eq!(standings(&RULE, &host("rw,data=journal")), [Standing::Improve]);
        assert_eq!(standings(&RULE, &host("rw,data=ordered")), []);
        assert_eq!(standings(&RULE, &host("rw")), []);
    }
}
