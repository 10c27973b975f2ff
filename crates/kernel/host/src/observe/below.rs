//! From a directory to the block devices below it: through partitions, LVM and other device-mapper targets, md and loop
//! devices to the disks.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use crate::facts::{MountOf, mount_of};

/// Most devices below one directory.
const MOST_DEVICES: usize = 64;

/// Names of the block devices below a directory, in the order from the file system down to the disks, each once. Empty
/// where the kernel shows no device: overlayfs, tmpfs, FUSE, NFS, btrfs and ZFS.
pub(super) fn devices_below(root: &Path, path: &Path) -> Vec<String> {
    let mut found = Found { root, names: Vec::new(), seen: BTreeSet::new() };
    found.file_system_of(path);
    found.names
}

struct Found<'a> {
    root: &'a Path,
    names: Vec<String>,
    seen: BTreeSet<String>,
}

impl Found<'_> {
    fn file_system_of(&mut self, path: &Path) {
        let Some(MountOf { device_number, .. }) = mount_of(self.root, path) else { return };
        // Major number 0 is that of file systems without a device of their own.
        if device_number.starts_with("0:") {
            return;
        }
        if let Ok(dir) = fs::canonicalize(self.root.join("sys/dev/block").join(device_number)) {
            self.device(&dir);
        }
    }

    /// Adds a device, given by its directory in sysfs, and all that it consists of.
    fn device(&mut self, dir: &Path) {
        let Some(name) = dir.file_name().and_then(|name| name.to_str()) else { return };
        if self.names.len() >= MOST_DEVICES || !self.seen.insert(name.to_owned()) {
            return;
        }
        // sysfs writes `!` for the `/` of names such as `cciss/c0d0`.
        self.names.push(name.replace('!', "/"));
        if dir.join("partition").exists() {
            dir.parent().into_iter().for_each(|disk| self.device(disk));
        }
        let mut parts: Vec<PathBuf> = fs::read_dir(dir.join("slaves"))
            .map(|entries| {
                entries.flatten().filter_map(|entry| fs::canonicalize(entry.path()).ok()).collect()
            })
            .unwrap_or_default();
        parts.sort();
        parts.iter().for_each(|part| self.device(part));
        if let Ok(file) = fs::read_to_string(dir.join("loop/backing_file")) {
            self.file_system_of(Path::new(file.trim_end_matches('\n').trim_end_matches(" (deleted)")));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A tree like that of the kernel: `mounts`, files below `sys`, and links from one path to another.
    fn tree(mounts: &str, files: &[&str], links: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a directory can be made");
        let write = |name: &str, text: &str| {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().expect("it has one")).expect("it can be made");
            fs::write(path, text).expect("it can be written");
        };
        write("proc/self/mountinfo", mounts);
        for file in files {
            let (name, text) = file.split_once('=').unwrap_or((file, ""));
            write(name, text);
        }
        for (link, to) in links {
            let link = root.path().join(link);
            fs::create_dir_all(link.parent().expect("it has one")).expect("it can be made");
            symlink(root.path().join(to), link).expect("a link can be made");
        }
        root
    }

    #[test]
    fn volumes_lead_through_partitions_to_all_disks() {
        let root = tree(
            "27 1 253:0 / / rw - xfs /dev/mapper/vg-data rw\n",
            &[
                "sys/devices/dm-0/dm/name",
                "sys/devices/sda/sda1/partition=1",
                "sys/devices/md0/md/level",
                "sys/devices/sdb/size",
                "sys/devices/sdc/size",
            ],
            &[
                ("sys/dev/block/253:0", "sys/devices/dm-0"),
                ("sys/devices/dm-0/slaves/sda1", "sys/devices/sda/sda1"),
                ("sys/devices/dm-0/slaves/md0", "sys/devices/md0"),
                ("sys/devices/md0/slaves/sdb", "sys/devices/sdb"),
                ("sys/devices/md0/slaves/sdc", "sys/devices/sdc"),
            ],
        );
        assert_eq!(devices_below(root.path(), Path::new("/")), ["dm-0", "md0", "sdb", "sdc", "sda1", "sda"]);
    }

    #[test]
    fn a_loop_device_leads_to_the_disk_of_its_file_and_a_circle_ends() {
        let root = tree(
            "27 1 7:7 / / rw - ext4 /dev/loop7 rw\n28 27 8:0 / /proc rw - ext4 /dev/sda rw\n",
            &["sys/devices/loop7/loop/backing_file=/proc/disk.img (deleted)\n", "sys/devices/sda/size"],
            &[
                ("sys/dev/block/7:7", "sys/devices/loop7"),
                ("sys/dev/block/8:0", "sys/devices/sda"),
                ("sys/devices/sda/slaves/loop7", "sys/devices/loop7"),
            ],
        );
        assert_eq!(devices_below(root.path(), Path::new("/")), ["loop7", "sda"]);
    }

    #[test]
    fn file_systems_without_a_device_have_none() {
        for kind in ["overlay", "tmpfs", "nfs4", "fuse.sshfs", "btrfs", "zfs"] {
            let root = tree(&format!("27 1 0:50 / / rw - {kind} {kind} rw\n"), &[], &[]);
            assert_eq!(devices_below(root.path(), Path::new("/")), [""; 0], "{kind}");
        }
        let root = tree("", &[], &[]);
        assert_eq!(devices_below(root.path(), Path::new("/")), [""; 0]);
    }
}
