//! File systems that are nearly full.

use pgdyno_core::host::PgPurpose;
use pgdyno_core::units::bytes;

use super::scope::{judge_each, mounts, mounts_of};
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// Free space.
pub static RULE: Rule = Rule {
    page: Page {
        name: "free space",
        also: &["disk full", "no space left on device"],
        what: "How much of a file system unprivileged users can still fill, of what they may fill at all: blocks that \
               are reserved for root are left out, as df does.",
        today: Today::Kept,
        why: "A statement that finds no space for data fails; WAL that finds none stops the server with PANIC, and \
              it cannot start until there is space. File systems that are nearly full also fragment, those that \
              copy on write first. Below 10 % is worth a look, below 3 % with WAL on it is an outage that waits.",
        danger: "The server stops when WAL cannot be written.",
        source: "PostgreSQL manual, Disk Full Failure.",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    judge_each(mounts(facts.host), |mount| {
        let (size, free) = (mount.size_bytes.filter(|&size| size > 0)?, mount.available_bytes?);
        let reserved = mount.reserved_bytes.unwrap_or(0).min(size);
        let percent = free as f64 / (size - reserved).max(1) as f64 * 100.0;
        let holds_wal =
            mounts_of(facts.host, &[PgPurpose::Wal]).iter().any(|other| other.point == mount.point);
        let told = told(free, size, (reserved, &mount.reserved_for()));
        let finding = if percent < 3.0 && holds_wal {
            RULE.finding(Standing::Dangerous, format!("{told}: the server stops when WAL finds no space."))
                .better("10 %")
        } else if percent < 10.0 {
            RULE.finding(Standing::Improve, format!("{told}: loads and checkpoints may find no space."))
                .better("10 %")
        } else {
            RULE.finding(Standing::Fine, format!("{told}."))
        };
        Some(finding.seen(format!("{percent:.1} %")))
    })
}

/// How much is free. What only root may use is left out of both, as df does.
fn told(free: u64, size: u64, (reserved, who): (u64, &str)) -> String {
    let usable = bytes(size - reserved);
    match reserved {
        0 => format!("{} of {usable} are free", bytes(free)),
        _ => format!(
            "{} of {usable} are free, and {} more for {who} alone (`pgdyno explain 'mkfs.ext4 -m'`)",
            bytes(free),
            bytes(reserved)
        ),
    }
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::Inventory;

    use super::*;
    use crate::host::example::{judged, mount, mounted, standings, with_directory};

    fn host(size_bytes: Option<u64>, available_bytes: Option<u64>) -> Inventory {
        let mut mount = mount("xfs", None, "rw");
        (mount.size_bytes, mount.available_bytes) = (size_bytes, available_bytes);
        mounted(mount, Vec::new())
    }

    #[test]
    fn shares_of_free_space_are_judged() {
        for (size, free, expected) in [
            (Some(1000), Some(500), &[Standing::Fine][..]),
            (Some(1000), Some(99), &[Standing::Improve]),
            (Some(1000), Some(0), &[Standing::Improve]),
            (Some(0), Some(0), &[]),
            (None, Some(0), &[]),
            (Some(1000), None, &[]),
        ] {
            assert_eq!(standings(&RULE, &host(size, free)), expected, "{free:?} of {size:?}");
        }
    }

    #[test]
    fn what_is_for_root_alone_is_told() {
        const GB: u64 = 1 << 30;
        let mut host = host(Some(252 * GB), Some(20 * GB));
        assert_eq!(standings(&RULE, &host), [Standing::Improve]);
        host.mounts[0].reserved_bytes = Some(161 * GB);
        // As df says: 71 GiB of 91 are used.
        let said = judged(&RULE, &host).remove(0);
        assert_eq!((said.standing, said.present.as_deref()), (Standing::Fine, Some("22.0 %")));
        assert!(said.reason.starts_with("20 GiB of 91 GiB are free, and 161 GiB more"), "{}", said.reason);
        host.mounts[0].reserved_bytes = Some(u64::MAX);
        assert_eq!(standings(&RULE, &host).len(), 1, "nonsense is no fault");
    }

    #[test]
    fn wal_without_space_is_dangerous() {
        let host = with_directory(host(Some(100 << 30), Some(1 << 30)), PgPurpose::Wal, "/data");
        let said = judged(&RULE, &host).remove(0);
        assert_eq!(said.standing, Standing::Dangerous);
        assert!(said.reason.starts_with("1 GiB of 100 GiB are free: the server stops"), "{}", said.reason);
    }
}
