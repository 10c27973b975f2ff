//! Options that several file systems have; NFS and btrfs.

use pgdyno_core::host::Mount;
use pgdyno_settings::here;

use super::{
    remedy::Remedy,
    rule::{Given, Rule},
};
use crate::{Finding, Page, Today};

/// Rules of this family, in the order in which they are printed.
pub const RULES: &[Rule] = &[
    Rule::of(Page {
        name: "noatime",
        also: &["relatime", "strictatime"],
        what: "Reading a file does not update its time of access.",
        today: Today::Kept,
        why: "PostgreSQL never looks at this time. The default since Linux 2.6.30, relatime, writes it at the first \
             read after a change of the file, otherwise once a day, so that noatime saves an inode now and then: it \
             is harmless and brings little. On btrfs each such update copies metadata, more so with snapshots. \
             strictatime writes at every read.",
        gain: here(
            "noatime instead of relatime: no significant difference, -1.4 % [-11, 8.8] of the TPS of reads by key of \
             8 clients from the page cache, on ext4 on a loop device",
        ),
        source: "mount(8).",
        ..Page::EMPTY
    })
    .mounts(&["ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "jfs"], judge_access_times),
    Rule::of(Page {
        name: "nodiratime",
        also: &["diratime"],
        what: "Reading a directory does not update its time of access.",
        today: Today::NoEffect,
        why: "noatime covers directories as well, so that nodiratime in addition does nothing. Alone it covers \
             directories only, which a server rarely reads.",
        source: "mount(8); Linux fs/inode.c, atime_needs_update().",
        ..Page::EMPTY
    })
    .mount_option("nodiratime", &[], judge_directory_times),
    Rule::of(Page {
        name: "discard",
        also: &["nodiscard", "fstrim"],
        what: "The file system notifies the disk at once which blocks became free.",
        today: Today::DefaultIsRight,
        why: "The disk needs to know, but not at once. ext4 with a journal (since Linux 5.15) and XFS (since 4.11) \
             discard in the background after the blocks became free; before, and on ext4 without a journal, dropping \
             or truncating large tables waits for discards. In the background, too, they compete with the requests of \
             the server on disks that process them slowly. fstrim.timer of util-linux does it once a week \
             instead, and most distributions enable it. btrfs discards in the background by default since Linux 6.2, \
             which is fine.",
        source: "fstrim(8); Linux Documentation/admin-guide/ext4.rst and xfs.rst (discard); fs/ext4/mballoc.c, \
                ext4_discard_work; fs/xfs/xfs_discard.c.",
        ..Page::EMPTY
    })
    .mount_option("discard", &["ext4", "xfs", "jfs"], judge_discard),
    Rule::of(Page {
        name: "nobarrier",
        what: "The file system does not make disks flush their volatile caches; of ext4 see barrier.",
        today: Today::Obsolete,
        why: "XFS deprecated it in Linux 4.10, where it stopped having an effect, and removed it in 4.19: since then \
             a mount with it fails. btrfs and ext4 still have it, and there it loses confirmed commits at a power \
             failure. On disks without a volatile cache barriers cost nothing, so that it is of no use there either.",
        danger: "Loss of confirmed commits and corruption of the file system at a power failure; a host that does not \
                mount its volumes after an upgrade of the kernel.",
        source: "Linux Documentation/admin-guide/xfs.rst (Removed Mount Options); btrfs(5).",
        ..Page::EMPTY
    })
    .mount_option("nobarrier", &["xfs", "btrfs"], judge_no_barrier),
    Rule::of(Page {
        name: "hard",
        also: &["nfs hard", "soft", "softerr", "nfs"],
        what: "A request to an NFS server that does not answer is repeated for ever (hard) or fails after a while \
              (soft).",
        today: Today::Dangerous,
        why: "hard, the default, is the one firm requirement of PostgreSQL for NFS. With soft, an interruption of the \
             network makes reads and writes fail, and a failed fsync makes the server stop with PANIC (since 9.5.16, \
             9.6.12, 10.7 and 11.2).",
        danger: "With soft, data may be damaged at an interruption of the network.",
        source: "nfs(5), soft and hard; PostgreSQL manual, Creating a Database Cluster, NFS.",
        ..Page::EMPTY
    })
    .mounts(&["nfs", "nfs4"], judge_interruptions),
    Rule::of(Page {
        name: "nfs sync",
        also: &["nfs async"],
        what: "Of the mount: every write waits for the NFS server. Of the export on that server: it confirms only \
              what is safe.",
        today: Today::Depends,
        why: "The mount needs no sync: PostgreSQL calls fsync where it must, and async is sufficient and faster. The \
             export does need it: with async there, the NFS server confirms an fsync before the data is safe. Only \
             the NFS server shows its exports.",
        danger: "An export with async loses confirmed commits when the NFS server crashes.",
        source: "PostgreSQL manual, Creating a Database Cluster, NFS; exports(5).",
        ..Page::EMPTY
    })
    .mounts(&["nfs", "nfs4"], judge_sync),
    Rule::of(Page {
        name: "nodatacow",
        also: &["btrfs", "chattr +C", "datacow"],
        what: "btrfs overwrites data in place instead of writing each change to a new place; chattr +C does so for \
              one directory.",
        today: Today::Depends,
        why: "Copy on write scatters files that are changed at random, so that scans become random reads; with it \
             come checksums and compression, which nodatacow switches off as well. chattr +C must be set on an empty \
             directory before initdb. A snapshot makes the next write of each block copy again. Neither way is \
             documented to keep a block of 8 KiB whole at a crash: leave full_page_writes on, and use data checksums.",
        danger: "Without copy on write btrfs does not notice damaged data.",
        source: "btrfs(5), nodatacow; chattr(1).",
        ..Page::EMPTY
    })
    .mounts(&["btrfs"], judge_copy_on_write),
];

fn judge_access_times(given: &Given<'_>, mount: &Mount) -> Option<Finding> {
    let has = |name| mount.option(name).is_some();
    let improve =
        |reason: &str, present: &str| given.improve(reason).present(present).set_mount_option("noatime");
    Some(if mount.options.is_empty() {
        return None;
    } else if has("noatime") {
        given.fine("Reads write no times of access.").present("noatime")
    } else if has("relatime") && mount.filesystem == "btrfs" {
        improve("Each update of a time of access copies metadata of btrfs.", "relatime")
    } else if has("relatime") {
        let reason = "A time of access is written at the first read after a change, otherwise once a day; noatime \
                      would save that too.";
        given.fine(reason).present("relatime")
    } else {
        improve("Every read of a file writes its time of access.", "strictatime")
    })
}

fn judge_directory_times(given: &Given<'_>, mount: &Mount, _: &str) -> Option<Finding> {
    Some(given.no_effect(match mount.option("noatime") {
        Some(_) => "noatime, which is set too, covers directories.",
        None => "It covers directories only, which a server rarely reads.",
    }))
}

fn judge_discard(given: &Given<'_>, mount: &Mount, _: &str) -> Option<Finding> {
    let reason = match waits_for_discard(given, mount) {
        Some(true) => "Dropping large tables waits for discards; fstrim does the same at a time of its own.",
        Some(false) => {
            "Blocks are discarded in the background as soon as they are free, while the server sends its requests; \
             fstrim does so at a time of its own."
        }
        None => "Dropping large tables may wait for discards; fstrim does the same at a time of its own.",
    };
    let better =
        "without the option, and fstrim once a week (fstrim.timer, or cron where there is no systemd)";
    Some(given.improve(reason).recommend(better))
}

/// Whether who frees blocks waits until they are discarded; `None` if it is unknown.
fn waits_for_discard(given: &Given<'_>, mount: &Mount) -> Option<bool> {
    match (mount.filesystem.as_str(), mount.is_journaled()) {
        ("xfs", _) => given.kernel_is_at_least(4, 11).map(|is_newer| !is_newer),
        ("ext4", Some(true)) => given.kernel_is_at_least(5, 15).map(|is_newer| !is_newer),
        ("ext4", None) => (given.kernel_is_at_least(5, 15) == Some(false)).then_some(true),
        _ => Some(true),
    }
}

fn judge_no_barrier(given: &Given<'_>, mount: &Mount, _: &str) -> Option<Finding> {
    let has_no_effect = mount.filesystem == "xfs" && given.kernel_is_at_least(4, 10)?;
    let finding = match has_no_effect {
        true => given
            .obsolete("It has no effect since Linux 4.10, and kernels since 4.19 refuse to mount with it."),
        false => given.dangerous(
            "fsync returns while data may still be in a volatile cache of a disk: a power failure then loses \
             confirmed commits, and can damage the file system.",
        ),
    };
    Some(finding.recommend("without the option"))
}

fn judge_interruptions(given: &Given<'_>, mount: &Mount) -> Option<Finding> {
    let soft = ["soft", "softerr"].into_iter().find(|&name| mount.option(name).is_some());
    if let Some(present) = soft {
        let finding = given.dangerous("An interruption of the network makes writes of the server fail.");
        return Some(finding.present(present).set_mount_option("hard"));
    }
    mount.option("hard")?;
    Some(given.fine("Requests wait until the network is back.").present("hard"))
}

fn judge_sync(given: &Given<'_>, mount: &Mount) -> Option<Finding> {
    Some(match mount.option("sync") {
        Some(_) => given
            .improve("Every write waits for the NFS server, where the server syncs by itself.")
            .present("sync")
            .recommend("async"),
        None => given.unknown(
            "Whether the export is sync, which PostgreSQL needs, is known to the NFS server only (exportfs -v).",
        ),
    })
}

fn judge_copy_on_write(given: &Given<'_>, mount: &Mount) -> Option<Finding> {
    Some(match mount.option("nodatacow") {
        _ if mount.options.is_empty() => return None,
        Some(_) => given
            .fine("Data is overwritten in place, without checksums of btrfs: use those of the server.")
            .present("nodatacow"),
        None => given.unknown(
            "Data is copied on write, unless the directory has the attribute C, which the mount does not show (lsattr \
             -d).",
        ),
    })
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::PgPurpose;

    use super::*;
    use crate::{
        Standing,
        host::testing::{check_hosts, check_mounts, findings, mount, mounted, standings, with_directory},
    };

    #[test]
    fn options_are_judged() {
        use Standing::{Fine, Improve, Unknown};
        check_mounts(&[
            ("noatime", "ext4", "rw,noatime", &[Fine]),
            ("noatime", "xfs", "rw,relatime", &[Fine]),
            ("noatime", "btrfs", "rw,relatime", &[Improve]),
            ("noatime", "ext4", "rw", &[Improve]),
            ("noatime", "ext4", "", &[]),
            ("noatime", "zfs", "rw", &[]),
            ("discard", "ext4", "rw,discard", &[Improve]),
            ("discard", "xfs", "rw,discard", &[Improve]),
            ("discard", "btrfs", "rw,discard=async", &[]),
            ("discard", "ext4", "rw", &[]),
            ("nodatacow", "btrfs", "rw,nodatacow", &[Fine]),
            ("nodatacow", "btrfs", "rw", &[Unknown]),
            ("nodatacow", "btrfs", "", &[]),
            ("nodatacow", "ext4", "rw", &[]),
        ]);
    }

    #[test]
    fn hosts_are_judged() {
        use Standing::{Dangerous, Improve, Obsolete, Unknown};
        let on_kernel = |filesystem: &str, options: &str, release: &str| {
            let mut host = mounted(mount(filesystem, Some("sda"), options), Vec::new());
            host.kernel.release = release.to_owned();
            host
        };
        let serving = |filesystem: &str, options: &str| {
            with_directory(mounted(mount(filesystem, None, options), Vec::new()), PgPurpose::Wal, "/data")
        };
        check_hosts(&[
            ("nobarrier", on_kernel("xfs", "rw,nobarrier", "3.10.0-957.el7"), &[Dangerous]),
            ("nobarrier", on_kernel("xfs", "rw,nobarrier", "4.14.0"), &[Obsolete]),
            ("nobarrier", on_kernel("btrfs", "rw,nobarrier", "6.12.0"), &[Dangerous]),
            ("nobarrier", on_kernel("xfs", "rw", "3.10.0"), &[]),
            ("nobarrier", on_kernel("xfs", "rw,nobarrier", ""), &[]),
            ("nfs sync", serving("nfs4", "rw,hard"), &[Unknown]),
            ("nfs sync", serving("nfs4", "rw,sync,hard"), &[Improve]),
            ("nfs sync", serving("ext4", "rw,sync"), &[]),
        ]);
    }

    #[test]
    fn it_does_nothing() {
        for (options, said) in [
            ("noatime,nodiratime", Some("noatime, which is set too, covers directories.")),
            ("relatime,nodiratime", Some("It covers directories only, which a server rarely reads.")),
            ("noatime", None),
        ] {
            let findings = findings("nodiratime", &mounted(mount("ext4", Some("sda"), options), Vec::new()));
            assert_eq!(findings.first().map(|finding| finding.reason.as_str()), said, "{options}");
        }
    }

    #[test]
    fn newer_kernels_discard_in_the_background() {
        let journal = "rw,discard,data=ordered";
        for (filesystem, options, has_journal, release, expected) in [
            ("ext4", journal, None, "6.1.0", "in the background"),
            ("ext4", "rw,discard", Some(true), "5.15.0", "in the background"),
            ("ext4", journal, None, "5.10.0", "waits for discards"),
            ("ext4", "rw,discard", Some(false), "6.18.0", "waits for discards"),
            ("ext4", "rw,discard", None, "6.18.0", "may wait"),
            ("ext4", journal, None, "", "may wait"),
            ("xfs", "rw,discard", None, "4.18.0", "in the background"),
            ("xfs", "rw,discard", None, "3.10.0", "waits for discards"),
            ("jfs", "rw,discard", None, "6.1.0", "waits for discards"),
        ] {
            let mount = Mount { has_journal, ..mount(filesystem, Some("sda"), options) };
            let mut host = mounted(mount, Vec::new());
            release.clone_into(&mut host.kernel.release);
            let reason = findings("discard", &host).remove(0).reason;
            assert!(reason.contains(expected), "{filesystem} {options} {has_journal:?} {release}: {reason}");
        }
    }

    #[test]
    fn soft_mounts_of_a_server_are_found() {
        for (filesystem, options, expected) in [
            ("nfs4", "rw,hard,proto=tcp", &[Standing::Fine][..]),
            ("nfs4", "rw,soft,proto=tcp", &[Standing::Dangerous]),
            ("nfs", "rw,softerr", &[Standing::Dangerous]),
            ("nfs", "rw", &[]),
            ("ext4", "rw,soft", &[]),
        ] {
            let host = mounted(mount(filesystem, None, options), Vec::new());
            assert_eq!(standings("hard", &host), [], "no server was named: it may hold anything");
            let host = with_directory(host, PgPurpose::Data, "/data");
            assert_eq!(standings("hard", &host), expected, "{filesystem} {options}");
        }
    }
}
