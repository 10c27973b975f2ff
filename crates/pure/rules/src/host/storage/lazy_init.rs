//! `lazy_itable_init`.

use super::scope::{judge_each, mounts_with};
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `lazy_itable_init`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "lazy_itable_init",
        also: &["lazy_itable_init=1", "mkfs.ext4 -E lazy_itable_init", "ext4lazyinit", "init_itable"],
        what: "mkfs.ext4 leaves inode tables uninitialised, and the kernel writes them after the first mount.",
        today: Today::DefaultIsRight,
        why: "It is the default where the kernel can do it, which all can since 2.6.37. On a volume of some TiB \
              the thread ext4lazyinit writes for hours at a low rate. Before a measurement either wait until it \
              has ended, or make the file system with -E lazy_itable_init=0,lazy_journal_init=0, which takes as \
              long as the writing takes.",
        danger: "Measurements in the first hours of a file system share the disk with it.",
        source: "mke2fs(8), extended options; Linux Documentation/admin-guide/ext4.rst (init_itable).",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    judge_each(mounts_with(facts.host, &["ext4"]), |mount| {
        Some(match mount.initialises_inodes? {
            true => RULE.finding(
                Standing::Improve,
                "The kernel still writes inode tables in the background: wait until ext4lazyinit has ended before \
                 measuring.",
            ),
            false => RULE.finding(Standing::Fine, "No inode tables are being written."),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::example::{mount, mounted, standings};

    #[test]
    fn initialisation_in_the_background_is_found() {
        for (initialises, expected) in
            [(Some(true), &[Standing::Improve][..]), (Some(false), &[Standing::Fine]), (None, &[])]
        {
            let mut mount = mount("ext4", Some("sda"), "");
            mount.initialises_inodes = initialises;
            assert_eq!(standings(&RULE, &mounted(mount, Vec::new())), expected, "{initialises:?}");
        }
    }
}
