//! `initdb --data-checksums`.

use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `initdb --data-checksums`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "--data-checksums",
        also: &["initdb --data-checksums", "initdb -k", "data_checksums", "--no-data-checksums"],
        what: "Each block has a checksum, which is verified when the block is read.",
        today: Today::Kept,
        why: "They find what disks, controllers and torn writes damaged, before it spreads into backups; they \
              repair nothing. initdb sets them by default since 18. They cost CPU time per block read or written, \
              and WAL for the first change of a hint bit of a page after each checkpoint. pg_checksums switches \
              them on or off while the server is stopped, since 12. Compare servers only if they agree in this. \
              File systems with checksums of their own (ZFS, btrfs) find the same below.",
        source: "PostgreSQL manual, initdb and Data Checksums; release notes of 18.",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let setting = facts.host.server.as_ref().and_then(|server| server.settings.get("data_checksums"));
    let finding = match setting.map(String::as_str) {
        Some("on") => RULE.finding(Standing::Fine, "Damaged blocks are found when they are read.").seen("on"),
        Some("off") => RULE
            .finding(
                Standing::Improve,
                "Damaged blocks are returned to queries and copied into backups unnoticed.",
            )
            .seen("off")
            .better("on, by pg_checksums --enable while the server is stopped"),
        _ => return Vec::new(),
    };
    vec![finding]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::example::{booted, standings, with_setting};

    #[test]
    fn missing_checksums_are_found() {
        for (value, expected) in
            [("on", &[Standing::Fine][..]), ("off", &[Standing::Improve]), ("inprogress", &[])]
        {
            assert_eq!(
                standings(&RULE, &with_setting(booted(&[]), "data_checksums", value)),
                expected,
                "{value}"
            );
        }
        assert_eq!(standings(&RULE, &booted(&[])), []);
    }
}
