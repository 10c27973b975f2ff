//! From a pattern to the operations of each of its jobs.

use std::collections::VecDeque;

use pgdyno_core::{
    disk::io::{IoFiles, IoOrder, IoPattern},
    random::{Draw, Random},
};
use pgdyno_engine::files::{Operation, Operations};

/// The operations of one job, without an end.
#[derive(Debug)]
pub(super) struct PatternOperations {
    order: IoOrder,
    block_bytes: u32,
    mix: Mix,
    /// Its part of the file in blocks: the first, and their number.
    first: u64,
    blocks: u64,
    /// Blocks from the start of the part: the next read and the next write.
    next_read: u64,
    next_write: u64,
    random: Random,
    syncs: Syncs,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Mix {
    Reads,
    Writes,
    /// With this share of reads.
    Both(f64),
}

/// What follows writes.
#[derive(Debug)]
struct Syncs {
    after_writes: Option<u32>,
    writes: u32,
    write_back_after: Option<usize>,
    /// Offsets that were written and not handed to the kernel for writing back.
    dirty: Vec<u64>,
    due: VecDeque<Operation>,
}

impl PatternOperations {
    /// The operations of job `job` of a pattern.
    pub(super) fn new(pattern: &IoPattern, job: u16, seed: u64) -> Self {
        let blocks = pattern.file_bytes / u64::from(pattern.block_bytes);
        let alone = pattern.order == IoOrder::Random || pattern.files == IoFiles::OneEach;
        let (jobs, job_number) = if alone { (1, 0) } else { (u64::from(pattern.jobs), u64::from(job)) };
        let first = blocks * job_number / jobs;
        let blocks = blocks * (job_number + 1) / jobs - first;
        let mix = match pattern.read_share {
            share if share >= 1.0 => Mix::Reads,
            share if share <= 0.0 => Mix::Writes,
            share => Mix::Both(share),
        };
        let next_write = if let Mix::Both(_) = mix { blocks / 2 } else { 0 };
        let write_back_after =
            pattern.write_back_after_bytes.map(|bytes| (bytes / pattern.block_bytes).max(1) as usize);
        Self {
            order: pattern.order,
            block_bytes: pattern.block_bytes,
            mix,
            first,
            blocks,
            next_read: 0,
            next_write,
            random: Random::stream(seed, 0, u32::from(job)),
            syncs: Syncs {
                after_writes: pattern.sync_after_writes,
                writes: 0,
                write_back_after,
                dirty: Vec::with_capacity(write_back_after.unwrap_or(0)),
                due: VecDeque::new(),
            },
        }
    }

    #[inline]
    fn is_read(&mut self) -> bool {
        match self.mix {
            Mix::Reads => true,
            Mix::Writes => false,
            Mix::Both(share) => self.random.unit() < share,
        }
    }

    /// Offset of the next read or write, in bytes.
    #[inline]
    fn offset(&mut self, is_read: bool) -> u64 {
        let block = if self.order == IoOrder::Random {
            self.random.between(0, self.blocks.cast_signed() - 1).cast_unsigned()
        } else {
            let next = if is_read { &mut self.next_read } else { &mut self.next_write };
            let block = *next;
            *next = if block + 1 == self.blocks { 0 } else { block + 1 };
            block
        };
        (self.first + block) * u64::from(self.block_bytes)
    }
}

impl Operations for PatternOperations {
    #[inline]
    fn next(&mut self) -> Option<Operation> {
        if let Some(due) = self.syncs.due.pop_front() {
            return Some(due);
        }
        let is_read = self.is_read();
        let (offset, len) = (self.offset(is_read), self.block_bytes);
        if is_read {
            return Some(Operation::Read { offset, len });
        }
        self.syncs.wrote(offset, len);
        Some(Operation::Write { offset, len })
    }

    fn writes(&self) -> bool {
        !matches!(self.mix, Mix::Reads)
    }
}

impl Syncs {
    #[inline]
    fn wrote(&mut self, offset: u64, len: u32) {
        if let Some(after) = self.write_back_after {
            self.dirty.push(offset);
            if self.dirty.len() >= after {
                self.write_back(len);
            }
        }
        if let Some(after) = self.after_writes {
            self.writes += 1;
            if self.writes >= after {
                self.writes = 0;
                self.due.push_back(Operation::SyncData);
            }
        }
    }

    /// Hands what was written to the kernel in ascending order, neighbours together, as PostgreSQL's
    /// `IssuePendingWritebacks` does.
    fn write_back(&mut self, block_bytes: u32) {
        self.dirty.sort_unstable();
        self.dirty.dedup();
        let is_next = |a: &u64, b: &u64| a + u64::from(block_bytes) == *b;
        for run in self.dirty.chunk_by(is_next) {
            self.due.push_back(Operation::WriteBack { offset: run[0], len: run.len() as u32 * block_bytes });
        }
        self.dirty.clear();
    }
}

/// Reads or writes a file once from its start to its end, in pieces as large as possible.
#[derive(Debug)]
pub(super) struct Pass {
    pub(super) writes: bool,
    pub(super) file_bytes: u64,
    pub(super) piece_bytes: u32,
    pub(super) at: u64,
}

impl Operations for Pass {
    fn next(&mut self) -> Option<Operation> {
        let (offset, left) = (self.at, self.file_bytes - self.at);
        let len = u64::from(self.piece_bytes).min(left) as u32;
        self.at += u64::from(len);
        let of = if self.writes { Operation::Write { offset, len } } else { Operation::Read { offset, len } };
        (len > 0).then_some(of)
    }

    fn writes(&self) -> bool {
        self.writes
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::{super::request::tests::sample, *};

    fn pattern(change: impl FnOnce(&mut IoPattern)) -> IoPattern {
        let mut pattern = sample().pattern;
        change(&mut pattern);
        pattern
    }

    fn take(pattern: &IoPattern, job: u16, count: usize) -> Vec<Operation> {
        let mut operations = PatternOperations::new(pattern, job, 7);
        (0..count).filter_map(|_| operations.next()).collect()
    }

    fn read(block: u64) -> Operation {
        Operation::Read { offset: block * 8_192, len: 8_192 }
    }

    fn write(block: u64) -> Operation {
        Operation::Write { offset: block * 8_192, len: 8_192 }
    }

    #[test]
    fn sequential_jobs_read_their_own_part_round_and_round() {
        let pattern = pattern(|p| {
            p.order = IoOrder::Sequential;
            p.jobs = 3;
            p.file_bytes = 8 * 8_192;
        });
        let blocks = |job| take(&pattern, job, 5);
        assert_eq!(blocks(0), [0, 1, 0, 1, 0].map(read));
        assert_eq!(blocks(1), [2, 3, 4, 2, 3].map(read));
        assert_eq!(blocks(2), [5, 6, 7, 5, 6].map(read));
    }

    #[test]
    fn with_a_file_each_every_job_begins_at_its_start() {
        let pattern = pattern(|p| {
            p.order = IoOrder::Sequential;
            p.jobs = 2;
            p.files = IoFiles::OneEach;
            p.read_share = 0.0;
        });
        assert_eq!(take(&pattern, 1, 2), [0, 1].map(write));
    }

    #[test]
    fn a_sequential_mix_reads_from_the_start_and_writes_from_the_middle() {
        let pattern = pattern(|p| {
            p.order = IoOrder::Sequential;
            p.read_share = 0.25;
        });
        let taken = take(&pattern, 0, 4_000);
        let reads: Vec<_> = taken.iter().filter(|o| matches!(o, Operation::Read { .. })).collect();
        let writes: Vec<_> = taken.iter().filter(|o| matches!(o, Operation::Write { .. })).collect();
        assert_eq!((reads[0], reads[1], writes[0], writes[1]), (&read(0), &read(1), &write(64), &write(65)));
        // Four standard deviations of a binomial share around a quarter.
        assert!((reads.len() as f64 / 4_000.0 - 0.25).abs() < 4.0 * (0.25 * 0.75 / 4_000.0_f64).sqrt());
    }

    #[test]
    fn a_sync_follows_every_nth_write_and_no_read() {
        let pattern = pattern(|p| {
            p.order = IoOrder::Sequential;
            p.read_share = 0.0;
            p.sync_after_writes = Some(2);
        });
        let sync = Operation::SyncData;
        assert_eq!(take(&pattern, 0, 6), [write(0), write(1), sync, write(2), write(3), sync]);
        let reads = IoPattern { read_share: 1.0, ..pattern };
        assert!(!take(&reads, 0, 50).contains(&sync));
    }

    #[test]
    fn write_back_is_handed_over_in_order_and_together() {
        let pattern = pattern(|p| {
            p.order = IoOrder::Random;
            p.file_bytes = 8 * 8_192;
            p.read_share = 0.0;
            p.write_back_after_bytes = Some(256 << 10);
        });
        let mut operations = PatternOperations::new(&pattern, 0, 7);
        let written: BTreeSet<u64> = (0..32)
            .map(|_| match operations.next() {
                Some(Operation::Write { offset, .. }) => offset,
                other => panic!("a write, not {other:?}"),
            })
            .collect();
        // 32 writes to 8 blocks reach all of them with this seed: one range.
        assert_eq!(written.len(), 8);
        assert_eq!(operations.next(), Some(Operation::WriteBack { offset: 0, len: 8 * 8_192 }));
        assert!(matches!(operations.next(), Some(Operation::Write { .. })));
    }

    #[test]
    fn a_pass_reaches_every_byte_once() {
        let mut pass = Pass { writes: true, file_bytes: 5 * 8_192, piece_bytes: 2 * 8_192, at: 0 };
        let all: Vec<_> = std::iter::from_fn(|| pass.next()).collect();
        let piece = |offset, len| Operation::Write { offset, len };
        assert_eq!(all, [piece(0, 16_384), piece(16_384, 16_384), piece(32_768, 8_192)]);
    }

    proptest! {
        /// Every operation is aligned and within the file; jobs of one seed differ, and a seed repeats itself.
        #[test]
        fn operations_stay_in_the_file(
            blocks in 64_u64..5_000,
            jobs in 1_u16..32,
            share in 0.0..=1.0_f64,
            random: bool,
        ) {
            let pattern = pattern(|p| {
                p.order = if random { IoOrder::Random } else { IoOrder::Sequential };
                (p.jobs, p.read_share, p.file_bytes) = (jobs, share, blocks * 8_192);
            });
            for job in 0..jobs {
                for operation in take(&pattern, job, 200) {
                    let (Operation::Read { offset, len } | Operation::Write { offset, len }) = operation else {
                        return Err(TestCaseError::fail(format!("{operation:?}")));
                    };
                    prop_assert!(offset % 8_192 == 0 && len == 8_192 && offset + 8_192 <= pattern.file_bytes);
                }
                prop_assert_eq!(take(&pattern, job, 50), take(&pattern, job, 50));
            }
            if jobs > 1 {
                prop_assert_ne!(take(&pattern, 0, 50), take(&pattern, 1, 50));
            }
        }
    }

    /// Chi-square with 15 degrees of freedom exceeds 37.7 once in a thousand times. The seed is fixed.
    #[test]
    fn random_blocks_are_uniform() {
        let pattern = pattern(|p| p.file_bytes = 16 * 8_192);
        let mut counts = [0_u32; 16];
        for operation in take(&pattern, 0, 16_000) {
            if let Operation::Read { offset, .. } = operation {
                counts[(offset / 8_192) as usize] += 1;
            }
        }
        let chi2: f64 = counts.iter().map(|&n| (f64::from(n) - 1_000.0).powi(2) / 1_000.0).sum();
        assert!(chi2 < 37.7, "{chi2} {counts:?}");
    }
}
