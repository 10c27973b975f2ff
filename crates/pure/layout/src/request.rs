//! What storage is wanted, on which disks.

use pgdyno_core::{
    host::{BlockDevice, DeviceKind, Inventory},
    problem::Problem,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What storage is wanted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Request {
    /// Whole disks, each used completely. All that is on them is lost when the script is run.
    pub disks: Vec<Disk>,
    /// What the storage is for.
    pub purpose: Purpose,
    /// How data is spread over the disks.
    pub raid: Raid,
    /// Who spreads it.
    pub manager: Manager,
    /// File system of every volume.
    pub filesystem: FilesystemKind,
    /// Block of PostgreSQL in bytes (`--with-blocksize`): 8192, 16384 or 32768.
    pub block_bytes: u64,
    /// Volumes, in the order in which they lie on the disks; each kind once.
    pub volumes: Vec<Volume>,
    /// Whether snapshots will be taken: LVM then leaves space for them.
    pub snapshot: bool,
    /// Release of the kernel that will mount the file systems, as `uname -r` says it.
    pub kernel: String,
    /// Page of that kernel in bytes.
    pub page_bytes: u64,
    /// Name of the volume group, array or pool; labels begin with it.
    pub name: String,
    /// Values to use in place of derived ones.
    #[serde(default)]
    pub overrides: Overrides,
}

/// A whole disk.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Disk {
    /// Its path, such as `/dev/sdb` or `/dev/disk/by-id/nvme-…`.
    pub path: String,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Serial number or WWID, which the script compares; `None` if the disk shows none.
    pub serial: Option<String>,
    /// Logical block in bytes: the unit of partition tables.
    pub logical_block_bytes: u64,
    /// Physical block in bytes: the smallest unit that is written without reading before.
    pub physical_block_bytes: u64,
    /// Preferred smallest request in bytes: the chunk of a RAID controller.
    pub minimum_io_bytes: Option<u64>,
    /// Preferred request in bytes: the full stripe of a RAID controller.
    pub optimal_io_bytes: Option<u64>,
    /// Whether it is known to be a rotating disk.
    pub rotational: bool,
}

/// What the storage is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// Many short transactions: pages are read and written one by one.
    #[default]
    Oltp,
    /// Few long queries: tables are read from one end to the other.
    Olap,
    /// WAL alone: small synchronous writes, one behind the other.
    Wal,
}

/// How data is spread over disks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Raid {
    /// Not at all.
    #[default]
    None,
    /// RAID 0: no disk may fail.
    Striped,
    /// RAID 10: stripes over pairs of mirrors.
    MirroredStripes,
    /// RAID 5: stripes with one parity block each.
    Parity,
    /// RAID 6: stripes with two parity blocks each.
    DoubleParity,
}

/// Who spreads data over disks and makes volumes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Manager {
    /// LVM.
    #[default]
    Lvm,
    /// The md driver of Linux, by `mdadm`; volumes are partitions of the array.
    Md,
    /// Nobody: volumes are partitions of a disk, or a disk each. ZFS spreads data itself.
    None,
}

/// A file system.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FilesystemKind {
    /// ext4.
    #[default]
    Ext4,
    /// XFS.
    Xfs,
    /// ZFS, which is a volume manager as well.
    Zfs,
}

/// A volume.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Volume {
    /// What it holds.
    pub kind: VolumeKind,
    /// Its size.
    pub amount: Amount,
    /// Mount point; `None` for `/srv/NAME/KIND`.
    pub mount: Option<String>,
}

/// What a volume holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VolumeKind {
    /// The data directory, or a tablespace of tables.
    Data,
    /// A tablespace of indexes.
    Index,
    /// `pg_wal`.
    Wal,
}

/// The size of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Amount {
    /// At least so many bytes; rounded up to what the layer below can allot.
    Bytes(u64),
    /// So many percent of the usable space, rounded down.
    Percent(u32),
    /// What the others leave; one volume at most.
    Rest,
}

/// Values to use in place of derived ones: those of an article, or what was measured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Overrides {
    /// Stripe size (chunk) in bytes.
    pub stripe_bytes: Option<u64>,
    /// Block of the file system in bytes.
    pub filesystem_block_bytes: Option<u64>,
    /// Allocation groups wanted of XFS.
    pub allocation_groups: Option<u64>,
    /// Physical extent of LVM in bytes.
    pub extent_bytes: Option<u64>,
}

impl Disk {
    /// A device of a host as a disk.
    fn of(host: &Inventory, device: &BlockDevice, path: &str) -> Self {
        let logical = device.logical_block_bytes.unwrap_or(512);
        Self {
            path: path.to_owned(),
            size_bytes: device.size_bytes,
            serial: device.serial.clone(),
            logical_block_bytes: logical,
            physical_block_bytes: device.physical_block_bytes.unwrap_or(logical),
            minimum_io_bytes: device.minimum_io_bytes,
            optimal_io_bytes: device.optimal_io_bytes,
            rotational: host.rotates(device).unwrap_or(false),
        }
    }

    /// A disk of a host by its path or name. The script checks again, on the host, when it runs.
    ///
    /// # Errors
    /// If the host has no such disk, or it is a partition or a volume, or something uses it.
    pub fn find(host: &Inventory, path: &str) -> Result<Self, Problem> {
        let name = path.strip_prefix("/dev/").unwrap_or(path);
        let device = host.device(name).ok_or_else(|| {
            Problem::wrong_request(format!("there is no disk `{path}`"))
                .hint("`lsblk -d` lists the disks of this host")
        })?;
        let whole = [DeviceKind::Disk, DeviceKind::Nvme, DeviceKind::Virtual, DeviceKind::Loop];
        if !whole.contains(&device.kind) {
            return Err(Problem::wrong_request(format!("{path} is not a whole disk"))
                .hint("name the disk itself; a partition or a volume is part of another layout"));
        }
        match user(host, name) {
            Some(user) => Err(Problem::wrong_request(format!("{path} is in use: {user}"))
                .hint("take down the old stack first, or name another disk. Nothing was changed.")),
            None => Ok(Self::of(host, device, &format!("/dev/{name}"))),
        }
    }
}

/// What uses a device: a mount, a swap area, or a device that consists of it.
fn user(host: &Inventory, name: &str) -> Option<String> {
    let on_it = |other: &str| host.stack(other).iter().any(|device| device.name == name);
    let mount = || {
        let mut mounts = host.mounts.iter();
        let found = mounts.find(|mount| mount.device.as_deref().is_some_and(on_it))?;
        Some(format!("{} is mounted from it", found.point))
    };
    let swap = || {
        let mut swaps = host.memory.swaps.iter().flatten();
        let found = swaps.find(|swap| swap.name.strip_prefix("/dev/").is_some_and(on_it))?;
        Some(format!("{} is a swap area", found.name))
    };
    let above = || {
        let found = host.devices.iter().find(|device| device.parents.iter().any(|parent| parent == name))?;
        Some(format!("{} consists of it", found.name))
    };
    mount().or_else(swap).or_else(above)
}

impl Raid {
    /// Its name in a sentence.
    pub fn words(self) -> &'static str {
        match self {
            Self::None => "no RAID",
            Self::Striped => "RAID 0",
            Self::MirroredStripes => "RAID 10",
            Self::Parity => "RAID 5",
            Self::DoubleParity => "RAID 6",
        }
    }
}

impl Manager {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lvm => "lvm",
            Self::Md => "md",
            Self::None => "none",
        }
    }
}

impl FilesystemKind {
    /// Its name, as `mount -t` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
            Self::Zfs => "zfs",
        }
    }
}

impl VolumeKind {
    /// Its name in labels and paths.
    pub fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Index => "index",
            Self::Wal => "wal",
        }
    }
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::{Memory, Mount, Swap};

    use super::*;

    fn device(name: &str, kind: DeviceKind, parents: &[&str]) -> BlockDevice {
        let parents = parents.iter().map(|&parent| parent.to_owned()).collect();
        BlockDevice { name: name.into(), kind, parents, size_bytes: 1 << 40, ..BlockDevice::default() }
    }

    fn host() -> Inventory {
        let swap = Swap { name: "/dev/sdd".into(), ..Swap::default() };
        let mount = |point: &str, device: &str| Mount {
            point: point.into(),
            device: Some(device.into()),
            ..Mount::default()
        };
        Inventory {
            devices: vec![
                device("sda", DeviceKind::Disk, &[]),
                device("sda1", DeviceKind::Partition, &["sda"]),
                device("sdb", DeviceKind::Disk, &[]),
                device("sdc", DeviceKind::Disk, &[]),
                device("md0", DeviceKind::Md, &["sdc"]),
                device("sdd", DeviceKind::Disk, &[]),
                device("nvme0n1", DeviceKind::Nvme, &[]),
            ],
            mounts: vec![mount("/", "sda1"), mount("/scratch", "nvme0n1")],
            memory: Memory { swaps: Some(vec![swap]), ..Memory::default() },
            ..Inventory::default()
        }
    }

    #[test]
    fn a_free_disk_is_found_by_name_and_by_path() {
        for path in ["sdb", "/dev/sdb"] {
            let disk = Disk::find(&host(), path).expect("nothing uses it");
            assert_eq!((disk.path.as_str(), disk.size_bytes), ("/dev/sdb", 1 << 40));
            assert_eq!((disk.logical_block_bytes, disk.physical_block_bytes), (512, 512));
        }
    }

    #[test]
    fn a_guest_does_not_know_that_its_disk_rotates() {
        let mut host = host();
        host.devices.iter_mut().for_each(|device| device.rotational = Some(true));
        assert!(Disk::find(&host, "sdb").expect("nothing uses it").rotational);
        host.cpu.hypervisor = Some("kvm".to_owned());
        assert!(!Disk::find(&host, "sdb").expect("nothing uses it").rotational);
    }

    #[test]
    fn disks_in_use_and_what_is_no_disk_are_refused() {
        let cases = [
            ("/dev/sda", "/ is mounted from it"),
            ("/dev/sda1", "not a whole disk"),
            ("/dev/sdc", "md0 consists of it"),
            ("/dev/md0", "not a whole disk"),
            ("/dev/sdd", "swap area"),
            ("nvme0n1", "/scratch is mounted from it"),
            ("/dev/sdz", "there is no disk"),
        ];
        for (path, part) in cases {
            let problem = Disk::find(&host(), path).expect_err(path);
            assert!(problem.what.contains(part), "{path}: {problem}");
        }
    }
}
