//! `nodelalloc`.

use pgdyno_inventory::Knob;

use super::scope::{judge_each, mounts_with};
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `nodelalloc`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "nodelalloc",
        also: &["delalloc"],
        what: "ext4 chooses blocks when a file is written to, not when its pages are written out.",
        today: Today::DefaultIsRight,
        why: "Delayed allocation, the default, gives long contiguous extents to tables that grow block by block, \
              also when several grow at once. nodelalloc allocates in each write() or fallocate() what that \
              brings, so that files of tables that grow together interleave: block by block before PostgreSQL 16, \
              which extends a table that grows fast by up to 64 blocks at once. It was published to \
              avoid data loss of programs that do not call fsync, which PostgreSQL does.",
        source: "Linux Documentation/admin-guide/ext4.rst (delalloc, nodelalloc).",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    judge_each(mounts_with(facts.host, &["ext4"]), |mount| {
        mount.option("nodelalloc")?;
        let reason = "Tables that grow at the same time interleave on disk: block by block before PostgreSQL 16, \
                      in pieces of some blocks since.";
        let finding = RULE.finding(Standing::Improve, reason).seen("nodelalloc").better("delalloc");
        Some(finding.by(Knob::MountOption(mount.point.clone()), "delalloc"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::example::{mount, mounted, standings};

    #[test]
    fn it_is_found() {
        let host = |options| mounted(mount("ext4", Some("sda"), options), Vec::new());
        assert_eq!(standings(&RULE, &host("rw,nodelalloc")), [Standing::Improve]);
        assert_eq!(standings(&RULE, &host("rw,delalloc")), []);
        assert_eq!(standings(&RULE, &host("")), []);
    }
}
