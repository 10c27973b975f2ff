//! I/O counters of a block device.

use std::{fs, path::Path};

/// Sector size in `/proc/diskstats`, in bytes; independent of the device's own sector size.
const SECTOR_BYTES: u64 = 512;

/// Bytes read and written since boot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeviceCounters {
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
}

impl DeviceCounters {
    /// Reads the counters of a device such as `/dev/vda1`; `None` if the kernel keeps none (network or memory file
    /// systems).
    pub fn read(device: &str) -> Option<Self> {
        let name = fs::canonicalize(device).ok()?;
        Self::parse(&fs::read_to_string("/proc/diskstats").ok()?, Path::new(&name).file_name()?.to_str()?)
    }

    /// Bytes that a process has fetched from devices, and caused to be written to them; `None` if it does not exist, or
    /// may not be read because it is another user's.
    pub fn of_process(pid: u32) -> Option<Self> {
        Self::parse_io(&fs::read_to_string(format!("/proc/{pid}/io")).ok()?)
    }

    fn parse_io(text: &str) -> Option<Self> {
        let bytes = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.parse().ok());
        Some(Self { read_bytes: bytes("read_bytes: ")?, written_bytes: bytes("write_bytes: ")? })
    }

    fn parse(diskstats: &str, name: &str) -> Option<Self> {
        let fields = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let line =
            diskstats.lines().map(fields).find(|fields| fields.get(2).is_some_and(|known| known == name))?;
        let sectors = |index: usize| line.get(index)?.parse::<u64>().ok();
        Some(Self { read_bytes: sectors(5)? * SECTOR_BYTES, written_bytes: sectors(9)? * SECTOR_BYTES })
    }

    /// Bytes read and written since the earlier reading.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            read_bytes: self.read_bytes.saturating_sub(earlier.read_bytes),
            written_bytes: self.written_bytes.saturating_sub(earlier.written_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sectors_are_of_512_bytes() {
        let text = " 254 0 vda 10 0 100 5 20 0 200 9 0 1 2\n 254 1 vda1 1 0 8 5 2 0 16 9 0 1 2\n";
        let counters = DeviceCounters::parse(text, "vda1").expect("it is listed");
        assert_eq!(counters, DeviceCounters { read_bytes: 8 * 512, written_bytes: 16 * 512 });
        assert_eq!(DeviceCounters::parse(text, "sda"), None);
    }

    /// `rchar` and `wchar` count what the page cache served, too.
    #[test]
    fn bytes_of_a_process_are_those_of_devices() {
        let text = "rchar: 9\nwchar: 8\nsyscr: 7\nsyscw: 6\nread_bytes: 4096\nwrite_bytes: 8192\n\
                    cancelled_write_bytes: 1\n";
        let counters = DeviceCounters { read_bytes: 4_096, written_bytes: 8_192 };
        assert_eq!(DeviceCounters::parse_io(text), Some(counters));
    }
}
