//! Hosts and storage for tests of the crates above.

use super::{HugePagePool, Inventory, Process, Storage};

/// A host with this much memory and so many processors, without any obstacle.
pub fn host(memory_bytes: u64, cpus: u32) -> Inventory {
    let mut host = Inventory { arch: "x86_64".to_owned(), ..Inventory::default() };
    host.process = Some(Process {
        allowed_cpus: (0..cpus).collect(),
        open_files: Some(1_024),
        locked_memory_bytes: Some(8 << 20),
    });
    host.cpu.logical = cpus;
    host.memory.total_bytes = memory_bytes;
    host.memory.available_bytes = Some(memory_bytes);
    host.memory.commit_limit_bytes = Some(memory_bytes / 2);
    host.memory.committed_bytes = Some(0);
    host.memory.swaps = Some(Vec::new());
    host.memory.default_huge_page_bytes = Some(2 << 20);
    host.kernel.release = "6.1.0-32-amd64".to_owned();
    host.kernel.clocks.current = Some("tsc".to_owned());
    with_huge_pages(host, 0, 0)
}

/// The same host with so many huge pages of 2 MiB.
pub fn with_huge_pages(mut host: Inventory, total: u64, free: u64) -> Inventory {
    let pool = HugePagePool { page_bytes: 2 << 20, total, free, ..HugePagePool::default() };
    host.memory.huge_pages = vec![pool];
    host
}

/// Storage with this much free space.
pub fn storage(available_bytes: u64, rotational: Option<bool>) -> Storage {
    Storage {
        path: "/data".to_owned(),
        rotational,
        size_bytes: available_bytes,
        available_bytes,
        ..Storage::default()
    }
}
