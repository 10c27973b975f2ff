//! `mkfs.ext4 -b`.

use pgdyno_core::units::bytes;

use super::scope::{judge_each, mounts_with};
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `mkfs.ext4 -b`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "mkfs.ext4 -b",
        also: &["mkfs.ext4 -b 4096", "-b 4096"],
        what: "The block of ext4 in bytes: 1024 to 65536, not above the page size of the kernel.",
        today: Today::DefaultIsRight,
        why: "mkfs.ext4 takes 4096 for everything above 512 MiB, which is the page size of x86-64, and what \
              current disks write without reading. A block of 8 KiB of the server is two of them; the file system \
              cannot write both at once atomically, whatever its block. Blocks above the page size are refused up \
              to Linux 6.18.",
        source: "mke2fs(8); ext4(5); Linux fs/ext4/super.c.",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    judge_each(mounts_with(facts.host, &["ext2", "ext3", "ext4"]), |mount| {
        let block = mount.block_bytes.filter(|&bytes| bytes > 0)?;
        let finding = match block < 4096 {
            true => RULE
                .finding(
                    Standing::Improve,
                    format!("Each page is mapped by {} blocks instead of one.", 4096_u64.div_ceil(block)),
                )
                .better("4 KiB, with a new file system"),
            false => RULE.finding(Standing::Fine, "It is what current disks write without reading before."),
        };
        Some(finding.seen(bytes(block)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::example::{mount, mounted, standings};

    #[test]
    fn small_blocks_are_found() {
        for (filesystem, block_bytes, expected) in [
            ("ext4", Some(1024), &[Standing::Improve][..]),
            ("ext4", Some(4096), &[Standing::Fine]),
            ("ext4", Some(0), &[]),
            ("ext4", None, &[]),
            ("xfs", Some(1024), &[]),
        ] {
            let mut mount = mount(filesystem, Some("sda"), "");
            mount.block_bytes = block_bytes;
            assert_eq!(
                standings(&RULE, &mounted(mount, Vec::new())),
                expected,
                "{filesystem} {block_bytes:?}"
            );
        }
    }
}
