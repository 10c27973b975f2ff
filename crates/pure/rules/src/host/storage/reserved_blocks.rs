//! Blocks that only root may use.

use pgdyno_core::host::Mount;
use pgdyno_core::units::bytes;

use super::scope::{judge_each, mounts_with};
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `mkfs.ext4 -m`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "mkfs.ext4 -m",
        also: &["mkfs.ext4 -m 0", "reserved blocks", "tune2fs -m"],
        what: "The share of the file system that only root may fill, and whom the options resuid and resgid name, in \
               percent; 5 by default.",
        today: Today::Kept,
        why: "5 % of a large volume is space that the server can never use; 0 or 1 is right for a volume that holds \
              nothing but data directories. tune2fs -m changes it at any time. df counts the reserve as neither \
              used nor available. It also keeps some space free, without which files fragment; watch free space \
              yourself instead. More than the default is told of every volume, the default where it is large and \
              not the root of the system.",
        danger: "With 0, a file system that ran full has nothing left with which root could repair it.",
        source: "mke2fs(8), tune2fs(8).",
        ..Page::EMPTY
    },
    judge,
};

/// A larger share than the default of 5 % has, which is rounded to blocks.
const ABOVE_DEFAULT: f64 = 0.06;
/// A reserve that a server would miss, in bytes.
const LARGE: u64 = 10 << 30;

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    judge_each(mounts_with(facts.host, &["ext2", "ext3", "ext4"]), judge_mount)
}

fn judge_mount(mount: &Mount) -> Option<Finding> {
    let (size, reserved) = (mount.size_bytes.filter(|size| *size > 0)?, mount.reserved_bytes?);
    let share = reserved as f64 / size as f64;
    let who = mount.reserved_for();
    let never = match who.as_str() {
        "root" => "the server can never use them",
        _ => "a server of another user can never use them",
    };
    let told = format!("{} of {} are free for {who} alone", bytes(reserved), bytes(size));
    let is_large = mount.point != "/" && reserved > LARGE && share > 0.02;
    let finding = if share > ABOVE_DEFAULT {
        let reason =
            format!("{told}, more than the default of 5 %: {never}. Somebody chose it: ask what for first.");
        let better = if mount.point == "/" { "tune2fs -m 5" } else { "tune2fs -m 1" };
        RULE.finding(Standing::Improve, reason).better(better)
    } else if is_large {
        let reason = format!("{told}: {never}.");
        RULE.finding(Standing::Improve, reason).better("tune2fs -m 1")
    } else {
        RULE.finding(Standing::Fine, format!("{told}."))
    };
    Some(finding.seen(bytes(reserved)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::example::{judged, mount, mounted, standings};

    #[test]
    fn a_large_reserve_is_told() {
        const GB: u64 = 1 << 30;
        for (point, size, reserved, expected) in [
            ("/", Some(252 * GB), Some(161 * GB), &[Standing::Improve][..]),
            ("/", Some(252 * GB), Some(12 * GB), &[Standing::Fine]),
            ("/data", Some(1000 * GB), Some(50 * GB), &[Standing::Improve]),
            ("/data", Some(1000 * GB), Some(10 * GB), &[Standing::Fine]),
            ("/data", Some(30 * GB), Some(GB), &[Standing::Fine]),
            ("/data", Some(30 * GB), None, &[]),
            ("/data", Some(0), Some(0), &[]),
            ("/data", None, Some(0), &[]),
        ] {
            let mut of = mount("ext4", Some("sda"), "rw,resuid=0,resgid=0");
            of.point = point.to_owned();
            (of.size_bytes, of.reserved_bytes) = (size, reserved);
            let host = mounted(of, Vec::new());
            assert_eq!(standings(&RULE, &host), expected, "{point} {reserved:?} of {size:?}");
            let named = judged(&RULE, &host).first().is_none_or(|finding| {
                let better = if point == "/" { "tune2fs -m 5" } else { "tune2fs -m 1" };
                finding.object == point && finding.recommended.as_deref().is_none_or(|told| told == better)
            });
            assert!(named, "{point}");
        }
    }

    #[test]
    fn the_reserve_may_be_the_servers() {
        let mut of = mount("ext4", Some("sda"), "rw,resuid=26,resgid=27");
        (of.size_bytes, of.reserved_bytes) = (Some(100 << 30), Some(50 << 30));
        let finding = judged(&RULE, &mounted(of, Vec::new())).remove(0);
        let expected = "50 GiB of 100 GiB are free for root, user 26 and group 27 alone, more than the default of 5 %: \
                        a server of another user can never use them. Somebody chose it: ask what for first.";
        assert_eq!((finding.standing, finding.reason.as_str()), (Standing::Improve, expected));
    }
}
