//! `logdev`.

use std::collections::BTreeSet;

use pgdyno_core::host::{Inventory, Mount};

use super::scope::{judge_each, mounts_with};
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `logdev`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "logdev",
        also: &["mkfs.xfs -l logdev", "-l logdev"],
        what: "The log of XFS is on a device of its own.",
        today: Today::Depends,
        why: "It takes writes of the log off a slow disk that data is on, where metadata changes often; a server \
              changes little. On the disks that data is on, it only adds another place to write to. WAL on a \
              device of its own does more.",
        danger: "Without the device of the log the file system cannot be mounted, so that it is as lost as the \
                 log. Both must be in one snapshot.",
        source: "mkfs.xfs(8), log section options; Linux Documentation/admin-guide/xfs.rst (logdev).",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    judge_each(mounts_with(facts.host, &["xfs"]), |mount| {
        let path = mount.option("logdev").filter(|path| !path.is_empty())?;
        let (log, data) = (disks_of(facts.host, path)?, disks_below(facts.host, mount.device.as_deref()?));
        if log.is_empty() || data.is_empty() {
            return None;
        }
        let finding = match log.is_disjoint(&data) {
            true => RULE.finding(
                Standing::Fine,
                "The log is on disks of its own; without them the file system is lost.",
            ),
            false => RULE.finding(
                Standing::NoEffect,
                "The log is on disks that data is on too, where an internal log does the same.",
            ),
        };
        Some(finding.seen(path))
    })
}

/// The disks of a device that is named as in `/dev`.
fn disks_of<'a>(host: &'a Inventory, path: &str) -> Option<BTreeSet<&'a str>> {
    let name = path.rsplit('/').next()?;
    let is_it = |device: &&pgdyno_core::host::BlockDevice| {
        device.name == name || device.alias.as_deref() == Some(name)
    };
    Some(disks_below(host, &host.devices.iter().find(is_it)?.name))
}

/// Names of the disks below a device.
pub(super) fn disks_below<'a>(host: &'a Inventory, name: &str) -> BTreeSet<&'a str> {
    host.disks_below(name).into_iter().map(|disk| disk.name.as_str()).collect()
}

/// Names of the disks below a mount.
pub(super) fn disks_of_mount<'a>(host: &'a Inventory, mount: &Mount) -> BTreeSet<&'a str> {
    mount.device.as_deref().map(|name| disks_below(host, name)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::{BlockDevice, DeviceKind};

    use super::*;
    use crate::host::example::{device, mount, mounted, standings};

    fn host(options: &str, log_on: &str) -> Inventory {
        let log =
            BlockDevice { alias: Some("vg-log".to_owned()), ..device("dm-1", DeviceKind::Lvm, &[log_on]) };
        let data = device("dm-0", DeviceKind::Lvm, &["sda"]);
        let disks = ["sda", "sdb"].map(|name| device(name, DeviceKind::Disk, &[]));
        mounted(mount("xfs", Some("dm-0"), options), [vec![data, log], disks.to_vec()].concat())
    }

    #[test]
    fn the_disks_of_log_and_data_are_compared() {
        let options = "rw,logdev=/dev/mapper/vg-log";
        assert_eq!(standings(&RULE, &host(options, "sdb")), [Standing::Fine]);
        assert_eq!(standings(&RULE, &host(options, "sda")), [Standing::NoEffect]);
        assert_eq!(standings(&RULE, &host("rw,logdev=/dev/unknown", "sda")), []);
        assert_eq!(standings(&RULE, &host("rw", "sda")), []);
    }
}
