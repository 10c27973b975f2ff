//! Directories on file systems that do not outlive the host or the container.

use pgdyno_core::host::{Mount, PgDirectory};

use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// Data on `overlay`.
pub static OVERLAY: Rule = Rule {
    page: Page {
        name: "overlay",
        also: &["overlayfs"],
        what: "The file system of containers: a writable layer above read-only images.",
        today: Today::Dangerous,
        why: "The writable layer is removed with the container. The first write to a file of an image copies it \
              whole. Put the data directory on a volume.",
        danger: "Loss of all data when the container is removed or recreated.",
        source: "Linux Documentation/filesystems/overlayfs.rst.",
        ..Page::EMPTY
    },
    judge: judge_overlay,
};

/// Data on `tmpfs`.
pub static TMPFS: Rule = Rule {
    page: Page {
        name: "tmpfs",
        also: &["ramfs", "/dev/shm"],
        what: "A file system in memory.",
        today: Today::Dangerous,
        why: "Everything is lost when the host restarts, and fsync does nothing, so that figures measured there \
              are those of a server without a disk. It also takes memory from the server. For a test of the CPU it \
              is right, and said beside the figures.",
        danger: "Loss of all data at a restart of the host.",
        source: "tmpfs(5).",
        ..Page::EMPTY
    },
    judge: judge_tmpfs,
};

/// Data on FUSE.
pub static FUSE: Rule = Rule {
    page: Page {
        name: "fuse",
        also: &["fuseblk", "fuse.sshfs", "fuse.glusterfs", "virtiofs", "9p"],
        what: "A file system in a process of user space, or one that a hypervisor passes through.",
        today: Today::Depends,
        why: "What fsync promises is up to that process or the host behind it, and each request takes two more \
              switches of context. Ask its makers whether fsync reaches disks, and whether a rename is durable \
              after fsync of the directory.",
        danger: "Confirmed commits may be lost where fsync does not reach disks.",
        source: "Linux Documentation/filesystems/fuse.rst; PostgreSQL manual, Creating a Database Cluster, Use of \
                 Secondary File Systems.",
        ..Page::EMPTY
    },
    judge: judge_fuse,
};

fn judge_overlay(facts: &Facts<'_>) -> Vec<Finding> {
    judge_directories(
        facts,
        |mount| mount.filesystem == "overlay",
        |directory, mount| {
            let reason = format!(
                "The {} directory is in the writable layer of a container.",
                directory.purpose.words()
            );
            OVERLAY.finding(Standing::Dangerous, reason).seen(mount.filesystem.as_str()).better("a volume")
        },
    )
}

fn judge_tmpfs(facts: &Facts<'_>) -> Vec<Finding> {
    let is_memory = |mount: &Mount| matches!(mount.filesystem.as_str(), "tmpfs" | "ramfs");
    judge_directories(facts, is_memory, |directory, mount| {
        let reason = format!("The {} directory is in memory.", directory.purpose.words());
        TMPFS
            .finding(Standing::Dangerous, reason)
            .seen(mount.filesystem.as_str())
            .better("a file system on a disk")
    })
}

fn judge_fuse(facts: &Facts<'_>) -> Vec<Finding> {
    let is_foreign = |mount: &Mount| {
        let name = mount.filesystem.as_str();
        matches!(name, "fuse" | "fuseblk" | "virtiofs" | "9p") || name.starts_with("fuse.")
    };
    judge_directories(facts, is_foreign, |directory, mount| {
        let reason = format!(
            "What fsync of the {} directory promises is up to what is behind {}.",
            directory.purpose.words(),
            mount.filesystem
        );
        FUSE.finding(Standing::Improve, reason)
            .seen(mount.filesystem.as_str())
            .better("a file system of the kernel")
    })
}

/// What is said of each directory on such a mount.
fn judge_directories(
    facts: &Facts<'_>,
    is_such: impl Fn(&Mount) -> bool,
    say: impl Fn(&PgDirectory, &Mount) -> Finding,
) -> Vec<Finding> {
    let with_mounts = facts.host.directories.iter().filter_map(|directory| {
        let mount = facts.host.mount(directory.mount_point.as_deref()?)?;
        is_such(mount).then(|| say(directory, mount).about(&directory.path))
    });
    with_mounts.collect()
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::PgPurpose;

    use super::*;
    use crate::host::example::{judged, mount, mounted, standings, with_directory};

    #[test]
    fn each_file_system_has_its_rule() {
        for (filesystem, overlay, tmpfs, fuse) in [
            ("overlay", &[Standing::Dangerous][..], &[][..], &[][..]),
            ("tmpfs", &[], &[Standing::Dangerous], &[]),
            ("fuse.sshfs", &[], &[], &[Standing::Improve]),
            ("9p", &[], &[], &[Standing::Improve]),
            ("ext4", &[], &[], &[]),
        ] {
            let host = mounted(mount(filesystem, None, "rw"), Vec::new());
            for rule in [&OVERLAY, &TMPFS, &FUSE] {
                assert_eq!(standings(rule, &host), [], "no server was named");
            }
            let host = with_directory(host, PgPurpose::Wal, "/data");
            assert_eq!(standings(&OVERLAY, &host), overlay, "{filesystem}");
            assert_eq!(standings(&TMPFS, &host), tmpfs, "{filesystem}");
            assert_eq!(standings(&FUSE, &host), fuse, "{filesystem}");
        }
    }

    #[test]
    fn the_directory_is_named() {
        let host = with_directory(mounted(mount("tmpfs", None, "rw"), Vec::new()), PgPurpose::Wal, "/data");
        let said = judged(&TMPFS, &host).remove(0);
        assert_eq!(
            (said.object.as_str(), said.reason.as_str()),
            ("/data/pg", "The WAL directory is in memory.")
        );
    }
}
