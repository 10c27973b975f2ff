//! The directory: whether it can be used, and what is known of the storage below it.

use std::{
    fs, io,
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::{Path, PathBuf},
};

use pgdyno_core::{
    disk::sync::{PlaceKind, SyncDevice, SyncPlace},
    host::Storage,
    problem::Problem,
};

/// Free space that is left for the metadata of the file system, in bytes.
const RESERVE_BYTES: u64 = 1 << 20;
/// Most devices that are followed downwards.
const MOST_DEVICES: usize = 64;

/// Reads what is known of a directory.
///
/// # Errors
/// A wrong request if it is no directory, or too small.
pub(super) fn read(dir: &Path, space_bytes: u64) -> Result<SyncPlace, Problem> {
    let could_not =
        |why: String| Problem::wrong_request(format!("could not measure syncs in {}: {why}", dir.display()));
    let metadata = fs::metadata(dir).map_err(|error| could_not(error.to_string()))?;
    let kind = metadata.file_type();
    if kind.is_block_device() || kind.is_char_device() {
        return Err(could_not("it is a device, and devices are never written to".to_owned())
            .hint("name a directory of a file system on it"));
    }
    if !kind.is_dir() {
        return Err(could_not("it is not a directory".to_owned()));
    }
    let storage = pgdyno_host::facts::storage(dir).map_err(|error| could_not(error.to_string()))?;
    let needed = space_bytes + RESERVE_BYTES;
    if storage.available_bytes < needed {
        let mib = |bytes: u64| bytes.div_ceil(1 << 20);
        let why = format!("it has {} MiB of free space", storage.available_bytes >> 20);
        return Err(could_not(why).hint(format!("this needs {} MiB. Nothing was written.", mib(needed))));
    }
    Ok(described(Path::new("/"), storage, metadata.dev()))
}

fn described(root: &Path, storage: Storage, device_number: u64) -> SyncPlace {
    let virtual_machine = pgdyno_host::facts::is_virtual();
    let mut below = Below { root, disks: Vec::new(), seen: Vec::new() };
    below.file_system(device_number, storage.device.as_deref());
    let devices = below.disks.iter().map(|dir| device(dir, virtual_machine)).collect();
    let filesystem = storage.filesystem.clone().unwrap_or_default();
    SyncPlace { kind: kind_of(&storage), devices, named: !syncs_without_name(&filesystem), storage }
}

/// Whether a file without a name is synced as any other. btrfs and ZFS do not log files that nobody can find after a
/// crash, F2FS writes a checkpoint for them, and layers pass on calls in ways of their own.
fn syncs_without_name(filesystem: &str) -> bool {
    matches!(filesystem, "ext2" | "ext3" | "ext4" | "xfs" | "tmpfs" | "ramfs")
}

fn kind_of(storage: &Storage) -> PlaceKind {
    let filesystem = storage.filesystem.as_deref().unwrap_or_default();
    let on_device = storage.device.as_deref().is_some_and(|device| device.starts_with("/dev/"));
    match filesystem {
        _ if storage.is_in_memory() => PlaceKind::Memory,
        name if name == "fuse" || name == "fuseblk" || name.starts_with("fuse.") => PlaceKind::UserSpace,
        "nfs" | "nfs4" | "cifs" | "smb3" | "smbfs" | "ceph" | "lustre" | "afs" | "glusterfs" | "9p"
        | "virtiofs" | "vboxsf" | "orangefs" => PlaceKind::Network,
        "overlay" | "overlayfs" | "aufs" | "ecryptfs" | "unionfs" => PlaceKind::Stacked,
        "btrfs" | "zfs" | "bcachefs" => PlaceKind::Local,
        _ if on_device => PlaceKind::Local,
        _ => PlaceKind::Unknown,
    }
}

/// Disks below a file system, by their directories in sysfs.
struct Below<'a> {
    root: &'a Path,
    disks: Vec<PathBuf>,
    seen: Vec<PathBuf>,
}

impl Below<'_> {
    /// Follows the device of a file system. Where it has a number of its own without a device (btrfs), the mounted
    /// device is followed.
    fn file_system(&mut self, number: u64, source: Option<&str>) {
        if rustix::fs::major(number) != 0 {
            return self.number(number);
        }
        let mounted =
            source.filter(|source| source.starts_with("/dev/")).and_then(|path| fs::metadata(path).ok());
        if let Some(device) = mounted.filter(|device| device.file_type().is_block_device()) {
            self.number(device.rdev());
        }
    }

    fn number(&mut self, number: u64) {
        let name = format!("{}:{}", rustix::fs::major(number), rustix::fs::minor(number));
        if let Ok(dir) = fs::canonicalize(self.root.join("sys/dev/block").join(name)) {
            self.device(&dir);
        }
    }

    fn device(&mut self, dir: &Path) {
        if self.seen.len() >= MOST_DEVICES || self.seen.iter().any(|seen| seen == dir) {
            return;
        }
        self.seen.push(dir.to_owned());
        if let Some(disk) = dir.parent().filter(|_| dir.join("partition").exists()) {
            return self.device(disk);
        }
        if let Ok(file) = fs::read_to_string(dir.join("loop/backing_file")) {
            return self.backing_file(file.trim_end_matches('\n'));
        }
        let parts = fs::read_dir(dir.join("slaves")).into_iter().flatten().flatten();
        let mut parts: Vec<PathBuf> = parts.filter_map(|part| fs::canonicalize(part.path()).ok()).collect();
        parts.sort();
        if parts.is_empty() {
            self.disks.push(dir.to_owned());
        }
        parts.iter().for_each(|part| self.device(part));
    }

    fn backing_file(&mut self, file: &str) {
        let file = Path::new(file.trim_end_matches(" (deleted)"));
        let there = file.ancestors().find_map(|ancestor| fs::metadata(ancestor).ok());
        let storage = pgdyno_host::facts::storage(file).ok();
        if let Some(metadata) = there {
            self.file_system(metadata.dev(), storage.and_then(|storage| storage.device).as_deref());
        }
    }
}

/// The only line of a file of sysfs; `None` for an empty one.
fn line(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|line| !line.is_empty())
}

fn device(dir: &Path, virtual_machine: bool) -> SyncDevice {
    let rotational = line(&dir.join("queue/rotational")).filter(|_| !virtual_machine && !is_virtual(dir));
    SyncDevice {
        name: dir.file_name().unwrap_or_default().to_string_lossy().replace('!', "/"),
        write_cache: line(&dir.join("queue/write_cache")),
        reported_cache: reported_cache(dir),
        rotational: rotational.and_then(|line| match line.as_str() {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        }),
    }
}

/// The cache mode that the device reports: `virtio_blk` at the disk, SCSI at its `scsi_disk`. A loop device always has
/// a cache, the page cache of its file.
fn reported_cache(dir: &Path) -> Option<String> {
    let of_scsi = || -> io::Result<Option<PathBuf>> {
        let mut entries = fs::read_dir(dir.join("device/scsi_disk"))?.flatten();
        Ok(entries.next().map(|entry| entry.path().join("cache_type")))
    };
    if dir.join("loop/backing_file").exists() {
        return Some("write back".to_owned());
    }
    let at_disk = Some(dir.join("cache_type")).filter(|path| path.exists());
    at_disk.or_else(|| of_scsi().ok().flatten()).and_then(|path| line(&path))
}

/// Whether a hypervisor plays the disk: virtio, Xen, or a vendor that makes none.
fn is_virtual(dir: &Path) -> bool {
    let path = dir.to_string_lossy();
    let vendor = fs::read_to_string(dir.join("device/vendor")).unwrap_or_default();
    let by_vendor = ["QEMU", "VMware", "Msft", "VBOX", "Google", "Amazon", "Nutanix", "ORACLE"];
    path.contains("/virtio") || path.contains("/vbd-") || by_vendor.contains(&vendor.trim())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn tree(files: &[(&str, &str)], links: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a directory");
        for (name, text) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().expect("it has one")).expect("it can be made");
            fs::write(path, text).expect("it can be written");
        }
        for (link, to) in links {
            let link = root.path().join(link);
            fs::create_dir_all(link.parent().expect("it has one")).expect("it can be made");
            symlink(root.path().join(to), link).expect("a link can be made");
        }
        root
    }

    fn disks(root: &Path, major: u32, minor: u32) -> Vec<SyncDevice> {
        let mut below = Below { root, disks: Vec::new(), seen: Vec::new() };
        below.file_system(rustix::fs::makedev(major, minor), None);
        below.disks.iter().map(|dir| device(dir, false)).collect()
    }

    #[test]
    fn volumes_and_partitions_lead_to_disks_with_what_they_say_of_their_cache() {
        let root = tree(
            &[
                ("sys/devices/sda/queue/write_cache", "write through\n"),
                ("sys/devices/sda/queue/rotational", "1\n"),
                ("sys/devices/sda/device/vendor", "ATA     \n"),
                ("sys/devices/sda/device/scsi_disk/0:0:0:0/cache_type", "write back\n"),
                ("sys/devices/sda/sda1/partition", "1\n"),
                ("sys/devices/sdb/queue/rotational", "1\n"),
                ("sys/devices/sdb/device/vendor", "QEMU\n"),
                ("sys/devices/dm-0/queue/write_cache", "write back\n"),
            ],
            &[
                ("sys/dev/block/253:0", "sys/devices/dm-0"),
                ("sys/devices/dm-0/slaves/sda1", "sys/devices/sda/sda1"),
                ("sys/devices/dm-0/slaves/sdb", "sys/devices/sdb"),
            ],
        );
        let found = disks(root.path(), 253, 0);
        let sda = SyncDevice {
            name: "sda".to_owned(),
            write_cache: Some("write through".to_owned()),
            reported_cache: Some("write back".to_owned()),
            rotational: Some(true),
        };
        let sdb =
            SyncDevice { name: "sdb".to_owned(), write_cache: None, reported_cache: None, rotational: None };
        assert!(found == [sda.clone(), sdb.clone()] || found == [sdb, sda], "{found:?}");
        assert_eq!(disks(root.path(), 253, 1), []);
        assert_eq!(disks(root.path(), 0, 50), []);
    }

    #[test]
    fn a_loop_device_caches_in_memory_whatever_cache_type_says() {
        let root = tree(
            &[
                ("sys/loop0/loop/backing_file", "/srv/disk\n"),
                ("sys/loop0/queue/write_cache", "write through\n"),
            ],
            &[],
        );
        let found = device(&root.path().join("sys/loop0"), false);
        assert_eq!(
            (found.write_cache.as_deref(), found.reported_cache.as_deref()),
            (Some("write through"), Some("write back"))
        );
    }

    #[test]
    fn a_virtual_disk_is_not_believed_to_rotate() {
        let root = tree(&[("sys/devices/pci0/virtio2/block/vda/queue/rotational", "1\n")], &[]);
        let vda = root.path().join("sys/devices/pci0/virtio2/block/vda");
        assert_eq!(device(&vda, false).rotational, None);
        let root = tree(&[("sys/devices/pci0/ata1/sda/queue/rotational", "1\n")], &[]);
        let sda = root.path().join("sys/devices/pci0/ata1/sda");
        assert_eq!((device(&sda, false).rotational, device(&sda, true).rotational), (Some(true), None));
    }

    #[test]
    fn kinds_follow_from_the_type_of_the_file_system() {
        let facts = pgdyno_host::facts::storage(Path::new("/")).expect("it is there");
        let kind = |filesystem: &str, device: &str| {
            let facts = Storage {
                filesystem: Some(filesystem.to_owned()),
                device: Some(device.to_owned()),
                backing: None,
                backing_is_cached: None,
                ..facts.clone()
            };
            kind_of(&facts)
        };
        assert_eq!(kind("ext4", "/dev/sda1"), PlaceKind::Local);
        assert_eq!(kind("zfs", "tank/data"), PlaceKind::Local);
        assert_eq!(kind("tmpfs", "tmpfs"), PlaceKind::Memory);
        assert_eq!(kind("ext4", "/dev/ram0"), PlaceKind::Memory);
        assert_eq!(kind("overlay", "overlay"), PlaceKind::Stacked);
        assert_eq!(kind("fuse.sshfs", "host:"), PlaceKind::UserSpace);
        assert_eq!(kind("fuseblk", "/dev/sda1"), PlaceKind::UserSpace);
        assert_eq!(kind("nfs4", "host:/export"), PlaceKind::Network);
        assert_eq!(kind("something", "something"), PlaceKind::Unknown);
        assert!(syncs_without_name("ext4") && !syncs_without_name("btrfs") && !syncs_without_name("fuse"));
    }

    #[test]
    fn what_is_no_directory_is_refused_by_its_reason() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("file");
        fs::write(&file, "").expect("it can be written");
        for (path, why) in [
            (Path::new("/nonexistent/x"), "No such file"),
            (file.as_path(), "not a directory"),
            (Path::new("/dev/null"), "never written to"),
        ] {
            let problem = read(path, 0).expect_err("it is no directory");
            assert!(
                problem.what.contains(why) && problem.what.contains(&*path.to_string_lossy()),
                "{problem}"
            );
        }
        let problem = read(dir.path(), u64::MAX / 2).expect_err("no disk is so large");
        assert!(problem.what.contains("free space") && problem.hint.is_some(), "{problem}");
    }
}
