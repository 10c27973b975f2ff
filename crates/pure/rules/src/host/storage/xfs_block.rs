//! `mkfs.xfs -b`.

use pgdyno_core::units::bytes;

use super::scope::{judge_each, mounts_with};
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `mkfs.xfs -b size`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "mkfs.xfs -b",
        also: &["mkfs.xfs -b size", "-b size"],
        what: "The block of XFS in bytes: 1024 to 65536 with checksums (the default format), 512 without.",
        today: Today::DefaultIsRight,
        why: "4096 is the default and the page size of x86-64 and most others. Kernels before 6.12 refuse to mount \
              a block above the page size (Function not implemented); kernels with larger pages, such as 64 KiB on \
              some arm64 and ppc64le, mount blocks up to theirs. Since 6.12 blocks up to 64 KiB are mounted where \
              the kernel has transparent huge pages, in the format with checksums only, and the kernel logged this \
              as experimental. A block of 8 KiB does not make writes of the server atomic: that needs an atomic \
              write that the program requests.",
        source: "mkfs.xfs(8); Linux fs/xfs/xfs_super.c; merge of large block sizes for XFS in Linux 6.12.",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let page = facts.host.memory.page_bytes;
    judge_each(mounts_with(facts.host, &["xfs"]), |mount| {
        let block = mount.block_bytes.filter(|&bytes| bytes > 0)?;
        let finding = if block < 4096 {
            RULE.finding(Standing::Improve, "More blocks are mapped per page than needed.")
                .better("4 KiB, with a new file system")
        } else if page > 0 && block > page {
            RULE.finding(
                Standing::Improve,
                format!("It is above the page size of {}: only kernels since 6.12 mount it.", bytes(page)),
            )
            .better(format!("{}, with a new file system", bytes(page)))
        } else {
            RULE.finding(Standing::Fine, "Every kernel with this page size mounts it.")
        };
        Some(finding.seen(bytes(block)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::example::{mount, mounted, standings};

    #[test]
    fn blocks_are_compared_with_pages() {
        for (block_bytes, page_bytes, expected) in [
            (Some(4096), 4096, &[Standing::Fine][..]),
            (Some(8192), 4096, &[Standing::Improve]),
            (Some(65536), 65536, &[Standing::Fine]),
            (Some(1024), 4096, &[Standing::Improve]),
            (Some(8192), 0, &[Standing::Fine]),
            (None, 4096, &[]),
        ] {
            let mut mount = mount("xfs", Some("sda"), "");
            mount.block_bytes = block_bytes;
            let mut host = mounted(mount, Vec::new());
            host.memory.page_bytes = page_bytes;
            assert_eq!(standings(&RULE, &host), expected, "{block_bytes:?} {page_bytes}");
        }
    }
}
