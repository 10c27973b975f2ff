//! Write caches of disks.

use super::scope::disks;
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `write_cache`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "write_cache",
        also: &["queue/write_cache"],
        what: "Whether the kernel takes the disk for one with a volatile cache (write back) or without (write \
               through).",
        today: Today::DefaultIsRight,
        why: "With write back, fsync makes the disk flush its cache, and barrier=0 loses commits at a power \
              failure. With write through, the kernel sends no flush, so that barriers cost nothing and switching \
              them off brings nothing. Disks with capacitors often report write through. The file can be written \
              to, which changes only what the kernel believes.",
        danger: "Writing write through for a disk that does have a volatile cache loses commits at a power failure.",
        source: "Linux Documentation/ABI/stable/sysfs-block (write_cache) and \
                 Documentation/block/writeback_cache_control.rst; PostgreSQL manual, Reliability.",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for disk in disks(facts.host) {
        let Some(present) = &disk.write_cache else { continue };
        let reason = match (present.as_str(), disk.force_unit_access) {
            ("write back", Some(true)) => {
                "The kernel flushes its cache at fsync, and can write single requests through it."
            }
            ("write back", _) => "The kernel flushes its cache at fsync.",
            ("write through", _) => {
                "The kernel sends no flush, as the disk says that it has no volatile cache."
            }
            _ => continue,
        };
        findings.push(RULE.finding(Standing::Fine, reason).about(&disk.name).seen(present.as_str()));
    }
    findings
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::{BlockDevice, DeviceKind};

    use super::*;
    use crate::host::example::{device, judged, mount, mounted};

    #[test]
    fn the_cache_is_told() {
        for (write_cache, said) in [
            (Some("write back"), Some("The kernel flushes its cache at fsync.")),
            (
                Some("write through"),
                Some("The kernel sends no flush, as the disk says that it has no volatile cache."),
            ),
            (Some("?"), None),
            (None, None),
        ] {
            let write_cache = write_cache.map(str::to_owned);
            let disk =
                BlockDevice { write_cache: write_cache.clone(), ..device("sda", DeviceKind::Disk, &[]) };
            let findings = judged(&RULE, &mounted(mount("ext4", Some("sda"), ""), vec![disk]));
            assert_eq!(findings.first().map(|finding| finding.reason.as_str()), said, "{write_cache:?}");
        }
    }
}
