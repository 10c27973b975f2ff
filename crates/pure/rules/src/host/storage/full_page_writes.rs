//! Torn pages, by the stack below the data.

use pgdyno_core::host::{Inventory, Mount, PgPurpose};
use pgdyno_core::units::bytes;

use super::scope::{mounts_of, server_block_bytes};
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `full_page_writes`, as the host decides it.
pub static RULE: Rule = Rule {
    page: Page {
        name: "full_page_writes",
        also: &["torn pages", "fpw"],
        what: "The server writes whole pages to WAL at their first change after a checkpoint, so that a page that \
               was written in part at a crash can be restored.",
        today: Today::Dangerous,
        why: "It may be off only where the whole stack writes a block of the server as a whole or not at all. ZFS \
              does, by its transaction groups, if recordsize is a multiple of the block and not below it: the \
              manual names it. A disk that can write 8 KiB at once (atomic_write_unit_max_bytes, since Linux 6.11) \
              is not enough: the program must request it by direct I/O with RWF_ATOMIC, which PostgreSQL does not \
              do up to 18. A cache with a battery is enough only if it guarantees to take whole blocks. A block of \
              8 KiB of the file system, a journal or checksums are not: checksums find a torn page, and do not \
              restore it. A backup does not help either, as a torn page may go unnoticed into later backups. \
              pg_basebackup switches it on for its own time. wal_compression and longer checkpoints make it \
              cheaper.",
        danger: "Pages that are half old and half new after a crash, found late or never.",
        source: "PostgreSQL manual, Reliability, and Write Ahead Log, full_page_writes; Linux \
                 Documentation/ABI/stable/sysfs-block (atomic_write_unit_max_bytes) and \
                 Documentation/filesystems/ext4/atomic_writes.rst; see also the open OpenZFS issue 17879, which \
                 reports torn writes.",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let host = facts.host;
    let setting = host.server.as_ref().and_then(|server| server.settings.get("full_page_writes"));
    let Some(is_on) = setting.and_then(|text| switched(text)) else { return Vec::new() };
    let block = server_block_bytes(host);
    mounts_of(host, &[PgPurpose::Data, PgPurpose::Tablespace])
        .into_iter()
        .map(|mount| {
            judge_mount(host, mount, block, is_on).about(&mount.point).seen(if is_on { "on" } else { "off" })
        })
        .collect()
}

fn judge_mount(host: &Inventory, mount: &Mount, block: u64, is_on: bool) -> Finding {
    match (promises_whole_blocks(mount, block), is_on) {
        (true, true) => RULE.finding(
            Standing::Fine,
            format!(
                "ZFS keeps blocks of {} whole here, so that off would be safe as well; its gain was not \
                     measured.",
                bytes(block)
            ),
        ),
        (true, false) => RULE.finding(
            Standing::Fine,
            format!("ZFS keeps blocks of {} whole here, as its records hold them.", bytes(block)),
        ),
        (false, true) => RULE.finding(Standing::Fine, why_not(host, mount, block)),
        (false, false) => RULE.finding(Standing::Dangerous, why_not(host, mount, block)).better("on"),
    }
}

/// Whether a block of the server is written as a whole or not at all: by ZFS, if it lies within one record.
fn promises_whole_blocks(mount: &Mount, block: u64) -> bool {
    let record = mount.zfs.as_ref().and_then(|zfs| zfs.record_bytes);
    mount.filesystem == "zfs" && record.is_some_and(|record| record >= block && record.is_multiple_of(block))
}

/// Why the stack does not promise it, with the figures of this host.
fn why_not(host: &Inventory, mount: &Mount, block: u64) -> String {
    let block_text = bytes(block);
    if mount.filesystem == "zfs" {
        return match mount.zfs.as_ref().and_then(|zfs| zfs.record_bytes) {
            Some(record) => {
                format!("Records of {} split blocks of {block_text}, which a crash may tear.", bytes(record))
            }
            None => format!(
                "Whether records of this dataset hold blocks of {block_text} is unknown, so that a crash may tear \
                 them."
            ),
        };
    }
    let disks = mount.device.as_deref().map(|name| host.disks_below(name)).unwrap_or_default();
    let atomic = disks.iter().map(|disk| disk.atomic_write_bytes.unwrap_or(0)).min().unwrap_or(0);
    match atomic >= block {
        true => format!(
            "The disks can write {} at once, but PostgreSQL does not request it, so that a crash may tear blocks \
             of {block_text}.",
            bytes(atomic)
        ),
        false => format!("Nothing below keeps blocks of {block_text} whole, so that a crash may tear them."),
    }
}

/// A boolean as configuration files spell it; `None` if it is none.
fn switched(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => Some(true),
        "off" | "false" | "no" | "0" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::{BlockDevice, DeviceKind, ZfsDataset};

    use super::*;
    use crate::host::example::{device, judged, mount, mounted, standings, with_directory, with_setting};

    fn served(mount: Mount, devices: Vec<BlockDevice>, setting: &str) -> Inventory {
        let host = with_directory(mounted(mount, devices), PgPurpose::Data, "/data");
        with_setting(host, "full_page_writes", setting)
    }

    fn on_zfs(record_bytes: Option<u64>, setting: &str) -> Inventory {
        let mut mount = mount("zfs", None, "rw");
        mount.zfs = Some(ZfsDataset { record_bytes, ..ZfsDataset::default() });
        served(mount, Vec::new(), setting)
    }

    fn on_disk(atomic_write_bytes: Option<u64>, setting: &str) -> Inventory {
        let disk = BlockDevice { atomic_write_bytes, ..device("nvme0n1", DeviceKind::Nvme, &[]) };
        served(mount("xfs", Some("nvme0n1"), "rw"), vec![disk], setting)
    }

    #[test]
    fn only_zfs_with_whole_blocks_promises_them() {
        for (record, setting, expected) in [
            (Some(8 << 10), "off", Standing::Fine),
            (Some(128 << 10), "off", Standing::Fine),
            (Some(4 << 10), "off", Standing::Dangerous),
            (None, "off", Standing::Dangerous),
            (Some(8 << 10), "on", Standing::Fine),
            (Some(4 << 10), "on", Standing::Fine),
        ] {
            assert_eq!(standings(&RULE, &on_zfs(record, setting)), [expected], "{record:?} {setting}");
        }
        let large_blocks = with_setting(on_zfs(Some(8 << 10), "off"), "block_size", "32768");
        assert_eq!(standings(&RULE, &large_blocks), [Standing::Dangerous], "32 KiB in records of 8 KiB");
    }

    #[test]
    fn atomic_disks_are_not_enough() {
        for atomic in [None, Some(0), Some(4096), Some(64 << 10)] {
            assert_eq!(standings(&RULE, &on_disk(atomic, "off")), [Standing::Dangerous], "{atomic:?}");
        }
        let said = &judged(&RULE, &on_disk(Some(64 << 10), "off"))[0].reason;
        assert!(
            said.starts_with("The disks can write 64 KiB at once, but PostgreSQL does not request it"),
            "{said}"
        );
    }

    #[test]
    fn one_tablespace_elsewhere_is_enough_for_danger() {
        let mut host = on_zfs(Some(8 << 10), "off");
        host.mounts.push(Mount { point: "/more".to_owned(), ..mount("ext4", None, "rw") });
        let host = with_directory(host, PgPurpose::Tablespace, "/more");
        assert_eq!(standings(&RULE, &host), [Standing::Fine, Standing::Dangerous]);
    }

    #[test]
    fn nothing_is_claimed_without_a_setting_or_a_directory() {
        assert_eq!(standings(&RULE, &on_disk(None, "perhaps")), []);
        let mut host = on_disk(None, "off");
        host.directories.clear();
        assert_eq!(standings(&RULE, &host), []);
        let mut host = on_disk(None, "off");
        host.server = None;
        assert_eq!(standings(&RULE, &host), []);
    }

    #[test]
    fn booleans_are_read_as_the_server_does() {
        for (text, expected) in
            [("ON", Some(true)), (" no ", Some(false)), ("1", Some(true)), ("", None), ("x", None)]
        {
            assert_eq!(switched(text), expected, "{text}");
        }
    }
}
