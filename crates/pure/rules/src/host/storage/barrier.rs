//! `barrier` of ext4.

use pgdyno_core::host::{Inventory, Knob, Mount};

use super::scope::{judge_each, mounts_with};
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `barrier`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "barrier",
        also: &["barrier=0", "barrier=1"],
        what: "Whether ext4 makes disks flush their volatile caches at fsync and at commits of its journal.",
        today: Today::Dangerous,
        why: "barrier=0 means that fsync returns while data is still in the cache of the disk: commits that were \
              confirmed are lost at a power failure, and the file system itself may be damaged. Where all disks \
              have no volatile cache (write_cache is write through), the kernel sends no flush anyway, so that \
              barrier=0 brings nothing. The manual knows one case for it: a controller whose cache is kept by a \
              battery that works, and which writes it out whenever it is told to flush. Such a controller can mostly \
              be told itself to keep what is flushed, which shows as write_cache write through. Figures measured on \
              other disks with barrier=0 are those of a server without fsync.",
        danger: "Loss of confirmed commits and corruption of the file system at a power failure.",
        source: "Linux Documentation/admin-guide/ext4.rst (barrier); \
                 Documentation/block/writeback_cache_control.rst; PostgreSQL manual, Reliability.",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    judge_each(mounts_with(facts.host, &["ext3", "ext4"]), |mount| {
        let is_off = is_off(mount);
        let present = if is_off { "barrier=0" } else { "barrier=1" };
        if mount.options.is_empty() {
            return None;
        }
        let finding = match is_off {
            false => return Some(RULE.finding(Standing::Fine, "fsync flushes the caches of disks.").seen(present)),
            true if has_no_volatile_cache(facts.host, mount) => RULE.finding(
                Standing::NoEffect,
                "No disk below has a volatile cache, so that the kernel would send no flush either way.",
            ),
            true => RULE.finding(
                Standing::Dangerous,
                "fsync returns while data may still be in a volatile cache of a disk: a power failure then loses \
                 confirmed commits, and can damage the file system.",
            ),
        };
        Some(
            finding.seen(present).better("barrier=1").by(Knob::MountOption(mount.point.clone()), "barrier=1"),
        )
    })
}

/// Whether the file system asks disks for no flush.
pub(super) fn is_off(mount: &Mount) -> bool {
    mount.option("barrier") == Some("0") || mount.option("nobarrier").is_some()
}

/// Whether all disks below are known to have none.
fn has_no_volatile_cache(host: &Inventory, mount: &Mount) -> bool {
    let disks = mount.device.as_deref().map(|name| host.disks_below(name)).unwrap_or_default();
    !disks.is_empty() && disks.iter().all(|disk| disk.write_cache.as_deref() == Some("write through"))
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::{BlockDevice, DeviceKind};

    use super::*;
    use crate::host::example::{device, judged, mount, mounted, standings};

    fn host(filesystem: &str, options: &str, caches: &[Option<&str>]) -> Inventory {
        let names: Vec<String> = (0..caches.len()).map(|number| format!("sd{number}")).collect();
        let parents: Vec<&str> = names.iter().map(String::as_str).collect();
        let disks = names.iter().zip(caches).map(|(name, cache)| BlockDevice {
            write_cache: cache.map(str::to_owned),
            ..device(name, DeviceKind::Disk, &[])
        });
        let devices = std::iter::once(device("md0", DeviceKind::Md, &parents)).chain(disks).collect();
        mounted(mount(filesystem, Some("md0"), options), devices)
    }

    #[test]
    fn the_caches_below_decide() {
        let (back, through) = (Some("write back"), Some("write through"));
        for (options, caches, expected) in [
            ("rw,noatime", &[back, back][..], Standing::Fine),
            ("rw,barrier=1", &[back, back], Standing::Fine),
            ("rw,barrier=0", &[back, back], Standing::Dangerous),
            ("rw,nobarrier", &[back, back], Standing::Dangerous),
            ("rw,barrier=0", &[through, back], Standing::Dangerous),
            ("rw,barrier=0", &[through, None], Standing::Dangerous),
            ("rw,barrier=0", &[through, through], Standing::NoEffect),
        ] {
            assert_eq!(standings(&RULE, &host("ext4", options, caches)), [expected], "{options} {caches:?}");
        }
    }

    #[test]
    fn a_file_system_on_an_unknown_device_is_in_danger() {
        let mut host = host("ext4", "rw,barrier=0", &[Some("write through")]);
        host.mounts[0].device = None;
        assert_eq!(standings(&RULE, &host), [Standing::Dangerous]);
        let change = judged(&RULE, &host).remove(0).change.expect("it must be mounted otherwise");
        assert_eq!(
            (change.knob, change.value.as_str()),
            (Knob::MountOption("/data".to_owned()), "barrier=1")
        );
    }

    #[test]
    fn nothing_is_claimed_without_options_or_of_others() {
        assert_eq!(standings(&RULE, &host("ext4", "", &[None])), []);
        assert_eq!(standings(&RULE, &host("xfs", "rw,nobarrier", &[None])), []);
    }
}
