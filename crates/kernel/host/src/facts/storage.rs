//! Facts of the storage under a directory.

use std::{
    io,
    path::{Path, PathBuf},
};

use pgdyno_core::host::{BlockDevice, Cpu, DeviceKind, Inventory, Kernel, Storage};

use super::{
    block, cpu, kernel,
    mountinfo::{self, device_name, mount_of, nearest_existing},
    mounts,
};

/// Most nested loop devices that are followed; the kernel allows fewer.
const MOST_LOOPS: u32 = 16;

/// Reads the facts of the storage that holds a path. For a path that does not exist yet, its nearest existing ancestor
/// is used.
///
/// # Errors
/// If `statvfs` fails for that directory.
pub fn storage(path: &Path) -> io::Result<Storage> {
    read_at(Path::new("/"), path, MOST_LOOPS)
}

/// Names of the block devices below a directory, through partitions, volumes, arrays and loop devices down to disks,
/// each once. Empty where the kernel shows no device: overlayfs, tmpfs, FUSE, NFS, btrfs and ZFS.
pub(crate) fn devices_below(root: &Path, path: &Path) -> Vec<String> {
    let device = mount_of(root, path).and_then(|mount| device_name(root, &mount.device_number));
    let found = device.map(|device| block::stack(root, &device)).unwrap_or_default();
    found.into_iter().map(|device| device.name).collect()
}

fn read_at(root: &Path, path: &Path, loops: u32) -> io::Result<Storage> {
    let there = nearest_existing(path)?;
    let space = rustix::fs::statvfs(&there)?;
    let name = path.display().to_string();
    let all = mountinfo::read(root);
    let of_mount = mountinfo::holding(&all, &there).map(|mount| on_mount(root, mount, &name, loops));
    Ok(Storage {
        path: name,
        // A quota may leave a directory less than its file system has.
        size_bytes: space.f_blocks.saturating_mul(space.f_frsize),
        available_bytes: space.f_bavail.saturating_mul(space.f_frsize),
        ..of_mount.unwrap_or_default()
    })
}

/// What a mount and the devices below it show of the storage of a directory.
fn on_mount(root: &Path, mount: &mountinfo::Mount, directory: &str, loops: u32) -> Storage {
    let mount = mounts::read_one(root, mount);
    let host = Inventory {
        cpu: Cpu { hypervisor: cpu::hypervisor(root), ..Cpu::default() },
        kernel: Kernel { container: kernel::container(root), ..Kernel::default() },
        devices: mount.device.as_deref().map(|device| block::stack(root, device)).unwrap_or_default(),
        ..Inventory::default()
    };
    let below = mount.device.as_deref().and_then(|device| loop_below(&host, device));
    let file = below.and_then(backing_file).filter(|_| loops > 0);
    Storage {
        backing: file.and_then(|file| read_at(root, &file, loops - 1).ok()).map(Box::new),
        backing_is_cached: below.and_then(|device| device.backing_is_cached),
        ..host.storage_on(&mount, directory)
    }
}

/// The loop device that a device is or that all of it is on.
fn loop_below<'a>(host: &'a Inventory, name: &str) -> Option<&'a BlockDevice> {
    let mut device = host.device(name)?;
    // No device is on itself, but a tree of files may say so.
    for _ in 0..host.devices.len() {
        match (device.kind, &device.parents[..]) {
            (DeviceKind::Loop, _) => return Some(device),
            (_, [only]) => device = host.device(only)?,
            _ => return None,
        }
    }
    None
}

/// The file behind a loop device. For a deleted file, which the kernel marks after the name, its directory is used,
/// since the file still lies there. `None` if the path does not exist here, as in a container.
fn backing_file(device: &BlockDevice) -> Option<PathBuf> {
    let line = device.backing_file.as_deref()?;
    let file = PathBuf::from(line);
    if file.exists() {
        return Some(file);
    }
    let deleted = Path::new(line.strip_suffix(" (deleted)")?);
    deleted.parent().is_some_and(Path::is_dir).then(|| deleted.to_owned())
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::{super::tests::tree, *};

    /// A tree with these files, and with devices by their directories in `sys/devices`, each with its number.
    fn sysfs(files: &[(&str, &str)], devices: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tree(files);
        for (place, number) in devices {
            let dir = root.path().join("sys/devices").join(place);
            fs::create_dir_all(&dir).expect("it can be made");
            fs::write(dir.join("size"), "2048\n").expect("it can be written");
            let name = place.rsplit('/').next().expect("it has a name");
            for (links, link) in [("sys/dev/block", *number), ("sys/class/block", name)] {
                fs::create_dir_all(root.path().join(links)).expect("it can be made");
                symlink(&dir, root.path().join(links).join(link)).expect("a link can be made");
            }
        }
        root
    }

    fn of_root(root: &tempfile::TempDir) -> Storage {
        read_at(root.path(), Path::new("/"), MOST_LOOPS).expect("the root can be asked")
    }

    #[test]
    fn a_directory_that_is_not_there_yet_has_storage() {
        let facts = storage(Path::new("/tmp/not/there/yet")).expect("the root can be asked");
        assert_eq!(facts.path, "/tmp/not/there/yet");
        assert!(facts.size_bytes > 0 && facts.available_bytes <= facts.size_bytes);
        assert!(facts.mount_point.is_some());
    }

    #[test]
    fn a_partition_is_asked_at_its_disk() {
        let root = sysfs(
            &[
                ("proc/self/mountinfo", "27 1 8:1 / / rw,noatime - xfs /dev/sda1 rw\n"),
                ("sys/devices/sda/queue/rotational", "1\n"),
                ("sys/devices/sda/queue/write_cache", "write back\n"),
                ("sys/devices/sda/sda1/partition", "1\n"),
            ],
            &[("sda", "8:0"), ("sda/sda1", "8:1")],
        );
        let facts = of_root(&root);
        assert_eq!(facts.rotational, Some(true));
        assert_eq!(facts.write_cache.as_deref(), Some("write back"));
        assert_eq!(facts.filesystem.as_deref(), Some("xfs"));
        assert_eq!(facts.device.as_deref(), Some("/dev/sda1"));
    }

    #[test]
    fn a_device_the_kernel_does_not_show_is_unknown() {
        let facts = of_root(&tree(&[("proc/self/mountinfo", "27 1 0:50 / / rw - overlay overlay rw\n")]));
        assert_eq!((facts.rotational, facts.write_cache), (None, None));
        assert!(facts.size_bytes > 0 && of_root(&tree(&[])).mount_point.is_none());
    }

    #[test]
    fn a_loop_device_reports_whether_it_bypasses_the_page_cache() {
        let mount = ("proc/self/mountinfo", "27 1 7:7 / / rw - ext4 /dev/loop7 rw\n");
        for (dio, is_cached) in [("0\n", Some(true)), ("1\n", Some(false)), ("", None), ("2", None)] {
            let root = sysfs(&[mount, ("sys/devices/loop7/loop/dio", dio)], &[("loop7", "7:7")]);
            assert_eq!(of_root(&root).backing_is_cached, is_cached, "{dio:?}");
        }
        assert_eq!(of_root(&sysfs(&[mount], &[("sdc", "7:7")])).backing_is_cached, None);
    }

    /// Facts of `/` on a loop device, or on a volume on one, whose file lies on a file system of type `below`, as the
    /// kernel shows them.
    fn on_a_loop(below: &str, suffix: &str, volume: bool) -> Storage {
        let volumes = [("dm-0", "254:0")];
        let volumes: &[_] = if volume { &volumes } else { &[] };
        let root = sysfs(&[], &[&[("loop7", "7:7")], volumes].concat());
        let place = root.path().display();
        let device = if volume { "254:0" } else { "7:7" };
        let mounts = format!(
            "27 1 {device} / / rw,noatime - ext4 /dev/loop7 rw\n\
             28 27 0:40 / {place} rw - {below} /dev/below rw\n"
        );
        let file = format!("{place}/disk.img{suffix}\n");
        let mut files = vec![("proc/self/mountinfo", mounts), ("sys/devices/loop7/loop/backing_file", file)];
        files.extend(volume.then(|| ("sys/devices/dm-0/slaves/loop7/x", String::new())));
        for (name, text) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().expect("it has one")).expect("it can be made");
            fs::write(path, text).expect("it can be written");
        }
        if suffix.is_empty() {
            fs::write(root.path().join("disk.img"), "").expect("it can be written");
        }
        of_root(&root)
    }

    #[test]
    fn a_loop_device_lies_where_its_file_does() {
        let in_memory = on_a_loop("tmpfs", "", false);
        let file = in_memory.backing.as_ref().expect("it is followed");
        assert!(file.path.ends_with("/disk.img") && file.filesystem.as_deref() == Some("tmpfs"));
        assert_eq!(in_memory.device.as_deref(), Some("/dev/loop7"));
        assert!(in_memory.is_in_memory() && on_a_loop("tmpfs", " (deleted)", false).is_in_memory());
        assert!(on_a_loop("tmpfs", "", true).is_in_memory(), "a volume on it lies there, too");
        let on_disk = on_a_loop("xfs", "", false);
        assert!(on_disk.backing.is_some() && !on_disk.is_in_memory());
        assert_eq!(on_a_loop("tmpfs", " of somebody else", false).backing, None);
    }

    fn below(root: &tempfile::TempDir) -> Vec<String> {
        let mut names = devices_below(root.path(), Path::new("/"));
        names.sort();
        names
    }

    #[test]
    fn volumes_lead_through_partitions_to_all_disks() {
        let root = sysfs(
            &[
                ("proc/self/mountinfo", "27 1 253:0 / / rw - xfs /dev/mapper/vg-data rw\n"),
                ("sys/devices/dm-0/slaves/sda1", ""),
                ("sys/devices/dm-0/slaves/md0", ""),
                ("sys/devices/md0/slaves/sdb", ""),
                ("sys/devices/md0/slaves/sdc", ""),
                ("sys/devices/sda/sda1/partition", "1\n"),
            ],
            &[
                ("dm-0", "253:0"),
                ("md0", "9:0"),
                ("sda", "8:0"),
                ("sda/sda1", "8:1"),
                ("sdb", "8:16"),
                ("sdc", "8:32"),
            ],
        );
        assert_eq!(below(&root), ["dm-0", "md0", "sda", "sda1", "sdb", "sdc"]);
    }

    #[test]
    fn a_loop_device_leads_to_the_disk_of_its_file_and_a_circle_ends() {
        let root = sysfs(
            &[
                (
                    "proc/self/mountinfo",
                    "27 1 7:7 / / rw - ext4 /dev/loop7 rw\n28 27 8:0 / /proc rw - ext4 /dev/sda rw\n",
                ),
                ("sys/devices/loop7/loop/backing_file", "/proc/disk.img (deleted)\n"),
                ("sys/devices/sda/slaves/loop7", ""),
            ],
            &[("loop7", "7:7"), ("sda", "8:0")],
        );
        assert_eq!(below(&root), ["loop7", "sda"]);
    }

    #[test]
    fn file_systems_without_a_device_have_none_below() {
        for kind in ["overlay", "tmpfs", "nfs4", "fuse.sshfs", "btrfs", "zfs"] {
            let mount = format!("27 1 0:50 / / rw - {kind} {kind} rw\n");
            assert_eq!(below(&tree(&[("proc/self/mountinfo", &mount)])), [""; 0], "{kind}");
        }
        assert_eq!(below(&tree(&[])), [""; 0]);
    }

    /// A loop device on a file of its own file system, which no kernel allows, does not loop forever.
    #[test]
    fn a_circle_of_loop_devices_ends() {
        let root = sysfs(
            &[
                ("proc/self/mountinfo", "27 1 7:7 / / rw - ext4 /dev/loop7 rw\n"),
                ("sys/devices/loop7/loop/backing_file", "/\n"),
            ],
            &[("loop7", "7:7")],
        );
        assert!(of_root(&root).backing.is_some());
    }
}
