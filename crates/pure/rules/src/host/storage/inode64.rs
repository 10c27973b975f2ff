//! `inode64`.

use pgdyno_core::units::bytes;

use super::scope::{judge_each, mounts_with};
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// Up to this size inode32 keeps inodes nowhere that inode64 would not.
const ONE_TIB: u64 = 1 << 40;

/// `inode64`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "inode64",
        also: &["inode32"],
        what: "XFS may place inodes anywhere on the file system.",
        today: Today::DefaultIsRight,
        why: "It is the default since Linux 3.7, so that naming it brings nothing. inode32 keeps all inodes in the \
              first TiB, away from the data of large file systems, for programs that cannot handle inode numbers \
              of 64 bits; PostgreSQL can.",
        source: "Linux Documentation/admin-guide/xfs.rst (inode64).",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    judge_each(mounts_with(facts.host, &["xfs"]), |mount| {
        if mount.option("inode64").is_some() {
            let reason = "It is the default, which the kernel shows of every XFS, named or not.";
            return Some(RULE.finding(Standing::Fine, reason).seen("inode64"));
        }
        mount.option("inode32")?;
        let size = mount.size_bytes?;
        let finding = match size > ONE_TIB {
            true => RULE
                .finding(
                    Standing::Improve,
                    format!("All inodes of {} are kept in the first TiB.", bytes(size)),
                )
                .better("inode64"),
            false => RULE.finding(Standing::NoEffect, "Up to 1 TiB, inodes are placed as with inode64."),
        };
        Some(finding.seen("inode32"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::example::{mount, mounted, standings};

    #[test]
    fn inode32_is_found_on_large_file_systems() {
        for (options, size_bytes, expected) in [
            ("rw,inode64", Some(8 << 40), &[Standing::Fine][..]),
            ("rw,inode32", Some(8 << 40), &[Standing::Improve]),
            ("rw,inode32", Some(1 << 40), &[Standing::NoEffect]),
            ("rw,inode32", None, &[]),
            ("rw", Some(8 << 40), &[]),
        ] {
            let mut mount = mount("xfs", Some("sda"), options);
            mount.size_bytes = size_bytes;
            assert_eq!(standings(&RULE, &mounted(mount, Vec::new())), expected, "{options} {size_bytes:?}");
        }
    }
}
