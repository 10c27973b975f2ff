//! Memory (`/proc/meminfo`).

use std::fs;

use pgdyno_core::observe::MemorySample;

/// `None` without `/proc`, and on kernels before 3.14, which do not say how much is available.
pub(super) fn read() -> Option<MemorySample> {
    parse(&fs::read_to_string("/proc/meminfo").ok()?)
}

fn parse(text: &str) -> Option<MemorySample> {
    let bytes = |name: &str| {
        let rest = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        rest.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1_024)
    };
    Some(MemorySample {
        available_bytes: bytes("MemAvailable")?,
        cached_bytes: bytes("Cached")?,
        dirty_bytes: bytes("Dirty")?,
        writeback_bytes: bytes("Writeback")?,
        swap_used_bytes: bytes("SwapTotal")?.saturating_sub(bytes("SwapFree")?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kilobytes_become_bytes() {
        let text = "MemTotal: 100 kB\nMemFree: 1 kB\nMemAvailable:   50 kB\nCached: 20 kB\nSwapCached: 9 kB\n\
                    SwapTotal: 8 kB\nSwapFree: 5 kB\nDirty: 2 kB\nWriteback: 1 kB\nWritebackTmp: 7 kB\n";
        let memory = parse(text).expect("all is there");
        assert_eq!((memory.available_bytes, memory.cached_bytes), (50 << 10, 20 << 10));
        assert_eq!(
            (memory.dirty_bytes, memory.writeback_bytes, memory.swap_used_bytes),
            (2 << 10, 1 << 10, 3 << 10)
        );
        assert_eq!(parse("MemTotal: 100 kB\n"), None);
    }
}
