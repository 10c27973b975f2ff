//! Which mounts and devices rules of storage judge: those of the named server, otherwise all that may hold data.

use std::collections::BTreeSet;

use pgdyno_core::host::{BlockDevice, DeviceKind, Inventory, Knob, Mount, PgPurpose};

/// File systems of Linux on which people put data directories.
const ORDINARY: [&str; 8] = ["ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "jfs"];

/// The mounts that hold directories of the named server, each once; without any, all writable ones that may hold data.
pub fn mounts(host: &Inventory) -> Vec<&Mount> {
    match host.directories.is_empty() {
        true => host.mounts.iter().filter(|mount| may_hold_data(mount)).collect(),
        false => mounts_of(host, &[PgPurpose::Data, PgPurpose::Wal, PgPurpose::Tablespace]),
    }
}

/// Whether a mount holds a directory of the named server for one of these purposes.
pub fn holds(host: &Inventory, mount: &Mount, purposes: &[PgPurpose]) -> bool {
    host.directories.iter().any(|directory| {
        purposes.contains(&directory.purpose) && directory.mount_point.as_ref() == Some(&mount.point)
    })
}

/// The mounts of the named server that hold directories for one of these purposes, each once.
pub fn mounts_of<'a>(host: &'a Inventory, purposes: &[PgPurpose]) -> Vec<&'a Mount> {
    host.mounts.iter().filter(|mount| holds(host, mount, purposes)).collect()
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

/// The disks of [`devices`].
pub fn disks(host: &Inventory) -> Vec<&BlockDevice> {
    devices(host).into_iter().filter(|device| is_disk(device)).collect()
}

/// Whether a device is a disk: it consists of nothing else.
pub fn is_disk(device: &BlockDevice) -> bool {
    device.parents.is_empty()
        && matches!(device.kind, DeviceKind::Disk | DeviceKind::Nvme | DeviceKind::Virtual)
}

/// Names of the disks below a device.
pub fn disk_names<'a>(host: &'a Inventory, device: &str) -> BTreeSet<&'a str> {
    host.disks_below(device).into_iter().map(|disk| disk.name.as_str()).collect()
}

/// Names of the disks below a mount.
pub fn disks_of_mount<'a>(host: &'a Inventory, mount: &Mount) -> BTreeSet<&'a str> {
    mount.device.as_deref().map(|name| disk_names(host, name)).unwrap_or_default()
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
pub fn sysfs(device: &BlockDevice, file: &str) -> Knob {
    Knob::Sysfs(format!("/sys/block/{}/{file}", device.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::testing::{device, mount, mounted, with_directory, with_setting};

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
    fn the_block_of_the_server_is_8_kib_by_default() {
        let host = two_mounts();
        assert_eq!(server_block_bytes(&host), 8192);
        assert_eq!(server_block_bytes(&with_setting(host.clone(), "block_size", "32768")), 32768);
        assert_eq!(server_block_bytes(&with_setting(host, "block_size", "0")), 8192);
    }
}
