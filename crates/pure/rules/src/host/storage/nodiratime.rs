//! `nodiratime`.

use super::scope::{judge_each, mounts};
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `nodiratime`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "nodiratime",
        also: &["diratime"],
        what: "Reading a directory does not update its time of access.",
        today: Today::NoEffect,
        why: "noatime covers directories as well, so that nodiratime beside it does nothing. Alone it covers \
              directories only, which a server rarely reads.",
        source: "mount(8); Linux fs/inode.c, atime_needs_update().",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    judge_each(mounts(facts.host), |mount| {
        mount.option("nodiratime")?;
        let reason = match mount.option("noatime") {
            Some(_) => "noatime, which is set too, covers directories.",
            None => "It covers directories only, which a server rarely reads.",
        };
        Some(RULE.finding(Standing::NoEffect, reason).seen("nodiratime"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::example::{judged, mount, mounted};

    #[test]
    fn it_does_nothing() {
        for (options, said) in [
            ("noatime,nodiratime", Some("noatime, which is set too, covers directories.")),
            ("relatime,nodiratime", Some("It covers directories only, which a server rarely reads.")),
            ("noatime", None),
        ] {
            let findings = judged(&RULE, &mounted(mount("ext4", Some("sda"), options), Vec::new()));
            assert_eq!(findings.first().map(|finding| finding.reason.as_str()), said, "{options}");
        }
    }
}
