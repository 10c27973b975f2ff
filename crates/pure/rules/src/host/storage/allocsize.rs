//! `allocsize`.

use pgdyno_core::units::bytes;

use super::logbsize::size;
use super::scope::{judge_each, mounts_with};
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `allocsize`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "allocsize",
        also: &["allocsize=16M"],
        what: "How much XFS allocates beyond the end of a file that grows: a fixed amount instead of one that \
               follows the file.",
        today: Today::DefaultIsRight,
        why: "Since Linux 2.6.38 XFS allocates more the larger a file is, and less when space runs short; a fixed \
              value switches that off. Tables grow in files of up to 1 GiB, for which the default gives long \
              extents. A fixed value also holds that much space behind each small table until the file is closed \
              or the space is reclaimed.",
        danger: "With very many small tables and a large value, space is used up that du shows and the tables do \
                 not need.",
        source: "Linux Documentation/admin-guide/xfs.rst (allocsize).",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    judge_each(mounts_with(facts.host, &["xfs"]), |mount| {
        let present = size(mount.option("allocsize")?)?;
        let reason = "A fixed amount switches off the allocation that follows the size of the file.";
        Some(RULE.finding(Standing::Improve, reason).seen(bytes(present)).better("without the option"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::example::{judged, mount, mounted, standings};

    #[test]
    fn a_fixed_amount_is_found() {
        let host = |options| mounted(mount("xfs", Some("sda"), options), Vec::new());
        assert_eq!(standings(&RULE, &host("rw,allocsize=16384k")), [Standing::Improve]);
        assert_eq!(judged(&RULE, &host("rw,allocsize=16384k"))[0].present.as_deref(), Some("16 MiB"));
        assert_eq!(standings(&RULE, &host("rw,allocsize=much")), []);
        assert_eq!(standings(&RULE, &host("rw")), []);
    }
}
