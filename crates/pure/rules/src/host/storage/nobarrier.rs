//! `nobarrier` of XFS and btrfs.

use super::scope::{judge_each, mounts_with};
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `nobarrier`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "nobarrier",
        also: &[],
        what: "The file system does not make disks flush their volatile caches; of ext4 see barrier.",
        today: Today::Obsolete,
        why: "XFS deprecated it in Linux 4.10, where it stopped having an effect, and removed it in 4.19: since \
              then a mount with it fails. btrfs and ext4 still have it, and there it loses confirmed commits at a \
              power failure. On disks without a volatile cache barriers cost nothing, so that it is of no use \
              there either.",
        danger: "Loss of confirmed commits and corruption of the file system at a power failure; a host that does \
                 not mount its volumes after an upgrade of the kernel.",
        source: "Linux Documentation/admin-guide/xfs.rst (Removed Mount Options); btrfs(5).",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let version = facts.host.kernel.version();
    judge_each(mounts_with(facts.host, &["xfs", "btrfs"]), |mount| {
        mount.option("nobarrier")?;
        let finding = match (mount.filesystem.as_str(), version) {
            ("xfs", None) => return None,
            ("xfs", Some(version)) if version >= (4, 10) => RULE.finding(
                Standing::Obsolete,
                "It has no effect since Linux 4.10, and kernels since 4.19 refuse to mount with it.",
            ),
            _ => RULE.finding(
                Standing::Dangerous,
                "fsync returns while data may still be in a volatile cache of a disk: a power failure then loses \
                 confirmed commits, and can damage the file system.",
            ),
        };
        Some(finding.seen("nobarrier").better("without the option"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::example::{mount, mounted, standings};

    #[test]
    fn the_kernel_and_the_file_system_decide() {
        for (filesystem, options, release, expected) in [
            ("xfs", "rw,nobarrier", "3.10.0-957.el7", &[Standing::Dangerous][..]),
            ("xfs", "rw,nobarrier", "4.14.0", &[Standing::Obsolete]),
            ("btrfs", "rw,nobarrier", "6.12.0", &[Standing::Dangerous]),
            ("xfs", "rw", "3.10.0", &[]),
            ("xfs", "rw,nobarrier", "", &[]),
        ] {
            let mut host = mounted(mount(filesystem, Some("sda"), options), Vec::new());
            host.kernel.release = release.to_owned();
            assert_eq!(standings(&RULE, &host), expected, "{filesystem} {options} {release}");
        }
    }
}
