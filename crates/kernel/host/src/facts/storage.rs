//! Facts of the storage under a directory.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use pgdyno_core::facts::StorageFacts;

use super::{file::first_line, mounts};

/// Reads the facts of the storage that holds a path. For a path that does not exist yet, its nearest existing ancestor
/// is used.
///
/// # Errors
/// If `statvfs` fails for that directory.
pub fn read(path: &Path) -> io::Result<StorageFacts> {
    read_at(Path::new("/"), path, MOST_LOOPS)
}

/// Most nested loop devices that are followed; the kernel allows fewer.
const MOST_LOOPS: u32 = 16;

fn read_at(root: &Path, path: &Path, loops: u32) -> io::Result<StorageFacts> {
    let there = nearest_existing(path)?;
    let space = rustix::fs::statvfs(&there)?;
    let mounts = mounts::parse(&super::file::text(root, "proc/self/mountinfo").unwrap_or_default());
    let mount = mounts::holding(&mounts, &there);
    let queue = mount.and_then(|mount| device_dir(root, &mount.device_number, "queue"));
    let file = mount.and_then(|mount| backing_file(root, &mount.device_number)).filter(|_| loops > 0);
    let backing = file.and_then(|file| read_at(root, &file, loops - 1).ok());
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
        backing: backing.map(Box::new),
        backing_is_cached: mount.and_then(|mount| is_cached(root, &mount.device_number)),
    })
}

/// The deepest existing ancestor of a path, or the path itself, without links.
pub(super) fn nearest_existing(path: &Path) -> io::Result<PathBuf> {
    let absolute = std::path::absolute(path)?;
    let there = absolute.ancestors().find_map(|ancestor| fs::canonicalize(ancestor).ok());
    Ok(there.unwrap_or_else(|| PathBuf::from("/")))
}

/// Directory `queue/` or `loop/` of the device; a partition has none, so its disk's is used.
fn device_dir(root: &Path, device_number: &str, name: &str) -> Option<PathBuf> {
    let device = fs::canonicalize(root.join("sys/dev/block").join(device_number)).ok()?;
    [Some(device.as_path()), device.parent()]
        .into_iter()
        .flatten()
        .map(|dir| dir.join(name))
        .find(|dir| dir.is_dir())
}

/// Name of a block device, given as `major:minor`, in `/sys/class/block`; `None` for file systems without a device of
/// their own, which have major number 0.
pub(crate) fn device_name(root: &Path, device_number: &str) -> Option<String> {
    (!device_number.starts_with("0:")).then_some(())?;
    let device = fs::canonicalize(root.join("sys/dev/block").join(device_number)).ok()?;
    // sysfs writes `!` for the `/` of names such as `cciss/c0d0`.
    Some(device.file_name()?.to_str()?.replace('!', "/"))
}

/// The file behind a loop device. For a deleted file, which the kernel marks after the name, its directory is used,
/// since the file still lies there. `None` if the path does not exist here, as in a container.
fn backing_file(root: &Path, device_number: &str) -> Option<PathBuf> {
    let line = first_line(&device_dir(root, device_number, "loop")?, "backing_file")?;
    let file = PathBuf::from(&line);
    if file.exists() {
        return Some(file);
    }
    let deleted = Path::new(line.strip_suffix(" (deleted)")?);
    deleted.parent().is_some_and(Path::is_dir).then(|| deleted.to_owned())
}

/// Whether a loop device keeps its file in the page cache; `None` for any other device.
fn is_cached(root: &Path, device_number: &str) -> Option<bool> {
    let direct = first_line(&device_dir(root, device_number, "loop")?, "dio")?;
    parse_flag(&direct).map(|direct| !direct)
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
        let facts = read_at(root.path(), Path::new("/"), MOST_LOOPS).expect("the root can be asked");
        assert_eq!(facts.rotational, Some(true));
        assert_eq!(facts.write_cache.as_deref(), Some("write back"));
        assert_eq!(facts.filesystem.as_deref(), Some("xfs"));
        assert_eq!(facts.device.as_deref(), Some("/dev/sda1"));
    }

    #[test]
    fn a_device_the_kernel_does_not_show_is_unknown() {
        let root = tree(&[("proc/self/mountinfo", "27 1 0:50 / / rw - overlay overlay rw\n")]);
        let facts = read_at(root.path(), Path::new("/"), MOST_LOOPS).expect("the root can be asked");
        assert_eq!((facts.rotational, facts.write_cache), (None, None));
        assert_eq!(parse_flag("2"), None);
    }

    #[test]
    fn a_loop_device_reports_whether_it_bypasses_the_page_cache() {
        let of = |dio: &str| {
            let root = tree(&[("sys/devices/loop7/loop/dio", dio)]);
            fs::create_dir_all(root.path().join("sys/dev/block")).expect("it can be made");
            let link = root.path().join("sys/dev/block/7:7");
            std::os::unix::fs::symlink("../../devices/loop7", link).expect("a link can be made");
            is_cached(root.path(), "7:7")
        };
        assert_eq!((of("0\n"), of("1\n"), of("")), (Some(true), Some(false), None));
        assert_eq!(is_cached(tree(&[]).path(), "8:1"), None);
    }

    /// Facts of `/` on a loop device whose file lies on a file system of type `below`, as the kernel shows them.
    fn on_a_loop(below: &str, suffix: &str) -> StorageFacts {
        let root = tree(&[("sys/devices/loop7/loop/pid", "")]);
        let place = root.path().display();
        let mounts = format!(
            "27 1 7:7 / / rw,noatime - ext4 /dev/loop7 rw\n28 27 0:40 / {place} rw - {below} /dev/below rw\n"
        );
        let file = format!("{place}/disk.img{suffix}\n");
        fs::create_dir_all(root.path().join("proc/self")).expect("it can be made");
        fs::create_dir_all(root.path().join("sys/dev/block")).expect("it can be made");
        let link = root.path().join("sys/dev/block/7:7");
        std::os::unix::fs::symlink("../../devices/loop7", link).expect("a link can be made");
        for (name, text) in [("proc/self/mountinfo", mounts), ("sys/devices/loop7/loop/backing_file", file)] {
            fs::write(root.path().join(name), text).expect("it can be written");
        }
        if suffix.is_empty() {
            fs::write(root.path().join("disk.img"), "").expect("it can be written");
        }
        read_at(root.path(), Path::new("/"), MOST_LOOPS).expect("the root can be asked")
    }

    #[test]
    fn a_loop_device_lies_where_its_file_does() {
        let in_memory = on_a_loop("tmpfs", "");
        let file = in_memory.backing.as_ref().expect("it is followed");
        assert!(file.path.ends_with("/disk.img") && file.filesystem.as_deref() == Some("tmpfs"));
        assert_eq!(in_memory.device.as_deref(), Some("/dev/loop7"));
        assert!(in_memory.is_in_memory() && on_a_loop("tmpfs", " (deleted)").is_in_memory());
        let on_disk = on_a_loop("xfs", "");
        assert!(on_disk.backing.is_some() && !on_disk.is_in_memory());
        assert_eq!(on_a_loop("tmpfs", " of somebody else").backing, None);
    }

    /// A loop device on a file of its own file system, which no kernel allows, does not loop forever.
    #[test]
    fn a_circle_of_loop_devices_ends() {
        let root = tree(&[
            ("proc/self/mountinfo", "27 1 7:7 / / rw - ext4 /dev/loop7 rw\n"),
            ("sys/devices/loop7/loop/backing_file", "/\n"),
        ]);
        fs::create_dir_all(root.path().join("sys/dev/block")).expect("it can be made");
        let link = root.path().join("sys/dev/block/7:7");
        std::os::unix::fs::symlink("../../devices/loop7", link).expect("a link can be made");
        assert!(read_at(root.path(), Path::new("/"), MOST_LOOPS).is_ok());
    }
}
