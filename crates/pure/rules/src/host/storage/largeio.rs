//! `largeio`.

use super::scope::{judge_each, mounts_with};
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `largeio`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "largeio",
        also: &[],
        what: "stat() of a file on XFS reports the full stripe as the preferred size of requests, instead of a page.",
        today: Today::NoEffect,
        why: "PostgreSQL reads and writes its blocks whatever stat() says; only programs that size their buffers \
              by st_blksize, such as cp and the C library's stdio, are affected. It was published for data \
              warehouses: what helps scans is read-ahead.",
        source: "Linux Documentation/admin-guide/xfs.rst (largeio).",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    judge_each(mounts_with(facts.host, &["xfs"]), |mount| {
        mount.option("largeio")?;
        let reason = "The server does not ask for the preferred size of requests.";
        Some(RULE.finding(Standing::NoEffect, reason).seen("largeio"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::example::{mount, mounted, standings};

    #[test]
    fn it_does_nothing() {
        let host = |options| mounted(mount("xfs", Some("sda"), options), Vec::new());
        assert_eq!(standings(&RULE, &host("rw,largeio")), [Standing::NoEffect]);
        assert_eq!(standings(&RULE, &host("rw")), []);
        assert_eq!(standings(&RULE, &host("")), []);
    }
}
