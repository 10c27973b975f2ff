//! `/proc/meminfo` (`proc_meminfo(5)`).

use std::path::Path;

use super::file::text;

/// The text of a file of the form of `/proc/meminfo`.
#[derive(Debug, Clone, Default)]
pub struct Meminfo(String);

impl Meminfo {
    /// Reads `proc/meminfo` under `root`; without it nothing is known.
    pub fn read(root: &Path) -> Self {
        Self(text(root, "proc/meminfo").unwrap_or_default())
    }

    /// The same of a text.
    pub(crate) fn of(text: String) -> Self {
        Self(text)
    }

    /// The amount on the line `name:`, which the kernel writes in kB, in bytes.
    pub fn bytes(&self, name: &str) -> Option<u64> {
        let line = self.0.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1_024)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kilobytes_become_bytes() {
        let meminfo = Meminfo::of("MemTotal:       24684084 kB\nSwapTotal: 0 kB\nDirty: 3 kB\n".to_owned());
        let bytes = |name| meminfo.bytes(name);
        assert_eq!((bytes("MemTotal"), bytes("Dirty")), (Some(24_684_084 << 10), Some(3 << 10)));
        assert_eq!((bytes("SwapTotal"), bytes("Mem"), bytes("MemFree")), (Some(0), None, None));
    }

    #[test]
    fn weird_lines_are_absent() {
        for text in ["", "MemTotal", "MemTotal: lots", "MemTotal: 99999999999999999999 kB", "XMemTotal: 5 kB"]
        {
            assert_eq!(Meminfo::of(text.to_owned()).bytes("MemTotal"), None, "{text:?}");
        }
    }
}
