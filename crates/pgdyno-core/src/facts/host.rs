//! Facts about the machine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The machine a process runs on, as the kernel tells it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostFacts {
    /// Operating system, for example `Debian GNU/Linux 12 (bookworm)`.
    pub os: Option<String>,
    /// Kernel release as of `uname -r`.
    pub kernel: String,
    /// Machine architecture as of `uname -m`.
    pub arch: String,
    /// Processors.
    pub cpu: CpuFacts,
    /// Memory.
    pub memory: MemoryFacts,
    /// Limits that a control group puts on this process.
    pub cgroup: CgroupLimits,
    /// Name of the kernel's clock source, for example `tsc`.
    pub clocksource: Option<String>,
    /// Hypervisor or container, as far as the kernel shows it, for example `hypervisor`.
    pub virtualization: Option<String>,
    /// Soft limit of open files of this process.
    pub open_files_limit: u64,
    /// Soft limit of locked memory in bytes; `None` is unlimited.
    pub memlock_limit_bytes: Option<u64>,
}

/// Processors as the kernel shows them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuFacts {
    /// Model name of the first processor.
    pub model: Option<String>,
    /// Numbers of the logical processors that this process may run on, ascending.
    pub allowed: Vec<u32>,
    /// Scaling governor of the first processor, where there is one.
    pub governor: Option<String>,
}

/// Memory as the kernel shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryFacts {
    /// Physical memory in bytes.
    pub total_bytes: u64,
    /// Memory that can be had without swapping, in bytes.
    pub available_bytes: u64,
    /// Swap in bytes.
    pub swap_bytes: u64,
    /// `vm.overcommit_memory`: 0 heuristic, 1 always, 2 never.
    pub overcommit_mode: u8,
    /// `CommitLimit` in bytes; binding only where `overcommit_mode` is 2.
    pub commit_limit_bytes: u64,
    /// `Committed_AS` in bytes.
    pub committed_bytes: u64,
    /// Explicit huge pages of the default size.
    pub huge_pages: HugePages,
    /// Transparent huge pages: the mode in brackets, for example `madvise`.
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

/// Limits of the control group, `None` where there is none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CgroupLimits {
    /// Memory limit in bytes (`memory.max`, or `memory.limit_in_bytes` of version 1).
    pub memory_bytes: Option<u64>,
    /// Processor time that may be used per second of wall time (`cpu.max` quota / period).
    pub cpus: Option<f64>,
}

/// The storage under one directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StorageFacts {
    /// The directory asked about.
    pub path: String,
    /// Mount point.
    pub mount_point: Option<String>,
    /// File system type, for example `ext4`.
    pub filesystem: Option<String>,
    /// Mount options as of `/proc/self/mountinfo`.
    pub mount_options: Option<String>,
    /// Device, for example `/dev/vda`.
    pub device: Option<String>,
    /// Whether the kernel takes the device for a rotating disk.
    pub rotational: Option<bool>,
    /// Write cache as the kernel sees it: `write back` or `write through`.
    pub write_cache: Option<String>,
    /// Size of the file system in bytes.
    pub size_bytes: u64,
    /// Bytes an unprivileged process may still write.
    pub available_bytes: u64,
    /// Of a loop device: the storage of the file that it stands for; its `path` is that of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backing: Option<Box<StorageFacts>>,
}

impl StorageFacts {
    /// Whether it is memory, which a restart of the machine empties: `tmpfs`, `ramfs`, a RAM disk (`brd`, `zram`), or a
    /// loop device on a file there.
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

    /// Whether two directories are on one file system.
    pub fn is_of_file_system(&self, other: &Self) -> bool {
        let of = |facts: &Self| (facts.mount_point.clone(), facts.filesystem.clone(), facts.device.clone());
        of(self) == of(other)
    }
}
