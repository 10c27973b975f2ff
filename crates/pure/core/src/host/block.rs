//! Block devices.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A block device according to `/sys/block`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct BlockDevice {
    /// Name in `/sys/block`, such as `sda`, `nvme0n1p1` or `dm-0`.
    pub name: String,
    /// Another name that people use: that of a logical volume (`vg-lv`) or an array.
    pub alias: Option<String>,
    /// What it is.
    pub kind: DeviceKind,
    /// Model, as the device says it.
    pub model: Option<String>,
    /// Serial number or WWID; `None` without the right to read it.
    pub serial: Option<String>,
    /// Size in bytes.
    pub size_bytes: u64,
    /// The devices that it consists of: the disk of a partition, the members of an array or a volume.
    pub parents: Vec<String>,
    /// Whether the kernel takes it for a rotating disk.
    pub rotational: Option<bool>,
    /// The active I/O scheduler.
    pub scheduler: Option<String>,
    /// The schedulers that may be chosen.
    pub schedulers: Vec<String>,
    /// Read-ahead in bytes.
    pub read_ahead_bytes: Option<u64>,
    /// Requests that its queue holds (`nr_requests`).
    pub queue_depth: Option<u64>,
    /// Hardware queues, each with its processors as the kernel lists them.
    pub queues: Vec<String>,
    /// `rq_affinity`: where completions are processed.
    pub completion_affinity: Option<u8>,
    /// Write cache: `write back` or `write through`.
    pub write_cache: Option<String>,
    /// Whether it can write one request through its cache (FUA).
    pub force_unit_access: Option<bool>,
    /// Logical block in bytes: the smallest unit that can be addressed.
    pub logical_block_bytes: Option<u64>,
    /// Physical block in bytes: the smallest unit that is written without reading before.
    pub physical_block_bytes: Option<u64>,
    /// Preferred smallest request in bytes: the chunk of a striped array.
    pub minimum_io_bytes: Option<u64>,
    /// Preferred request in bytes: the full stripe of an array; `None` if it has none.
    pub optimal_io_bytes: Option<u64>,
    /// Bytes by which its beginning is off the alignment of the device below.
    pub alignment_offset_bytes: Option<i64>,
    /// Of a partition: its first byte on the disk.
    pub start_bytes: Option<u64>,
    /// Largest write in bytes that is never torn (`atomic_write_unit_max_bytes`, since Linux 6.11); `None` if unknown.
    pub atomic_write_bytes: Option<u64>,
    /// Whether blocks may be discarded.
    pub discard: Option<bool>,
    /// Of a striped volume or array: how it is striped.
    pub stripe: Option<Stripe>,
    /// Of a loop device: its backing file.
    pub backing_file: Option<String>,
    /// Of a loop device: whether the kernel keeps that file in the page cache (`loop/dio` is 0).
    pub backing_is_cached: Option<bool>,
}

/// What a block device is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    /// A SATA, SAS or SCSI disk, or one that a hypervisor shows as such.
    #[default]
    Disk,
    /// An NVMe disk.
    Nvme,
    /// A paravirtual disk (`vd*`, `xvd*`).
    Virtual,
    /// A partition.
    Partition,
    /// An md array.
    Md,
    /// A logical volume of LVM.
    Lvm,
    /// An encrypted device (dm-crypt).
    Crypt,
    /// A path of several to one disk (dm-multipath).
    Multipath,
    /// Another device-mapper target.
    Mapper,
    /// A file as a device.
    Loop,
    /// Memory as a device (`brd`, `zram`, `pmem`).
    Memory,
    /// Something else.
    Other,
}

/// How an array or a volume is striped.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Stripe {
    /// RAID level, as md names it (`raid0`, `raid5`, `raid10`); `striped` for LVM.
    pub level: String,
    /// Members.
    pub members: u32,
    /// Bytes on one member before the next one follows.
    pub chunk_bytes: u64,
}
