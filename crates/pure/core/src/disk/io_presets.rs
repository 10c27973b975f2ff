//! Patterns with a name: what PostgreSQL does to storage, and what published articles measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::io::{IoCache, IoFiles, IoMethod, IoOrder, IoPattern};

const KIB: u32 = 1 << 10;
const GIB: u64 = 1 << 30;
/// PostgreSQL's default block size, and that of WAL.
const PAGE_BYTES: u32 = 8 * KIB;
/// `io_combine_limit` of PostgreSQL 17 and later, by default.
const COMBINED_BYTES: u32 = 128 * KIB;
/// `checkpoint_flush_after`, by default.
const CHECKPOINT_FLUSH_AFTER_BYTES: u32 = 256 * KIB;
/// Sessions of a bulk load. `backend_flush_after` is 0 by default: the kernel decides when to write back.
const BULK_JOBS: u16 = 4;
/// `effective_io_concurrency` of PostgreSQL 18, by default.
const PG18_DEPTH: u16 = 16;

/// Reads and writes as PostgreSQL has them, by name: one or several patterns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IoPreset {
    /// As fio in the article on local SSD and cloud disks: 8 KiB, 32 jobs with 8 operations in flight each, direct, 16
    /// GiB, 60 s; random and sequential, reads and writes. Jobs are bound to the CPUs of the device's queues.
    Articles,
    /// WAL: sequential writes of 8 and of 16 KiB, each made durable.
    Wal,
    /// The checkpointer: scattered pages through the page cache, written back every 256 KiB and durable at the end.
    Checkpoint,
    /// A sequential scan: page by page up to 16, and 128 KiB at a time from 17 on. The kernel reads ahead.
    Seqscan,
    /// CREATE INDEX: the table is read, and sorted runs and the index are written.
    IndexBuild,
    /// COPY by four sessions: pages one after the other, through the page cache, durable at the end.
    BulkLoad,
    /// Asynchronous reads of PostgreSQL 18 with `io_method = io_uring`: single pages, and combined ones.
    Pg18Aio,
}

impl IoPreset {
    /// All presets.
    pub const ALL: [Self; 7] = [
        Self::Articles,
        Self::Wal,
        Self::Checkpoint,
        Self::Seqscan,
        Self::IndexBuild,
        Self::BulkLoad,
        Self::Pg18Aio,
    ];

    /// Its name in plans and flags.
    pub fn name(self) -> &'static str {
        match self {
            Self::Articles => "articles",
            Self::Wal => "wal",
            Self::Checkpoint => "checkpoint",
            Self::Seqscan => "seqscan",
            Self::IndexBuild => "index-build",
            Self::BulkLoad => "bulk-load",
            Self::Pg18Aio => "pg18-aio",
        }
    }

    /// The preset with a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.name() == name)
    }

    /// Length of the measured interval of each pattern, in seconds, unless another is requested.
    pub fn duration_s(self) -> u64 {
        if self == Self::Articles { 60 } else { 30 }
    }

    /// Its patterns. `cpus` are those of the device's queues; only [`IoPreset::Articles`] binds its jobs.
    pub fn patterns(self, cpus: &[u32]) -> Vec<IoPattern> {
        match self {
            Self::Articles => articles(cpus),
            Self::Wal => [PAGE_BYTES, 2 * PAGE_BYTES].map(wal).to_vec(),
            Self::Checkpoint => vec![checkpoint()],
            Self::Seqscan => [PAGE_BYTES, COMBINED_BYTES].map(seqscan).to_vec(),
            Self::IndexBuild => vec![buffered("index build", IoOrder::Sequential, 0.5, 8 * GIB)],
            Self::BulkLoad => vec![bulk_load()],
            Self::Pg18Aio => [PAGE_BYTES, COMBINED_BYTES].map(pg18_aio).to_vec(),
        }
    }
}

fn articles(cpus: &[u32]) -> Vec<IoPattern> {
    let one = |name: &str, order, read_share| IoPattern {
        name: name.into(),
        order,
        read_share,
        block_bytes: PAGE_BYTES,
        depth: 8,
        jobs: 32,
        files: IoFiles::Shared,
        file_bytes: 16 * GIB,
        cache: IoCache::Direct,
        method: IoMethod::IoUring,
        sync_after_writes: None,
        write_back_after_bytes: None,
        sync_at_end: false,
        cpus: cpus.to_vec(),
    };
    vec![
        one("random read", IoOrder::Random, 1.0),
        one("random write", IoOrder::Random, 0.0),
        one("sequential read", IoOrder::Sequential, 1.0),
        one("sequential write", IoOrder::Sequential, 0.0),
    ]
}

/// One process that reads and writes pages through the page cache by system calls, as PostgreSQL does up to 17.
fn buffered(name: &str, order: IoOrder, read_share: f64, file_bytes: u64) -> IoPattern {
    IoPattern {
        name: name.into(),
        order,
        read_share,
        block_bytes: PAGE_BYTES,
        depth: 1,
        jobs: 1,
        files: IoFiles::Shared,
        file_bytes,
        cache: IoCache::Cold,
        method: IoMethod::Threads,
        sync_after_writes: None,
        write_back_after_bytes: None,
        sync_at_end: false,
        cpus: Vec::new(),
    }
}

fn kib(block_bytes: u32) -> u32 {
    block_bytes / KIB
}

fn wal(block_bytes: u32) -> IoPattern {
    let name = format!("WAL writes of {} KiB", kib(block_bytes));
    // A gigabyte of segments that are written again and again: `max_wal_size` by default.
    IoPattern { block_bytes, sync_after_writes: Some(1), ..buffered(&name, IoOrder::Sequential, 0.0, GIB) }
}

fn checkpoint() -> IoPattern {
    IoPattern {
        write_back_after_bytes: Some(CHECKPOINT_FLUSH_AFTER_BYTES),
        sync_at_end: true,
        ..buffered("checkpoint", IoOrder::Random, 0.0, 4 * GIB)
    }
}

fn seqscan(block_bytes: u32) -> IoPattern {
    let name = format!("sequential scan of {} KiB", kib(block_bytes));
    IoPattern { block_bytes, ..buffered(&name, IoOrder::Sequential, 1.0, 8 * GIB) }
}

fn bulk_load() -> IoPattern {
    IoPattern {
        jobs: BULK_JOBS,
        sync_at_end: true,
        ..buffered("bulk load", IoOrder::Sequential, 0.0, 8 * GIB)
    }
}

fn pg18_aio(block_bytes: u32) -> IoPattern {
    let name = format!("asynchronous reads of {} KiB", kib(block_bytes));
    let pattern = buffered(&name, IoOrder::Random, 1.0, 8 * GIB);
    IoPattern { block_bytes, depth: PG18_DEPTH, method: IoMethod::IoUring, ..pattern }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_and_flags_have_the_same_names() {
        for preset in IoPreset::ALL {
            assert_eq!(IoPreset::named(preset.name()), Some(preset));
            assert_eq!(serde_json::to_value(preset).expect("JSON"), preset.name());
        }
        assert_eq!(IoPreset::named("wall"), None);
    }

    /// Per call: 8 KiB, 32 jobs, depth 8, direct, 16 GiB, 60 s (article 000, L1068 and L1135).
    #[test]
    fn the_articles_patterns_are_those_of_its_fio_calls() {
        let patterns = IoPreset::Articles.patterns(&[3, 1]);
        assert_eq!((patterns.len(), IoPreset::Articles.duration_s()), (4, 60));
        for pattern in &patterns {
            let IoPattern { block_bytes, jobs, depth, file_bytes, cache, files, .. } = *pattern;
            assert_eq!((block_bytes, jobs, depth, file_bytes), (8_192, 32, 8, 17_179_869_184));
            assert_eq!((cache, files, &pattern.cpus[..]), (IoCache::Direct, IoFiles::Shared, &[3, 1][..]));
        }
        let kinds: Vec<_> = patterns.iter().map(|p| (p.order, p.read_share)).collect();
        let (random, sequential) = (IoOrder::Random, IoOrder::Sequential);
        assert_eq!(kinds, [(random, 1.0), (random, 0.0), (sequential, 1.0), (sequential, 0.0)]);
    }
}
