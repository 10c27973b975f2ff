//! `nodelalloc`.

use pgdyno_core::host::Knob;

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
        why: "With delayed allocation, the default, ext4 chooses when more of a file is known, so that files that \
              grow together get longer runs of blocks. The difference is small for a server: without it ext4 still \
              keeps some MiB beyond the end of a file that grows for that file, and PostgreSQL 16 and later extend \
              tables that grow fast by fallocate(), which chooses at once in both cases. nodelalloc was published \
              to avoid data loss of programs that do not call fsync, which PostgreSQL does.",
        source: "Linux Documentation/admin-guide/ext4.rst (delalloc, nodelalloc).",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    judge_each(mounts_with(facts.host, &["ext4"]), |mount| {
        mount.option("nodelalloc")?;
        let reason = "It brings nothing to a server, which syncs what it must not lose, and files that grow \
                      together get shorter runs of blocks.";
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
