//! Memory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Memory according to `/proc/meminfo`, `/proc/swaps` and `/sys/kernel/mm`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Memory {
    /// Physical memory in bytes.
    pub total_bytes: u64,
    /// Memory that is available without swapping, in bytes.
    pub available_bytes: Option<u64>,
    /// Pages that wait to be written, in bytes.
    pub dirty_bytes: Option<u64>,
    /// Memory of page tables, in bytes.
    pub page_tables_bytes: Option<u64>,
    /// `CommitLimit` in bytes: enforced only where `vm.overcommit_memory` is 2.
    pub commit_limit_bytes: Option<u64>,
    /// `Committed_AS` in bytes.
    pub committed_bytes: Option<u64>,
    /// Size of a page in bytes.
    pub page_bytes: u64,
    /// Pools of explicit huge pages, by size.
    pub huge_pages: Vec<HugePagePool>,
    /// Size of the default huge page in bytes.
    pub default_huge_page_bytes: Option<u64>,
    /// Transparent huge pages.
    pub transparent: TransparentHugePages,
    /// Swap areas; empty if there are none, `None` if that is unknown.
    pub swaps: Option<Vec<Swap>>,
    /// Size of `/dev/shm` in bytes, which bounds the shared memory of parallel queries; `None` if it is unknown or no
    /// file system of its own.
    pub shm_bytes: Option<u64>,
    /// Bytes of `/dev/shm` that are available.
    pub shm_available_bytes: Option<u64>,
}

impl Memory {
    /// Bytes of all swap areas together; `None` if it is unknown whether there are any.
    pub fn swap_bytes(&self) -> Option<u64> {
        let sizes = self.swaps.as_ref()?.iter().map(|swap| swap.size_bytes);
        Some(sizes.fold(0, u64::saturating_add))
    }
}

/// A pool of explicit huge pages.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HugePagePool {
    /// Size of a page in bytes.
    pub page_bytes: u64,
    /// Pages in the pool.
    pub total: u64,
    /// Pages that nobody uses; some may be reserved.
    pub free: u64,
    /// Pages that are reserved, and not yet used.
    pub reserved: u64,
    /// Pages that may be added on demand.
    pub overcommit: u64,
}

impl HugePagePool {
    /// Free pages that are not promised to a mapping.
    pub fn unreserved(&self) -> u64 {
        self.free.saturating_sub(self.reserved)
    }
}

/// Transparent huge pages: the active mode of each file, such as `madvise`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TransparentHugePages {
    /// `enabled`.
    pub enabled: Option<String>,
    /// `defrag`.
    pub defrag: Option<String>,
    /// `shmem_enabled`, for shared memory.
    pub shared: Option<String>,
}

/// A swap area.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Swap {
    /// Device or file.
    pub name: String,
    /// `partition` or `file`.
    pub kind: String,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Used bytes.
    pub used_bytes: u64,
    /// Whether it is compressed memory (zram).
    pub is_compressed_memory: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_swap_differs_from_unknown_swap() {
        let area = |size_bytes| Swap { size_bytes, ..Swap::default() };
        for (swaps, expected) in [
            (None, None),
            (Some(vec![]), Some(0)),
            (Some(vec![area(5), area(7)]), Some(12)),
            (Some(vec![area(u64::MAX), area(7)]), Some(u64::MAX)),
        ] {
            assert_eq!(Memory { swaps, ..Memory::default() }.swap_bytes(), expected);
        }
    }
}
