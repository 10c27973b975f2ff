//! Memory: `/proc/meminfo`, `/proc/swaps` and `/sys/kernel/mm`.

use std::path::Path;

use pgdyno_core::host::{HugePagePool, Memory, Swap, TransparentHugePages};

use super::{
    dir::{bracketed, names, number},
    file::{first_line, text},
    meminfo::Meminfo,
    mountinfo::{self, unescape},
};

/// Most swap areas that are read; the kernel allows fewer.
const MOST_SWAPS: usize = 64;

pub(super) fn read(root: &Path) -> Memory {
    let meminfo = Meminfo::read(root);
    let bytes = |name| meminfo.bytes(name);
    let shm = shared_memory(root);
    Memory {
        total_bytes: bytes("MemTotal").unwrap_or(0),
        // Kernels before 3.14 do not say how much is available.
        available_bytes: bytes("MemAvailable").or_else(|| bytes("MemFree")),
        dirty_bytes: bytes("Dirty"),
        page_tables_bytes: bytes("PageTables"),
        commit_limit_bytes: bytes("CommitLimit"),
        committed_bytes: bytes("Committed_AS"),
        page_bytes: rustix::param::page_size() as u64,
        huge_pages: pools(&root.join("sys/kernel/mm/hugepages")),
        default_huge_page_bytes: bytes("Hugepagesize"),
        transparent: transparent(&root.join("sys/kernel/mm/transparent_hugepage")),
        swaps: swap_areas(root, &meminfo),
        shm_bytes: shm.map(|(size, _)| size),
        shm_available_bytes: shm.map(|(_, available)| available),
    }
}

/// The swap areas; without a list of them, it is known at most that there are none.
fn swap_areas(root: &Path, meminfo: &Meminfo) -> Option<Vec<Swap>> {
    let listed = text(root, "proc/swaps").map(|text| swaps(&text));
    listed.or_else(|| (meminfo.bytes("SwapTotal") == Some(0)).then(Vec::new))
}

/// Size and available bytes of `/dev/shm`, where something is mounted there.
fn shared_memory(root: &Path) -> Option<(u64, u64)> {
    mountinfo::read(root).iter().any(|mount| mount.mount_point == Path::new("/dev/shm")).then_some(())?;
    let space = rustix::fs::statvfs(root.join("dev/shm")).ok()?;
    Some((space.f_blocks.saturating_mul(space.f_frsize), space.f_bavail.saturating_mul(space.f_frsize)))
}

fn pools(base: &Path) -> Vec<HugePagePool> {
    let pools = names(base).into_iter().filter_map(|name| {
        let kilobytes: u64 = name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()?;
        let dir = base.join(&name);
        Some(HugePagePool {
            page_bytes: kilobytes.checked_mul(1024)?,
            total: number(&dir, "nr_hugepages")?,
            free: number(&dir, "free_hugepages")?,
            reserved: number(&dir, "resv_hugepages").unwrap_or(0),
            overcommit: number(&dir, "nr_overcommit_hugepages").unwrap_or(0),
        })
    });
    let mut pools: Vec<_> = pools.collect();
    pools.sort_by_key(|pool| pool.page_bytes);
    pools
}

fn transparent(base: &Path) -> TransparentHugePages {
    let active = |name: &str| bracketed(&first_line(base, name)?).map(str::to_owned);
    TransparentHugePages {
        enabled: active("enabled"),
        defrag: active("defrag"),
        shared: active("shmem_enabled"),
    }
}

/// Parses `/proc/swaps`: a heading, then name, type, and size and use in kB.
fn swaps(text: &str) -> Vec<Swap> {
    let areas = text.lines().skip(1).filter_map(|line| {
        let mut words = line.split_whitespace();
        let name = unescape(words.next()?).to_string_lossy().into_owned();
        let kind = words.next()?.to_owned();
        let mut bytes = || words.next()?.parse::<u64>().ok()?.checked_mul(1024);
        let (size_bytes, used_bytes) = (bytes()?, bytes()?);
        let is_compressed_memory = Path::new(&name).file_name()?.to_str()?.starts_with("zram");
        Some(Swap { name, kind, size_bytes, used_bytes, is_compressed_memory })
    });
    areas.take(MOST_SWAPS).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::facts::tests::tree;

    #[test]
    fn pools_of_all_sizes_are_read() {
        let mut files = vec![("proc/meminfo", "MemTotal: 100 kB\nDirty: 3 kB\nHugepagesize: 2048 kB\n")];
        let of =
            |kilobytes: u64, name: &str| format!("sys/kernel/mm/hugepages/hugepages-{kilobytes}kB/{name}");
        let paths = [
            of(1_048_576, "nr_hugepages"),
            of(1_048_576, "free_hugepages"),
            of(2048, "nr_hugepages"),
            of(2048, "free_hugepages"),
            of(2048, "resv_hugepages"),
            of(2048, "nr_overcommit_hugepages"),
            of(64, "free_hugepages"),
        ];
        files.extend(paths.iter().map(String::as_str).zip(["1", "0", "10", "4", "2", "7", "1"]));
        let memory = read(tree(&files).path());
        let pool = |page_bytes, total, free, reserved, overcommit| HugePagePool {
            page_bytes,
            total,
            free,
            reserved,
            overcommit,
        };
        assert_eq!(memory.huge_pages, [pool(2 << 20, 10, 4, 2, 7), pool(1 << 30, 1, 0, 0, 0)]);
        assert_eq!((memory.total_bytes, memory.dirty_bytes), (100 << 10, Some(3 << 10)));
        assert_eq!((memory.available_bytes, memory.default_huge_page_bytes), (None, Some(2 << 20)));
    }

    #[test]
    fn the_active_mode_is_in_brackets() {
        let base = "sys/kernel/mm/transparent_hugepage";
        let [enabled, defrag] = ["enabled", "defrag"].map(|name| format!("{base}/{name}"));
        let root = tree(&[
            (&enabled, "always [madvise] never\n"),
            (&defrag, "always defer defer+madvise [madvise] never\n"),
        ]);
        let transparent = read(root.path()).transparent;
        assert_eq!(transparent.enabled.as_deref(), Some("madvise"));
        assert_eq!((transparent.defrag.as_deref(), transparent.shared), (Some("madvise"), None));
    }

    #[test]
    fn swap_areas_are_read() {
        let text = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n/dev/zram0  partition\t100\t1\t100\n\
                    /swap\\040file  file  2048  0  -2\nnonsense\n";
        let swaps = swaps(text);
        assert_eq!(swaps.len(), 2);
        assert!(swaps[0].is_compressed_memory && swaps[0].used_bytes == 1024);
        assert_eq!((swaps[1].name.as_str(), swaps[1].size_bytes), ("/swap file", 2 << 20));
        assert!(!swaps[1].is_compressed_memory);
    }

    #[test]
    fn no_swap_is_not_unknown_swap() {
        let areas = |files: &[(&str, &str)]| read(tree(files).path()).swaps.map(|areas| areas.len());
        assert_eq!(areas(&[("proc/swaps", "Filename Type Size Used Priority\n")]), Some(0));
        assert_eq!(areas(&[("proc/meminfo", "SwapTotal: 0 kB\n")]), Some(0), "a kernel without swap");
        assert_eq!(areas(&[("proc/meminfo", "SwapTotal: 8 kB\n")]), None, "which ones are unknown");
        assert_eq!(areas(&[]), None);
    }

    #[test]
    fn shared_memory_has_a_size_where_it_is_mounted() {
        let mounted = ("proc/self/mountinfo", "25 24 0:22 / /dev/shm rw,nosuid - tmpfs tmpfs rw\n");
        let file = ("dev/shm/x", "");
        assert!(read(tree(&[mounted, file]).path()).shm_bytes.is_some_and(|bytes| bytes > 0));
        assert_eq!(read(tree(&[file]).path()).shm_bytes, None, "it belongs to another file system");
        assert_eq!(read(tree(&[mounted]).path()).shm_bytes, None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(?s).{0,200}") {
            let _ = (swaps(&text), swaps(&format!("\n{text}")), bracketed(&text));
        }
    }
}
