//! The storage under a directory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Inventory, Mount};

/// The storage under a directory: what the mount that holds it and the devices below show.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Storage {
    /// The directory.
    pub path: String,
    /// Mount point.
    pub mount_point: Option<String>,
    /// File system type, for example `ext4`.
    pub filesystem: Option<String>,
    /// Options of the mount and of the file system, separated by commas.
    pub mount_options: Option<String>,
    /// Device, for example `/dev/vda`.
    pub device: Option<String>,
    /// Whether a disk below rotates; `None` if that is not known, as of most disks of a guest.
    pub rotational: Option<bool>,
    /// Write cache of the first disk below according to the kernel: `write back` or `write through`.
    pub write_cache: Option<String>,
    /// Size of the file system in bytes; 0 if it is unknown.
    pub size_bytes: u64,
    /// Bytes available to unprivileged processes.
    pub available_bytes: u64,
    /// For a loop device: the storage of its backing file, whose path is in `path`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backing: Option<Box<Storage>>,
    /// For a loop device: whether the kernel keeps the backing file in the page cache, whatever those ask for who read
    /// the device (`/sys/block/loop*/loop/dio` is 0; `losetup --direct-io=on` makes it 1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backing_is_cached: Option<bool>,
}

impl Storage {
    /// Whether it is in memory and emptied by a restart of the machine: `tmpfs`, `ramfs`, a RAM disk (`brd`, `zram`),
    /// or a loop device backed by a file on one of them.
    pub fn is_in_memory(&self) -> bool {
        let is_ram_disk = |device: &str| {
            let number = device.strip_prefix("/dev/ram").or_else(|| device.strip_prefix("/dev/zram"));
            number
                .is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
        };
        matches!(self.filesystem.as_deref(), Some("tmpfs" | "ramfs"))
            || self.device.as_deref().is_some_and(is_ram_disk)
            || self.backing.as_ref().is_some_and(|backing| backing.is_in_memory())
    }

    /// The file behind a loop device that is kept in the page cache, also if that device is below another one.
    pub fn cached_file_below(&self) -> Option<&str> {
        let backing = self.backing.as_ref()?;
        if self.backing_is_cached == Some(true) { Some(&backing.path) } else { backing.cached_file_below() }
    }

    /// Whether two directories are on the same file system.
    pub fn is_of_file_system(&self, other: &Self) -> bool {
        let of = |storage: &Self| {
            (storage.mount_point.clone(), storage.filesystem.clone(), storage.device.clone())
        };
        of(self) == of(other)
    }
}

impl Inventory {
    /// The storage of a directory: of the mount that holds it; `None` if none is known to. A size that is not known is
    /// 0, and then nothing is known of the free space.
    pub fn storage(&self, directory: &str) -> Option<Storage> {
        let own = self.directories.iter().find(|own| own.path == directory);
        let mount = match own.and_then(|own| self.mount(own.mount_point.as_deref()?)) {
            Some(mount) => mount,
            None => self.mount_holding(directory)?,
        };
        Some(self.storage_on(mount, directory))
    }

    /// The storage of a directory on a mount.
    pub fn storage_on(&self, mount: &Mount, directory: &str) -> Storage {
        let device = mount.device.as_deref();
        let disks = device.map(|device| self.disks_below(device)).unwrap_or_default();
        let known = mount.size_bytes.or(mount.available_bytes).zip(mount.available_bytes);
        let (size_bytes, available_bytes) = known.unwrap_or((0, 0));
        let source = Some(&mount.source).filter(|source| !source.is_empty()).cloned();
        Storage {
            path: directory.to_owned(),
            mount_point: Some(mount.point.clone()),
            filesystem: Some(mount.filesystem.clone()),
            mount_options: Some(mount.options.join(",")),
            device: source.or_else(|| device.map(|device| format!("/dev/{device}"))),
            rotational: self.any_rotates(&disks),
            write_cache: disks.first().and_then(|disk| disk.write_cache.clone()),
            size_bytes,
            available_bytes,
            backing: None,
            backing_is_cached: None,
        }
    }

    /// The mount with the longest mount point that a directory is in.
    fn mount_holding(&self, directory: &str) -> Option<&Mount> {
        let is_in = |mount: &&Mount| {
            let rest = directory.strip_prefix(mount.point.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.mounts.iter().filter(is_in).max_by_key(|mount| mount.point.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        facts::amount::GB,
        host::{BlockDevice, DeviceKind, PgDirectory},
    };

    fn host() -> Inventory {
        let disk = |name: &str, rotational| BlockDevice {
            name: name.to_owned(),
            kind: DeviceKind::Disk,
            rotational,
            ..BlockDevice::default()
        };
        let volume = BlockDevice {
            name: "dm-0".to_owned(),
            kind: DeviceKind::Lvm,
            parents: vec!["sda".to_owned(), "sdb".to_owned()],
            ..BlockDevice::default()
        };
        let mount = |point: &str, device: &str, available_bytes| Mount {
            point: point.to_owned(),
            filesystem: "xfs".to_owned(),
            device: Some(device.to_owned()),
            size_bytes: Some(100 * GB),
            available_bytes,
            ..Mount::default()
        };
        Inventory {
            devices: vec![
                volume,
                disk("sda", Some(false)),
                disk("sdb", Some(false)),
                disk("sdc", Some(true)),
            ],
            mounts: vec![mount("/", "sdc", Some(10 * GB)), mount("/data", "dm-0", None)],
            ..Inventory::default()
        }
    }

    #[test]
    fn a_directory_lies_on_the_nearest_mount() {
        let mut host = host();
        let of = |host: &Inventory, directory: &str| host.storage(directory).expect("it has a mount");
        let data = of(&host, "/data/18/main");
        assert_eq!((data.mount_point.as_deref(), data.rotational), (Some("/data"), Some(false)));
        assert_eq!((data.size_bytes, data.available_bytes), (0, 0), "the free space is not known");
        let root = of(&host, "/database");
        assert_eq!((root.mount_point.as_deref(), root.rotational), (Some("/"), Some(true)));
        assert_eq!((root.size_bytes, root.available_bytes), (100 * GB, 10 * GB));
        host.directories = vec![PgDirectory {
            path: "/var/lib/postgresql".to_owned(),
            mount_point: Some("/data".to_owned()),
            ..PgDirectory::default()
        }];
        assert_eq!(of(&host, "/var/lib/postgresql").mount_point.as_deref(), Some("/data"));
        host.cpu.hypervisor = Some("kvm".to_owned());
        assert_eq!(of(&host, "/database").rotational, None, "a guest does not know");
        host.mounts.clear();
        assert!(host.storage("/database").is_none());
    }
}
