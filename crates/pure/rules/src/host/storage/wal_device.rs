//! Data and WAL on one device.

use pgdyno_core::host::PgPurpose;

use super::logdev::disks_of_mount;
use super::scope::mounts_of;
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// WAL on a device of its own.
pub static RULE: Rule = Rule {
    page: Page {
        name: "wal device",
        also: &["pg_wal on its own device", "waldir"],
        what: "Whether WAL and data are on the same disks.",
        today: Today::Depends,
        why: "On rotating disks WAL is written in sequence only if nothing else moves the heads, so that a disk of \
              its own pays. On SSDs the separation matters less: it keeps writes of a checkpoint out of the queue \
              of WAL, makes them measurable apart, and a full volume of data cannot stop WAL. It halves what each \
              may take from the disks that there are.",
        danger: "Where WAL cannot be written because its file system is full, the server stops with PANIC.",
        source: "PostgreSQL manual, WAL Internals.",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let host = facts.host;
    let data: Vec<_> = mounts_of(host, &[PgPurpose::Data, PgPurpose::Tablespace]);
    let mut findings = Vec::new();
    for wal in mounts_of(host, &[PgPurpose::Wal]) {
        let own = disks_of_mount(host, wal);
        if own.is_empty()
            || data.is_empty()
            || data.iter().any(|mount| disks_of_mount(host, mount).is_empty())
        {
            continue;
        }
        let shared: Vec<&str> = own
            .iter()
            .copied()
            .filter(|disk| data.iter().any(|mount| disks_of_mount(host, mount).contains(disk)))
            .collect();
        let rotates =
            shared.iter().any(|disk| host.device(disk).is_some_and(|disk| host.rotates(disk) == Some(true)));
        let finding = if shared.is_empty() {
            RULE.finding(Standing::Fine, "WAL has disks of its own.")
        } else if rotates {
            RULE.finding(
                Standing::Improve,
                format!("WAL and data move the heads of the same disk: {}.", shared.join(", ")),
            )
            .better("WAL on disks of its own")
        } else {
            let known =
                shared.iter().all(|disk| host.device(disk).and_then(|of| host.rotates(of)) == Some(false));
            let why = match (known, shared.len()) {
                (true, _) => "where nothing rotates",
                (false, 1) => "of which it is not known that it rotates",
                (false, _) => "of which it is not known that they rotate",
            };
            RULE.finding(Standing::Fine, format!("WAL and data share {}, {why}.", shared.join(", ")))
        };
        findings.push(finding.about(&wal.point));
    }
    findings
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::{BlockDevice, DeviceKind, Inventory, Mount};

    use super::*;
    use crate::host::example::{device, mount, mounted, standings, with_directory};

    fn host(wal_on: &str, rotational: bool) -> Inventory {
        let disks = ["sda", "sdb"]
            .map(|name| BlockDevice { rotational: Some(rotational), ..device(name, DeviceKind::Disk, &[]) })
            .to_vec();
        let mut host = mounted(mount("xfs", Some("sda"), "rw"), disks);
        host.mounts.push(Mount { point: "/wal".to_owned(), ..mount("xfs", Some(wal_on), "rw") });
        with_directory(with_directory(host, PgPurpose::Data, "/data"), PgPurpose::Wal, "/wal")
    }

    #[test]
    fn shared_disks_matter_where_they_rotate() {
        assert_eq!(standings(&RULE, &host("sda", true)), [Standing::Improve]);
        assert_eq!(standings(&RULE, &host("sdb", true)), [Standing::Fine]);
        assert_eq!(standings(&RULE, &host("sda", false)), [Standing::Fine]);
        let mut guest = host("sda", true);
        guest.cpu.hypervisor = Some("kvm".to_owned());
        assert_eq!(standings(&RULE, &guest), [Standing::Fine], "a guest does not know what rotates");
    }

    #[test]
    fn nothing_is_claimed_of_unknown_disks() {
        assert_eq!(standings(&RULE, &host("unknown", true)), []);
        let mut without = host("sda", true);
        without.directories.clear();
        assert_eq!(standings(&RULE, &without), []);
    }
}
