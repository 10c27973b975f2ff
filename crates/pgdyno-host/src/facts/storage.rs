//! The storage under a directory.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use pgdyno_core::facts::StorageFacts;

use super::{first_line, mounts};

/// Reads the facts of the storage that a path lies on, or will lie on: where the path is not there yet, its
/// nearest ancestor that is there counts.
///
/// # Errors
/// Where no ancestor can be asked (`statvfs`).
pub fn read(path: &Path) -> io::Result<StorageFacts> {
    read_at(Path::new("/"), path)
}

fn read_at(root: &Path, path: &Path) -> io::Result<StorageFacts> {
    let there = nearest_existing(path)?;
    let space = rustix::fs::statvfs(&there)?;
    let mounts = mounts::parse(&super::text(root, "proc/self/mountinfo").unwrap_or_default());
    let mount = mounts::holding(&mounts, &there);
    let queue = mount.and_then(|mount| queue_dir(root, &mount.device_number));
    let queue_line = |name: &str| first_line(queue.as_deref()?, name);
    Ok(StorageFacts {
        path: path.display().to_string(),
        mount_point: mount.map(|mount| mount.mount_point.display().to_string()),
        filesystem: mount.map(|mount| mount.filesystem.clone()),
        mount_options: mount.map(|mount| mount.options.clone()),
        device: mount.map(|mount| mount.source.clone()),
        rotational: queue_line("rotational").and_then(|line| parse_flag(&line)),
        write_cache: queue_line("write_cache"),
        size_bytes: space.f_blocks.saturating_mul(space.f_frsize),
        available_bytes: space.f_bavail.saturating_mul(space.f_frsize),
    })
}

fn nearest_existing(path: &Path) -> io::Result<PathBuf> {
    let absolute = std::path::absolute(path)?;
    let there = absolute.ancestors().find_map(|ancestor| fs::canonicalize(ancestor).ok());
    Ok(there.unwrap_or_else(|| PathBuf::from("/")))
}

/// `queue/` of the device; a partition has none of its own, its disk above it has.
fn queue_dir(root: &Path, device_number: &str) -> Option<PathBuf> {
    let device = fs::canonicalize(root.join("sys/dev/block").join(device_number)).ok()?;
    [Some(device.as_path()), device.parent()]
        .into_iter()
        .flatten()
        .map(|dir| dir.join("queue"))
        .find(|dir| dir.is_dir())
}

fn parse_flag(line: &str) -> Option<bool> {
    match line {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::tree, *};

    #[test]
    fn a_directory_that_is_not_there_yet_has_storage() {
        let facts = read(Path::new("/tmp/not/there/yet")).expect("the root can be asked");
        assert_eq!(facts.path, "/tmp/not/there/yet");
        assert!(facts.size_bytes > 0 && facts.available_bytes <= facts.size_bytes);
        assert!(facts.mount_point.is_some());
    }

    #[test]
    fn a_partition_is_asked_at_its_disk() {
        let root = tree(&[
            ("proc/self/mountinfo", "27 1 8:1 / / rw,noatime - xfs /dev/sda1 rw\n"),
            ("sys/devices/sda/queue/rotational", "1\n"),
            ("sys/devices/sda/queue/write_cache", "write back\n"),
            ("sys/devices/sda/sda1/partition", "1\n"),
        ]);
        fs::create_dir_all(root.path().join("sys/dev/block")).expect("it can be made");
        std::os::unix::fs::symlink("../../devices/sda/sda1", root.path().join("sys/dev/block/8:1"))
            .expect("a link can be made");
        let facts = read_at(root.path(), Path::new("/")).expect("the root can be asked");
        assert_eq!(facts.rotational, Some(true));
        assert_eq!(facts.write_cache.as_deref(), Some("write back"));
        assert_eq!(facts.filesystem.as_deref(), Some("xfs"));
        assert_eq!(facts.device.as_deref(), Some("/dev/sda1"));
    }

    #[test]
    fn a_device_the_kernel_does_not_show_is_unknown() {
        let root = tree(&[("proc/self/mountinfo", "27 1 0:50 / / rw - overlay overlay rw\n")]);
        let facts = read_at(root.path(), Path::new("/")).expect("the root can be asked");
        assert_eq!((facts.rotational, facts.write_cache), (None, None));
        assert_eq!(parse_flag("2"), None);
    }
}
