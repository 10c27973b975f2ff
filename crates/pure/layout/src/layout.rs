//! A layout: what the scripts do, and what each number comes from.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    derived::Derived,
    ext4::Ext4,
    request::{Raid, Request, VolumeKind},
    stripes::Stripes,
    xfs::Xfs,
    zfs::{Dataset, Pool},
};

/// A layout of storage.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Layout {
    /// What it was derived from.
    pub request: Request,
    /// Partitions of the disks; of an array, they are in [`Stack::Md`].
    pub partitions: Vec<Partition>,
    /// What lies between partitions and file systems.
    pub stack: Stack,
    /// How data is spread over the disks; `None` where it is not.
    pub stripes: Option<Stripes>,
    /// Volumes, in the order of the request.
    pub volumes: Vec<VolumeLayout>,
    /// What to know besides the numbers: sentences.
    pub notes: Vec<String>,
}

/// A partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Partition {
    /// Index of its disk in the request; 0 for an array.
    pub disk: usize,
    /// Its number, from 1 on.
    pub number: u32,
    /// First logical block.
    pub start_sector: Derived<u64>,
    /// Logical blocks.
    pub sectors: Derived<u64>,
    /// Bytes of a logical block.
    pub sector_bytes: u64,
}

/// What lies between partitions and file systems.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stack {
    /// Nothing: each volume is a partition.
    Partitions,
    /// A volume group.
    Lvm(Group),
    /// An array with partitions.
    Md(Md),
    /// A pool of ZFS.
    Zfs(Pool),
}

/// A volume group of LVM over all disks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Group {
    /// Where data begins on each physical volume, in bytes (`pe_start`).
    pub data_alignment_bytes: Derived<u64>,
    /// Physical extent in bytes.
    pub extent_bytes: Derived<u64>,
    /// Extents of each physical volume.
    pub extents_per_disk: Derived<u64>,
    /// Segment type of `lvcreate --type`.
    pub segment: &'static str,
    /// Chunk of a snapshot in bytes, if snapshots are wanted.
    pub snapshot_chunk_bytes: Option<Derived<u64>>,
    /// Extents left free for snapshots, in the whole group; 0 if none are wanted.
    pub snapshot_extents: Derived<u64>,
}

/// An array of md over all disks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Md {
    /// Level, as `mdadm --level` takes it.
    pub level: &'static str,
    /// Where data begins on each member, in bytes.
    pub data_offset_bytes: Derived<u64>,
    /// Usable bytes, at least.
    pub size_bytes: Derived<u64>,
    /// Partitions of the array, one for each volume.
    pub partitions: Vec<Partition>,
}

/// A volume with its file system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VolumeLayout {
    /// What it holds.
    pub kind: VolumeKind,
    /// Name of the logical volume or dataset.
    pub name: String,
    /// Label of the file system, by which it is mounted.
    pub label: String,
    /// Mount point.
    pub mount: String,
    /// Size in bytes; of ZFS, the quota, or 0 for none.
    pub size_bytes: Derived<u64>,
    /// Extents of the logical volume; `None` without LVM.
    pub extents: Option<u64>,
    /// File system.
    pub filesystem: Filesystem,
    /// Mount options.
    pub mount_options: Vec<Derived<String>>,
}

/// A file system with its numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Filesystem {
    /// ext4.
    Ext4(Ext4),
    /// XFS.
    Xfs(Xfs),
    /// A dataset of ZFS.
    Zfs(Dataset),
}

impl Partition {
    /// First byte.
    pub fn start_bytes(&self) -> u64 {
        self.start_sector.value * self.sector_bytes
    }

    /// Size in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.sectors.value * self.sector_bytes
    }
}

impl Stack {
    /// Segment type of LVM for a level.
    pub(crate) fn segment(raid: Raid) -> &'static str {
        match raid {
            Raid::None => "linear",
            Raid::Striped => "striped",
            Raid::MirroredStripes => "raid10",
            Raid::Parity => "raid5",
            Raid::DoubleParity => "raid6",
        }
    }

    /// Level of md.
    pub(crate) fn level(raid: Raid) -> &'static str {
        match raid {
            Raid::None | Raid::Striped => "0",
            Raid::MirroredStripes => "10",
            Raid::Parity => "5",
            Raid::DoubleParity => "6",
        }
    }
}
