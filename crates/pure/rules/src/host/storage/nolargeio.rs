//! `nolargeio`.

use super::scope::{judge_each, mounts_with};
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `nolargeio`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "nolargeio",
        also: &[],
        what: "stat() of a file on XFS reports a page as the preferred size of requests: the default.",
        today: Today::NoEffect,
        why: "It repeats the default, and the server does not ask for the preferred size anyway. The kernel does \
              not show it among the options of a mount.",
        source: "Linux Documentation/admin-guide/xfs.rst (nolargeio).",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    judge_each(mounts_with(facts.host, &["xfs"]), |mount| {
        mount.option("nolargeio")?;
        Some(RULE.finding(Standing::NoEffect, "It repeats the default.").seen("nolargeio"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::example::{mount, mounted, standings};

    #[test]
    fn it_does_nothing() {
        let host = |options| mounted(mount("xfs", Some("sda"), options), Vec::new());
        assert_eq!(standings(&RULE, &host("rw,nolargeio")), [Standing::NoEffect]);
        assert_eq!(standings(&RULE, &host("rw,largeio")), []);
        assert_eq!(standings(&RULE, &host("")), []);
    }
}
