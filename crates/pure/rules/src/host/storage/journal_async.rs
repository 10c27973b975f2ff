//! `journal_async_commit`.

use super::scope::{judge_each, mounts_with};
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `journal_async_commit`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "journal_async_commit",
        also: &[],
        what: "The journal of ext4 writes its commit block without waiting for the blocks before it.",
        today: Today::DefaultIsRight,
        why: "It saves one flush per commit of the journal and relies on checksums to tell after a crash whether \
              all arrived. The kernel refuses it together with data=ordered, because data could then be missing \
              from files that the journal calls complete; so it comes with data=writeback and its exposure. What \
              it brings was not measured.",
        danger: "Replay stops at the first block whose checksum is wrong: what the journal holds after it is lost.",
        source: "Linux Documentation/admin-guide/ext4.rst (journal_async_commit); fs/ext4/super.c.",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    judge_each(mounts_with(facts.host, &["ext4"]), |mount| {
        mount.option("journal_async_commit")?;
        let reason = "It is allowed only without data=ordered, and trusts checksums where the default waits.";
        Some(
            RULE.finding(Standing::Improve, reason).seen("journal_async_commit").better("without the option"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::example::{mount, mounted, standings};

    #[test]
    fn it_is_found() {
        let host = |options| mounted(mount("ext4", Some("sda"), options), Vec::new());
        assert_eq!(standings(&RULE, &host("rw,journal_async_commit")), [Standing::Improve]);
        assert_eq!(standings(&RULE, &host("rw,journal_checksum")), []);
        assert_eq!(standings(&RULE, &host("")), []);
    }
}
