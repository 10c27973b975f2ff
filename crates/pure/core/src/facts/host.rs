//! Facts about the machine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The machine that a process runs on, according to the kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostFacts {
    /// Operating system, for example `Debian GNU/Linux 12 (bookworm)`.
    pub os: Option<String>,
    /// Kernel release according to `uname -r`.
    pub kernel: String,
    /// Machine architecture according to `uname -m`.
    pub arch: String,
    /// CPUs.
    pub cpu: CpuFacts,
    /// Memory.
    pub memory: MemoryFacts,
    /// cgroup limits of this process.
    pub cgroup: CgroupLimits,
    /// Name of the kernel's clock source, for example `tsc`.
    pub clocksource: Option<String>,
    /// Hypervisor or container, as far as the kernel reveals it, for example `hypervisor`.
    pub virtualization: Option<String>,
    /// Soft limit of open files of this process.
    pub open_files_limit: u64,
    /// Soft limit of locked memory in bytes; `None` is unlimited.
    pub memlock_limit_bytes: Option<u64>,
}

/// CPUs according to the kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuFacts {
    /// Model name of the first CPU.
    pub model: Option<String>,
    /// Numbers of the logical CPUs that this process may use, in ascending order.
    pub allowed: Vec<u32>,
    /// Frequency scaling governor of the first CPU, if any.
    pub governor: Option<String>,
}

/// Memory according to the kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryFacts {
    /// Physical memory in bytes.
    pub total_bytes: u64,
    /// Memory available without swapping, in bytes.
    pub available_bytes: u64,
    /// Swap in bytes.
    pub swap_bytes: u64,
    /// `vm.overcommit_memory`: 0 heuristic, 1 always, 2 never.
    pub overcommit_mode: u8,
    /// `CommitLimit` in bytes; enforced only if `overcommit_mode` is 2.
    pub commit_limit_bytes: u64,
    /// `Committed_AS` in bytes.
    pub committed_bytes: u64,
    /// Explicit huge pages of the default size.
    pub huge_pages: HugePages,
    /// Transparent huge pages: the active mode, for example `madvise`.
    pub transparent_huge_pages: Option<String>,
}

/// The pool of explicit huge pages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HugePages {
    /// Pages in the pool.
    pub total: u64,
    /// Pages neither used nor reserved.
    pub free: u64,
    /// Size of a page in bytes.
    pub page_bytes: u64,
}

impl HostFacts {
    /// Memory in bytes that a process of the control group of this one may still expect: what is available, and no more
    /// than the group may have.
    pub fn usable_memory_bytes(&self) -> u64 {
        self.memory.available_bytes.min(self.cgroup.memory_bytes.unwrap_or(u64::MAX))
    }
}

/// cgroup limits; `None` if there is no limit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CgroupLimits {
    /// Memory limit in bytes (`memory.max`, or `memory.limit_in_bytes` of version 1).
    pub memory_bytes: Option<u64>,
    /// CPU time allowed per second of wall-clock time (`cpu.max` quota / period).
    pub cpus: Option<f64>,
}

/// The storage under a directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StorageFacts {
    /// The directory.
    pub path: String,
    /// Mount point.
    pub mount_point: Option<String>,
    /// File system type, for example `ext4`.
    pub filesystem: Option<String>,
    /// Mount options according to `/proc/self/mountinfo`.
    pub mount_options: Option<String>,
    /// Device, for example `/dev/vda`.
    pub device: Option<String>,
    /// Whether the kernel considers the device a rotating disk.
    pub rotational: Option<bool>,
    /// Write cache according to the kernel: `write back` or `write through`.
    pub write_cache: Option<String>,
    /// Size of the file system in bytes.
    pub size_bytes: u64,
    /// Bytes available to unprivileged processes.
    pub available_bytes: u64,
    /// For a loop device: the storage of its backing file, whose path is in `path`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backing: Option<Box<StorageFacts>>,
    /// For a loop device: whether the kernel keeps the backing file in the page cache, whatever those ask for who read
    /// the device (`/sys/block/loop*/loop/dio` is 0; `losetup --direct-io=on` makes it 1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backing_is_cached: Option<bool>,
}

impl StorageFacts {
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
        let of = |facts: &Self| (facts.mount_point.clone(), facts.filesystem.clone(), facts.device.clone());
        of(self) == of(other)
    }
}
