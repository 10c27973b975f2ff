//! The numbers of ZFS.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    derived::Derived,
    request::{Purpose, Raid, Request, VolumeKind},
    units::{KIB, size_text},
};

/// A pool of ZFS over all disks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Pool {
    /// The sector of the pool as a power of two.
    pub ashift: Derived<u32>,
    /// How disks are grouped: the kind of each group (empty for single disks), and its disks by index.
    pub groups: Vec<(&'static str, Vec<usize>)>,
}

/// A dataset with its properties.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Dataset {
    /// `recordsize` in bytes.
    pub record_bytes: Derived<u64>,
    /// `logbias`.
    pub log_bias: Derived<String>,
    /// `primarycache`.
    pub primary_cache: Derived<String>,
    /// `compression`.
    pub compression: Derived<String>,
    /// `atime`.
    pub access_time: Derived<String>,
    /// What `full_page_writes` may be as far as this dataset is concerned.
    pub full_page_writes: Derived<FullPageWrites>,
}

/// What `full_page_writes` may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FullPageWrites {
    /// It must stay on.
    MustBeOn,
    /// It may be off, under the conditions that the derivation names.
    MayBeOff,
}

/// The pool of a request.
pub fn pool(request: &Request) -> Pool {
    let physical = request.disks.iter().map(|disk| disk.physical_block_bytes).max().unwrap_or(512);
    let ashift = physical.max(4096).next_power_of_two().trailing_zeros();
    let because = format!(
        "2^{ashift} bytes: the physical block of the disks is {}; not below 4 KiB, as a disk that replaces one \
         may have that, and ashift cannot be changed later",
        size_text(physical)
    );
    Pool { ashift: Derived::new(ashift, because), groups: groups(request.raid, request.disks.len()) }
}

fn groups(raid: Raid, count: usize) -> Vec<(&'static str, Vec<usize>)> {
    let all: Vec<usize> = (0..count).collect();
    match raid {
        Raid::None | Raid::Striped => all.into_iter().map(|disk| ("", vec![disk])).collect(),
        Raid::MirroredStripes => all.chunks(2).map(|pair| ("mirror", pair.to_vec())).collect(),
        Raid::Parity => vec![("raidz1", all)],
        Raid::DoubleParity => vec![("raidz2", all)],
    }
}

/// The dataset of a volume.
pub fn dataset(request: &Request, kind: VolumeKind, ashift: u32) -> Dataset {
    let record_bytes = record(request, kind);
    let full_page_writes = full_page_writes(record_bytes.value, request.block_bytes, kind);
    Dataset {
        log_bias: Derived::new(
            "latency".to_owned(),
            "the default: a commit waits for the intent log. throughput writes synchronous data to its place in \
             the pool at once, which scatters it, and does not use a separate log device",
        ),
        primary_cache: Derived::new(
            "all".to_owned(),
            "the default: with metadata, every page that shared_buffers does not hold is read from the disks \
             again, and what was read ahead is not kept. Limit zfs_arc_max instead, so that the ARC and \
             shared_buffers fit",
        ),
        compression: compression(record_bytes.value, ashift),
        access_time: Derived::new(
            "off".to_owned(),
            "PostgreSQL does not use access times, and a read should not write",
        ),
        record_bytes,
        full_page_writes,
    }
}

fn record(request: &Request, kind: VolumeKind) -> Derived<u64> {
    let block = request.block_bytes;
    let block_text = size_text(block);
    match (kind, request.purpose) {
        (VolumeKind::Wal, _) => Derived::new(
            128 * KIB,
            "the default: WAL is written from one end to the other, and a large record compresses better",
        ),
        (_, Purpose::Olap) => Derived::new(
            block.max(128 * KIB),
            format!(
                "tables are read from one end to the other; a {block_text} page that is changed alone costs \
                 reading and writing the whole record"
            ),
        ),
        _ => Derived::new(
            block,
            format!(
                "the {block_text} block of PostgreSQL: a larger record is read and written completely for one page"
            ),
        ),
    }
}

fn compression(record: u64, ashift: u32) -> Derived<String> {
    let sector = 1_u64 << ashift;
    if record <= sector {
        let because = format!(
            "a record of {} takes at least one sector of {}: nothing would be saved",
            size_text(record),
            size_text(sector)
        );
        return Derived::new("off".to_owned(), because);
    }
    let because = format!(
        "cheap, and space is saved in whole sectors: a record of {} takes 1 to {} of {}",
        size_text(record),
        record / sector,
        size_text(sector)
    );
    Derived::new("lz4".to_owned(), because)
}

fn full_page_writes(record: u64, block: u64, kind: VolumeKind) -> Derived<FullPageWrites> {
    let (record_text, block_text) = (size_text(record), size_text(block));
    if kind == VolumeKind::Wal {
        return Derived::new(
            FullPageWrites::MayBeOff,
            "WAL has checksums of its own, and no pages that could be torn",
        );
    }
    if record < block || !record.is_multiple_of(block) {
        let because = format!(
            "a {block_text} page spans several records of {record_text}: they are written one by one"
        );
        return Derived::new(FullPageWrites::MustBeOn, because);
    }
    let because = format!(
        "a {block_text} page lies in one record of {record_text}, which ZFS writes elsewhere and then switches \
         over to: it is never torn. off is safe if every tablespace is on such a dataset, and every standby too; \
         pg_rewind needs it on; base backups turn it on while they run"
    );
    Derived::new(FullPageWrites::MayBeOff, because)
}

impl Dataset {
    /// Properties, as `zfs create -o` takes them.
    pub fn properties(&self) -> Vec<String> {
        vec![
            format!("recordsize={}", self.record_bytes.value),
            format!("logbias={}", self.log_bias.value),
            format!("primarycache={}", self.primary_cache.value),
            format!("compression={}", self.compression.value),
            format!("atime={}", self.access_time.value),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_within_one_record_are_not_torn() {
        use FullPageWrites::{MayBeOff, MustBeOn};
        let cases = [
            (8, 8, MayBeOff),
            (128, 8, MayBeOff),
            (32, 32, MayBeOff),
            // Article 004: records of 8 KiB below pages of 32 KiB.
            (8, 32, MustBeOn),
            (16, 32, MustBeOn),
        ];
        for (record, block, answer) in cases {
            assert_eq!(
                full_page_writes(record * KIB, block * KIB, VolumeKind::Data).value,
                answer,
                "{record}"
            );
        }
    }

    #[test]
    fn nothing_is_compressed_into_a_sector_of_the_same_size() {
        assert_eq!(compression(8 * KIB, 13).value, "off");
        assert_eq!(compression(8 * KIB, 12).value, "lz4");
    }

    #[test]
    fn disks_are_grouped_by_level() {
        assert_eq!(groups(Raid::Striped, 2), [("", vec![0]), ("", vec![1])]);
        assert_eq!(groups(Raid::MirroredStripes, 4), [("mirror", vec![0, 1]), ("mirror", vec![2, 3])]);
        assert_eq!(groups(Raid::DoubleParity, 4), [("raidz2", vec![0, 1, 2, 3])]);
    }
}
