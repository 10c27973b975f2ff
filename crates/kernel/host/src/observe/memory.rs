//! Memory (`/proc/meminfo`).

use std::path::Path;

use pgdyno_core::observe::MemorySample;

use crate::facts::Meminfo;

/// `None` without `/proc`, and on kernels before 3.14, which do not say how much is available.
pub(super) fn read() -> Option<MemorySample> {
    of(&Meminfo::read(Path::new("/")))
}

fn of(meminfo: &Meminfo) -> Option<MemorySample> {
    let bytes = |name| meminfo.bytes(name);
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
        let memory = of(&Meminfo::of(text.to_owned())).expect("all is there");
        assert_eq!((memory.available_bytes, memory.cached_bytes), (50 << 10, 20 << 10));
        assert_eq!(
            (memory.dirty_bytes, memory.writeback_bytes, memory.swap_used_bytes),
            (2 << 10, 1 << 10, 3 << 10)
        );
        assert_eq!(of(&Meminfo::of("MemTotal: 100 kB\n".to_owned())), None);
    }
}
