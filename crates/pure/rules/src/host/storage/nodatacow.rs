//! `nodatacow` of btrfs.

use super::scope::{judge_each, mounts_with};
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `nodatacow`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "nodatacow",
        also: &["btrfs", "chattr +C", "datacow"],
        what: "btrfs overwrites data in place instead of writing each change to a new place; chattr +C does so for \
               one directory.",
        today: Today::Depends,
        why: "Copy on write scatters files that are changed at random, so that scans become random reads; with it \
              come checksums and compression, which nodatacow switches off as well. chattr +C must be set on an \
              empty directory before initdb. A snapshot makes the next write of each block copy again. Neither way \
              is documented to keep a block of 8 KiB whole at a crash: leave full_page_writes on, and use data \
              checksums.",
        danger: "Without copy on write btrfs does not notice damaged data.",
        source: "btrfs(5), nodatacow; chattr(1).",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    judge_each(mounts_with(facts.host, &["btrfs"]), |mount| {
        if mount.options.is_empty() {
            return None;
        }
        Some(match mount.option("nodatacow") {
            Some(_) => RULE
                .finding(Standing::Fine, "Data is overwritten in place, without checksums of btrfs: use those of \
                                          the server.")
                .seen("nodatacow"),
            None => RULE.finding(
                Standing::Unknown,
                "Data is copied on write, unless the directory has the attribute C, which the mount does not show \
                 (lsattr -d).",
            ),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::example::{mount, mounted, standings};

    #[test]
    fn the_attribute_of_directories_is_unknown() {
        for (filesystem, options, expected) in [
            ("btrfs", "rw,nodatacow", &[Standing::Fine][..]),
            ("btrfs", "rw", &[Standing::Unknown]),
            ("btrfs", "", &[]),
            ("ext4", "rw", &[]),
        ] {
            let host = mounted(mount(filesystem, Some("sda"), options), Vec::new());
            assert_eq!(standings(&RULE, &host), expected, "{filesystem} {options}");
        }
    }
}
