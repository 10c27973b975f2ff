//! A requested measurement, with its limits.

use std::{path::PathBuf, time::Duration};

use pgdyno_core::{
    disk::io::{IoCache, IoFiles, IoOrder, IoPattern},
    problem::Problem,
};

/// Smallest and largest block in bytes, and what it must be a multiple of.
const BLOCK_BYTES: (u32, u32, u32) = (4 << 10, 1 << 20, 512);
const MOST_DEPTH: u16 = 1_024;
const MOST_JOBS: u16 = 256;
/// Size of a file in bytes, unless another is requested.
pub const FILE_BYTES: u64 = 1 << 30;
const LONGEST: Duration = Duration::from_secs(7 * 24 * 3_600);

/// A measurement of reads and writes at depth.
#[derive(Debug, Clone, PartialEq)]
pub struct IoRequest {
    /// A directory in which files are made, which leave nothing behind; or a block device, which is only read.
    pub path: PathBuf,
    /// What is asked of the storage.
    pub pattern: IoPattern,
    /// Time before the measured interval; at most a week.
    pub ramp: Duration,
    /// Length of the measured interval, above 0 and at most a week.
    pub duration: Duration,
    /// Whether the page cache may be used where `O_DIRECT` is refused.
    pub may_buffer: bool,
    /// Whether the files are written twice before random writes.
    pub precondition: bool,
    /// Determines offsets and contents.
    pub seed: u64,
}

/// How far a measurement is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum IoProgress {
    /// The files are being written, before the run.
    LayingOut {
        /// Bytes written.
        done_bytes: u64,
        /// Bytes to write.
        of_bytes: u64,
    },
    /// The files are being read into the page cache.
    Warming {
        /// Bytes read.
        done_bytes: u64,
        /// Bytes to read.
        of_bytes: u64,
    },
    /// The pattern runs.
    Running {
        /// Seconds since the begin of the ramp time.
        elapsed_s: f64,
        /// Ramp time and measured interval in seconds.
        of_s: f64,
        /// Operations that have ended.
        operations: u64,
        /// Bytes read and written.
        bytes: u64,
    },
}

impl IoRequest {
    /// A pattern for 10 s, which are five rounds to find a steady state by, after 1 s.
    pub fn new(path: impl Into<PathBuf>, pattern: IoPattern) -> Self {
        Self {
            path: path.into(),
            pattern,
            ramp: Duration::from_secs(1),
            duration: Duration::from_secs(10),
            may_buffer: false,
            precondition: false,
            seed: 1,
        }
    }

    /// Checks everything that can be checked without the storage.
    ///
    /// # Errors
    /// [`Problem`] of a wrong request that names the value and its range.
    pub fn check(&self) -> Result<(), Problem> {
        check_pattern(&self.pattern)?;
        let within = |time: Duration| time <= LONGEST;
        require(
            !self.duration.is_zero() && within(self.duration),
            "the duration is from 1 ns to a week",
            &self.duration,
        )?;
        require(within(self.ramp), "the ramp time is at most a week", &self.ramp)
    }

    /// Number of files.
    pub(super) fn files(&self) -> u64 {
        match self.pattern.files {
            IoFiles::Shared => 1,
            IoFiles::OneEach => u64::from(self.pattern.jobs),
        }
    }
}

/// Whether a pattern writes or syncs.
pub(super) fn writes(pattern: &IoPattern) -> bool {
    let syncs = pattern.sync_after_writes.is_some()
        || pattern.write_back_after_bytes.is_some()
        || pattern.sync_at_end;
    pattern.read_share < 1.0 || syncs
}

fn check_pattern(pattern: &IoPattern) -> Result<(), Problem> {
    let (least, most, multiple) = BLOCK_BYTES;
    let IoPattern { block_bytes, depth, jobs, file_bytes, .. } = *pattern;
    let is_block = (least..=most).contains(&block_bytes) && block_bytes.is_multiple_of(multiple);
    require(is_block, "a block is a multiple of 512 bytes, from 4 KiB to 1 MiB", &block_bytes)?;
    require((1..=MOST_DEPTH).contains(&depth), "the depth is from 1 to 1,024", &depth)?;
    require((1..=MOST_JOBS).contains(&jobs), "the number of jobs is from 1 to 256", &jobs)?;
    let share = pattern.read_share;
    require((0.0..=1.0).contains(&share), "the share of reads is from 0 to 1", &share)?;
    let whole = file_bytes > 0 && file_bytes.is_multiple_of(u64::from(block_bytes));
    require(whole, "the size of a file is a multiple of the block size, above 0", &file_bytes)?;
    check_parts(pattern)?;
    let after = |n: Option<u32>| n.is_none_or(|n| n > 0);
    require(after(pattern.sync_after_writes), "a sync comes after 1 write or more", &0)?;
    require(after(pattern.write_back_after_bytes), "write-back comes after 1 byte or more", &0)?;
    let direct = pattern.cache == IoCache::Direct && pattern.write_back_after_bytes.is_some();
    require(!direct, "direct writes leave nothing to write back", &pattern.name)
}

/// Sequential jobs in one file need a part each, with room for reads and for writes.
fn check_parts(pattern: &IoPattern) -> Result<(), Problem> {
    let jobs = if pattern.files == IoFiles::Shared { u64::from(pattern.jobs) } else { 1 };
    let mixed = if (0.0..1.0).contains(&pattern.read_share) && pattern.read_share > 0.0 { 2 } else { 1 };
    let blocks = pattern.file_bytes / u64::from(pattern.block_bytes);
    let enough = pattern.order == IoOrder::Random || blocks >= jobs * mixed;
    require(enough, "a file has at least one block for each sequential job, two for a mix", &blocks)
}

fn require(holds: bool, rule: &str, value: &impl std::fmt::Debug) -> Result<(), Problem> {
    if holds { Ok(()) } else { Err(Problem::wrong_request(format!("{rule}: not {value:?}"))) }
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::HashSet;

    use pgdyno_core::disk::{IoPreset, io::IoMethod};

    use super::*;

    /// Random reads of 8 KiB in 1 MiB.
    pub(in crate::io) fn sample() -> IoRequest {
        let pattern = IoPattern {
            name: "random read".into(),
            order: IoOrder::Random,
            read_share: 1.0,
            block_bytes: 8_192,
            depth: 4,
            jobs: 1,
            files: IoFiles::Shared,
            file_bytes: 1 << 20,
            cache: IoCache::Direct,
            method: IoMethod::IoUring,
            sync_after_writes: None,
            write_back_after_bytes: None,
            sync_at_end: false,
            cpus: Vec::new(),
        };
        IoRequest {
            path: std::env::current_dir().expect("there is one"),
            pattern,
            ramp: Duration::ZERO,
            duration: Duration::from_millis(200),
            may_buffer: false,
            precondition: false,
            seed: 1,
        }
    }

    type Change = fn(&mut IoRequest);

    #[test]
    fn values_out_of_range_are_refused_by_name() {
        let wrong: [(Change, &str); 14] = [
            (|r| r.pattern.block_bytes = 2_048, "a block is a multiple"),
            (|r| r.pattern.block_bytes = 8_200, "a block is a multiple"),
            (|r| r.pattern.block_bytes = 2 << 20, "a block is a multiple"),
            (|r| r.pattern.depth = 0, "the depth is"),
            (|r| r.pattern.depth = 1_025, "the depth is"),
            (|r| r.pattern.jobs = 0, "the number of jobs"),
            (|r| r.pattern.jobs = 257, "the number of jobs"),
            (|r| r.pattern.read_share = 1.1, "the share of reads"),
            (|r| r.pattern.read_share = f64::NAN, "the share of reads"),
            (|r| r.pattern.file_bytes = 0, "the size of a file"),
            (|r| r.pattern.file_bytes = 8_193, "the size of a file"),
            (|r| r.pattern.sync_after_writes = Some(0), "a sync comes"),
            (|r| r.pattern.write_back_after_bytes = Some(8_192), "direct writes"),
            (|r| r.duration = Duration::ZERO, "the duration"),
        ];
        assert_eq!(sample().check(), Ok(()));
        for (change, rule) in wrong {
            let mut request = sample();
            change(&mut request);
            let problem = request.check().expect_err(rule);
            assert!(problem.what.starts_with(rule), "{problem}");
        }
    }

    #[test]
    fn sequential_jobs_need_a_part_each() {
        let mut request = sample();
        request.pattern.order = IoOrder::Sequential;
        request.pattern.jobs = 128;
        assert_eq!(request.check(), Ok(()));
        request.pattern.read_share = 0.5;
        assert!(request.check().is_err());
        request.pattern.files = IoFiles::OneEach;
        assert_eq!((request.check(), request.files()), (Ok(()), 128));
    }

    #[test]
    fn every_pattern_of_every_preset_can_be_requested() {
        let mut names = HashSet::new();
        for preset in IoPreset::ALL {
            for pattern in preset.patterns(&[0, 1]) {
                assert!(
                    names.insert((preset.name(), pattern.name.clone())),
                    "{} is there twice",
                    pattern.name
                );
                assert_eq!(IoRequest { pattern, ..sample() }.check(), Ok(()));
            }
        }
    }

    #[test]
    fn what_is_read_only_writes_nothing() {
        for (preset, expected) in
            [(IoPreset::Seqscan, false), (IoPreset::Pg18Aio, false), (IoPreset::Wal, true)]
        {
            assert!(preset.patterns(&[]).iter().all(|pattern| writes(pattern) == expected));
        }
    }
}
