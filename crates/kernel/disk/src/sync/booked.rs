//! What the disks of the machine booked, and how much of memory is dirty.

use std::{fs, path::Path};

use pgdyno_core::disk::sync::BookedWork;
use pgdyno_host::facts::Meminfo;

/// Size of a sector in `/sys/block/*/stat`, in bytes; independent of the device's own (Documentation/block/stat.rst).
const SECTOR_BYTES: u64 = 512;
/// Devices that pass everything on, or that lie in memory: what they book reaches a disk or none.
const NO_DISKS: [&str; 5] = ["loop", "dm-", "md", "ram", "zram"];

/// Counters of all disks together since they appeared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counters {
    writes: u64,
    written_bytes: u64,
    /// Of disks with a cache that is flushed; `None` if there is none.
    flushes: Option<u64>,
}

impl Counters {
    /// Reads the counters. `None` if the kernel shows no disk, or does not count on one of them: then nothing can be
    /// concluded from work that is missing.
    pub(super) fn read(root: &Path) -> Option<Self> {
        let entries = fs::read_dir(root.join("sys/block")).ok()?;
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let disks: Option<Vec<Self>> = names
            .filter(|name| is_disk(name))
            .map(|name| Self::of(&root.join("sys/block").join(name)))
            .collect();
        disks?.into_iter().reduce(Self::plus)
    }

    fn of(disk: &Path) -> Option<Self> {
        let queue = |name: &str| fs::read_to_string(disk.join("queue").join(name)).ok();
        if queue("iostats").is_some_and(|line| line.trim() == "0") {
            return None;
        }
        let text = fs::read_to_string(disk.join("stat")).ok()?;
        let counters: Vec<u64> = text.split_whitespace().map_while(|word| word.parse().ok()).collect();
        let flushed = queue("write_cache").is_some_and(|line| line.trim() == "write back");
        Some(Self {
            writes: *counters.get(4)?,
            written_bytes: counters.get(6)?.saturating_mul(SECTOR_BYTES),
            flushes: counters.get(15).copied().filter(|_| flushed),
        })
    }

    fn plus(self, other: Self) -> Self {
        Self {
            writes: self.writes + other.writes,
            written_bytes: self.written_bytes + other.written_bytes,
            flushes: [self.flushes, other.flushes].into_iter().flatten().reduce(|a, b| a + b),
        }
    }

    /// What was booked since an earlier reading, while operations were executed; `None` if counters began again.
    pub(super) fn since(&self, earlier: &Self, operations: u64, written_bytes: u64) -> Option<BookedWork> {
        let flushes = self.flushes.zip(earlier.flushes).map(|(now, then)| now.checked_sub(then));
        Some(BookedWork {
            operations,
            written_bytes,
            disk_writes: self.writes.checked_sub(earlier.writes)?,
            disk_written_bytes: self.written_bytes.checked_sub(earlier.written_bytes)?,
            disk_flushes: match flushes {
                Some(flushes) => Some(flushes?),
                None => None,
            },
        })
    }
}

fn is_disk(name: &str) -> bool {
    // `md` is also the beginning of no name of a disk, `ram` and `loop` are followed by a number.
    !NO_DISKS.into_iter().any(|prefix| name.starts_with(prefix))
}

/// Adds what was booked in another time.
pub(super) fn sum(one: Option<BookedWork>, other: BookedWork) -> BookedWork {
    let Some(one) = one else { return other };
    BookedWork {
        operations: one.operations + other.operations,
        written_bytes: one.written_bytes + other.written_bytes,
        disk_writes: one.disk_writes + other.disk_writes,
        disk_written_bytes: one.disk_written_bytes + other.disk_written_bytes,
        disk_flushes: one.disk_flushes.zip(other.disk_flushes).map(|(one, other)| one + other),
    }
}

/// Memory that is dirty or being written back, in bytes (`proc_meminfo(5)`).
pub(super) fn dirty_bytes(root: &Path) -> Option<u64> {
    let meminfo = Meminfo::read(root);
    Some(meminfo.bytes("Dirty")? + meminfo.bytes("Writeback")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, name: &str, text: &str) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().expect("it has one")).expect("it can be made");
        fs::write(path, text).expect("it can be written");
    }

    fn disk(root: &Path, name: &str, writes: u64, flushes: u64, cache: &str) {
        let stat = format!("9 9 9 9 {writes} 9 {} 9 9 9 9 9 9 9 9 {flushes} 9\n", writes * 16);
        write(root, &format!("sys/block/{name}/stat"), &stat);
        write(root, &format!("sys/block/{name}/queue/write_cache"), cache);
        write(root, &format!("sys/block/{name}/queue/iostats"), "1\n");
    }

    #[test]
    fn disks_are_added_and_what_lies_on_them_is_not() {
        let root = tempfile::tempdir().expect("a directory");
        disk(root.path(), "sda", 100, 40, "write back\n");
        disk(root.path(), "nvme0n1", 10, 5, "write through\n");
        disk(root.path(), "dm-0", 1_000, 0, "write back\n");
        disk(root.path(), "loop3", 1_000, 1_000, "write back\n");
        let then = Counters::read(root.path()).expect("there are disks");
        disk(root.path(), "sda", 150, 90, "write back\n");
        disk(root.path(), "nvme0n1", 11, 6, "write through\n");
        disk(root.path(), "dm-0", 1_050, 0, "write back\n");
        disk(root.path(), "loop3", 1_050, 1_050, "write back\n");
        let now = Counters::read(root.path()).expect("there are disks");
        let booked = now.since(&then, 50, 409_600).expect("they grew");
        let expected = BookedWork {
            operations: 50,
            written_bytes: 409_600,
            disk_writes: 51,
            disk_written_bytes: 51 * 8_192,
            disk_flushes: Some(50),
        };
        assert_eq!(booked, expected);
        assert_eq!(then.since(&now, 50, 409_600), None, "counters do not run backwards");
        let twice = sum(Some(booked.clone()), booked);
        assert_eq!((twice.operations, twice.disk_flushes), (100, Some(100)));
    }

    #[test]
    fn a_disk_that_does_not_count_makes_all_unknown() {
        let root = tempfile::tempdir().expect("a directory");
        assert_eq!(Counters::read(root.path()), None);
        disk(root.path(), "sda", 100, 40, "write through\n");
        assert_eq!(Counters::read(root.path()).map(|counters| counters.flushes), Some(None));
        write(root.path(), "sys/block/sda/queue/iostats", "0\n");
        assert_eq!(Counters::read(root.path()), None);
    }

    #[test]
    fn dirty_memory_is_what_is_not_on_a_disk() {
        let root = tempfile::tempdir().expect("a directory");
        assert_eq!(dirty_bytes(root.path()), None);
        write(root.path(), "proc/meminfo", "MemTotal: 9 kB\nDirty:    100 kB\nWriteback:  28 kB\n");
        assert_eq!(dirty_bytes(root.path()), Some(128 << 10));
    }
}
