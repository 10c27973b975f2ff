//! Memory facts: `/proc/meminfo` and the kernel's memory settings.

use std::{io, path::Path};

use pgdyno_core::facts::{HugePages, MemoryFacts};

use super::file::{first_line, text};

/// Reads the memory facts.
///
/// # Errors
/// If `/proc/meminfo` has no total.
pub(super) fn read(root: &Path) -> io::Result<MemoryFacts> {
    let meminfo = text(root, "proc/meminfo").unwrap_or_default();
    let total_bytes = bytes(&meminfo, "MemTotal")
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "/proc/meminfo has no MemTotal"))?;
    let overcommit = first_line(root, "proc/sys/vm/overcommit_memory");
    let thp = first_line(root, "sys/kernel/mm/transparent_hugepage/enabled");
    Ok(MemoryFacts {
        total_bytes,
        available_bytes: bytes(&meminfo, "MemAvailable").or(bytes(&meminfo, "MemFree")).unwrap_or(0),
        swap_bytes: bytes(&meminfo, "SwapTotal").unwrap_or(0),
        overcommit_mode: overcommit.and_then(|line| line.parse().ok()).unwrap_or(0),
        commit_limit_bytes: bytes(&meminfo, "CommitLimit").unwrap_or(total_bytes),
        committed_bytes: bytes(&meminfo, "Committed_AS").unwrap_or(0),
        huge_pages: huge_pages(&meminfo),
        transparent_huge_pages: thp.as_deref().and_then(bracketed).map(str::to_owned),
    })
}

fn huge_pages(meminfo: &str) -> HugePages {
    let count = |name| number(meminfo, name).unwrap_or(0);
    HugePages {
        total: count("HugePages_Total"),
        // Reserved pages belong to other mappings already.
        free: count("HugePages_Free").saturating_sub(count("HugePages_Rsvd")),
        page_bytes: bytes(meminfo, "Hugepagesize").unwrap_or(0),
    }
}

/// Parses the number on the line `name:`.
pub(crate) fn number(meminfo: &str, name: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Parses the amount on the line `name:`, which the kernel writes in kB, into bytes.
pub(crate) fn bytes(meminfo: &str, name: &str) -> Option<u64> {
    number(meminfo, name)?.checked_mul(1024)
}

/// The selected word of a line such as `always [madvise] never`.
pub(crate) fn bracketed(line: &str) -> Option<&str> {
    line.split_once('[')?.1.split_once(']').map(|(word, _)| word)
}

#[cfg(test)]
mod tests {
    use super::{super::tests::tree, *};

    const MEMINFO: &str = "\
MemTotal:       24684084 kB
MemFree:        21635032 kB
MemAvailable:   23974256 kB
SwapTotal:             0 kB
CommitLimit:    12342040 kB
Committed_AS:     131232 kB
HugePages_Total:     100
HugePages_Free:       90
HugePages_Rsvd:       15
Hugepagesize:       2048 kB
";

    #[test]
    fn memory_is_read() {
        let root = tree(&[
            ("proc/meminfo", MEMINFO),
            ("proc/sys/vm/overcommit_memory", "2\n"),
            ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
        ]);
        let facts = read(root.path()).expect("it has a total");
        assert_eq!(facts.total_bytes, 24_684_084 * 1024);
        assert_eq!(facts.available_bytes, 23_974_256 * 1024);
        assert_eq!(facts.overcommit_mode, 2);
        assert_eq!(facts.huge_pages, HugePages { total: 100, free: 75, page_bytes: 2 << 20 });
        assert_eq!(facts.transparent_huge_pages.as_deref(), Some("madvise"));
    }

    #[test]
    fn weird_files_are_errors_or_absent() {
        for meminfo in
            ["", "MemTotal", "MemTotal: lots", "MemTotal: 99999999999999999999 kB", "XMemTotal: 5 kB"]
        {
            assert!(read(tree(&[("proc/meminfo", meminfo)]).path()).is_err(), "{meminfo:?}");
        }
        assert_eq!(bracketed("always madvise"), None);
        assert_eq!(bracketed("[always"), None);
    }
}
