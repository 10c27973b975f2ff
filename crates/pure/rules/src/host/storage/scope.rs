//! Which mounts and devices rules of storage judge: those of the named server, otherwise all that may hold data.

use pgdyno_core::host::{BlockDevice, DeviceKind, Inventory, Mount, PgPurpose};

use crate::Finding;
use crate::host::compose::Compose;

/// File systems of Linux on which people put data directories.
const ORDINARY: [&str; 8] = ["ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "jfs"];

/// The mounts that hold directories of the named server, each once; without any, all writable ones that may hold data.
pub fn mounts(host: &Inventory) -> Vec<&Mount> {
    match host.directories.is_empty() {
        true => host.mounts.iter().filter(|mount| may_hold_data(mount)).collect(),
        false => mounts_of(host, &[PgPurpose::Data, PgPurpose::Wal, PgPurpose::Tablespace]),
    }
}

/// The mounts of the named server that hold directories for one of these purposes, each once.
pub fn mounts_of<'a>(host: &'a Inventory, purposes: &[PgPurpose]) -> Vec<&'a Mount> {
    let holds = |mount: &Mount| {
        host.directories.iter().any(|directory| {
            purposes.contains(&directory.purpose) && directory.mount_point.as_ref() == Some(&mount.point)
        })
    };
    host.mounts.iter().filter(|mount| holds(mount)).collect()
}

/// The mounts of [`mounts`] with one of these file systems.
pub fn mounts_with<'a>(host: &'a Inventory, filesystems: &[&str]) -> Vec<&'a Mount> {
    mounts(host).into_iter().filter(|mount| filesystems.contains(&mount.filesystem.as_str())).collect()
}

/// What is said of each of these mounts, with its mount point as the object.
pub fn judge_each(mounts: Vec<&Mount>, judge: impl Fn(&Mount) -> Option<Finding>) -> Vec<Finding> {
    mounts.into_iter().filter_map(|mount| Some(judge(mount)?.about(&mount.point))).collect()
}

/// Whether somebody might put a data directory there.
fn may_hold_data(mount: &Mount) -> bool {
    ORDINARY.contains(&mount.filesystem.as_str())
        && mount.option("ro").is_none()
        && mount.point != "/boot"
        && !mount.point.starts_with("/boot/")
}

/// The devices below the directories of the named server, each once, from the top down; without any, all but loop
/// devices and memory.
pub fn devices(host: &Inventory) -> Vec<&BlockDevice> {
    if host.directories.is_empty() {
        let is_storage =
            |device: &&BlockDevice| !matches!(device.kind, DeviceKind::Loop | DeviceKind::Memory);
        return host.devices.iter().filter(is_storage).collect();
    }
    let mut found: Vec<&BlockDevice> = Vec::new();
    for device in
        mounts(host).iter().filter_map(|mount| mount.device.as_ref()).flat_map(|name| host.stack(name))
    {
        if !found.contains(&device) {
            found.push(device);
        }
    }
    found
}

/// The disks of [`devices`]: what consists of nothing else.
pub fn disks(host: &Inventory) -> Vec<&BlockDevice> {
    let is_disk = |device: &&BlockDevice| {
        device.parents.is_empty()
            && matches!(device.kind, DeviceKind::Disk | DeviceKind::Nvme | DeviceKind::Virtual)
    };
    devices(host).into_iter().filter(is_disk).collect()
}

/// The device whose queue serves a device: a partition has none, its disk has.
pub fn queue_of<'a>(host: &'a Inventory, device: &'a BlockDevice) -> Option<&'a BlockDevice> {
    match device.kind {
        DeviceKind::Partition => host.device(device.parents.first()?),
        _ => Some(device),
    }
}

/// Block of the named server in bytes: `block_size` if it is known, otherwise the default.
pub fn server_block_bytes(host: &Inventory) -> u64 {
    let known = host.server.as_ref().and_then(|server| server.settings.get("block_size")?.parse().ok());
    known.filter(|&bytes| bytes > 0).unwrap_or(8192)
}

/// A file of `/sys/block`.
pub fn sysfs(device: &BlockDevice, file: &str) -> String {
    format!("/sys/block/{}/{file}", device.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::example::{device, mount, mounted, with_directory, with_setting};

    fn two_mounts() -> Inventory {
        let mut host = mounted(
            mount("ext4", Some("sda1"), "rw"),
            vec![
                device("sda", DeviceKind::Disk, &[]),
                device("sda1", DeviceKind::Partition, &["sda"]),
                device("vda", DeviceKind::Virtual, &[]),
                device("loop0", DeviceKind::Loop, &[]),
            ],
        );
        for (point, filesystem, options) in [
            ("/other", "xfs", "rw"),
            ("/boot", "ext4", "rw"),
            ("/boot/efi", "vfat", "rw"),
            ("/image", "ext4", "ro"),
        ] {
            let device = Some("vda");
            host.mounts.push(Mount { point: point.to_owned(), ..mount(filesystem, device, options) });
        }
        host
    }

    fn points(mounts: Vec<&Mount>) -> Vec<&str> {
        mounts.into_iter().map(|mount| mount.point.as_str()).collect()
    }

    fn names(devices: Vec<&BlockDevice>) -> Vec<&str> {
        devices.into_iter().map(|device| device.name.as_str()).collect()
    }

    #[test]
    fn without_directories_all_that_may_hold_data_counts() {
        let host = two_mounts();
        assert_eq!(points(mounts(&host)), ["/data", "/other"]);
        assert_eq!(points(mounts_with(&host, &["xfs"])), ["/other"]);
        assert_eq!(names(devices(&host)), ["sda", "sda1", "vda"]);
        assert_eq!(names(disks(&host)), ["sda", "vda"]);
    }

    #[test]
    fn directories_limit_what_is_judged() {
        let host = with_directory(two_mounts(), PgPurpose::Data, "/data");
        let host = with_directory(host, PgPurpose::Wal, "/data");
        assert_eq!(points(mounts(&host)), ["/data"]);
        assert_eq!(points(mounts_of(&host, &[PgPurpose::Tablespace])), [""; 0]);
        assert_eq!(names(devices(&host)), ["sda1", "sda"]);
        assert_eq!(names(disks(&host)), ["sda"]);
    }

    #[test]
    fn a_partition_is_served_by_the_queue_of_its_disk() {
        let host = two_mounts();
        let partition = host.device("sda1").expect("it was planted");
        assert_eq!(queue_of(&host, partition).map(|device| device.name.as_str()), Some("sda"));
    }

    #[test]
    fn the_block_of_the_server_is_8_kib_unless_told() {
        let host = two_mounts();
        assert_eq!(server_block_bytes(&host), 8192);
        assert_eq!(server_block_bytes(&with_setting(host.clone(), "block_size", "32768")), 32768);
        assert_eq!(server_block_bytes(&with_setting(host, "block_size", "0")), 8192);
    }
}
