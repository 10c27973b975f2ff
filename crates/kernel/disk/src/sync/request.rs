//! What is to be measured, and its limits.

use std::{path::PathBuf, time::Duration};

use pgdyno_core::problem::Problem;

/// Smallest block, in bytes: a sector.
pub const MIN_BLOCK_BYTES: u64 = 512;
/// Largest block, in bytes.
pub const MAX_BLOCK_BYTES: u64 = 1 << 20;
/// Most concurrent writers.
pub const MAX_WRITERS: u32 = 64;
/// Size of a WAL segment, and of the test file unless the writers need more, in bytes.
pub(super) const SEGMENT_BYTES: u64 = 16 << 20;
/// Amount that is written and synced once, in bytes.
pub(super) const BULK_BYTES: u64 = 64 << 20;

/// A measurement of synchronous writes.
#[derive(Debug, Clone, PartialEq)]
pub struct SyncRequest {
    /// An existing directory. A file is made in it and removed.
    pub dir: PathBuf,
    /// Bytes per write, a power of two from [`MIN_BLOCK_BYTES`] to [`MAX_BLOCK_BYTES`].
    pub block_bytes: u64,
    /// Duration of each test in each block; above 0.
    pub test_duration: Duration,
    /// How often all tests are repeated, every second time in reverse order; at least 1. Confidence intervals need 3.
    pub blocks: u32,
    /// The most concurrent writers, from 1 to [`MAX_WRITERS`]: 1, 2, 4 and so on up to this are measured. `None` for
    /// none.
    pub writers: Option<u32>,
    /// Whether new blocks, reserved space, zeros and data are compared.
    pub file_states: bool,
    /// Whether 64 MiB are synced at once, which shows layers that sync nothing.
    pub bulk: bool,
    /// A difference of rates within this share does not matter; from 0 to below 1.
    pub margin: f64,
}

impl SyncRequest {
    /// The tests of pg_test_fsync with 8 KiB, two seconds each, once; and the sync of a large amount.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            block_bytes: 8_192,
            test_duration: Duration::from_secs(2),
            blocks: 1,
            writers: None,
            file_states: false,
            bulk: true,
            margin: 0.05,
        }
    }

    /// Checks the limits.
    ///
    /// # Errors
    /// A wrong request that names the value.
    pub fn check(&self) -> Result<(), Problem> {
        let wrong = |what: String| Err(Problem::wrong_request(format!("could not measure syncs: {what}")));
        let sizes = MIN_BLOCK_BYTES..=MAX_BLOCK_BYTES;
        if !self.block_bytes.is_power_of_two() || !sizes.contains(&self.block_bytes) {
            return wrong(format!(
                "a block of {} bytes is not a power of two from {MIN_BLOCK_BYTES} to {MAX_BLOCK_BYTES}",
                self.block_bytes
            ));
        }
        if self.test_duration.is_zero() {
            return wrong("a test takes longer than 0 s".to_owned());
        }
        if self.blocks == 0 {
            return wrong("0 blocks measure nothing".to_owned());
        }
        if let Some(writers) = self.writers.filter(|writers| !(1..=MAX_WRITERS).contains(writers)) {
            return wrong(format!("{writers} writers are not from 1 to {MAX_WRITERS}"));
        }
        if !(0.0..1.0).contains(&self.margin) {
            return wrong(format!("a margin of {} is not from 0 to below 1", self.margin));
        }
        Ok(())
    }

    /// Size of the test file in bytes: a segment, or a block for each writer.
    pub(super) fn file_bytes(&self) -> u64 {
        SEGMENT_BYTES.max(self.block_bytes * u64::from(self.writers.unwrap_or(0)))
    }

    /// Free space that all files take at most, in bytes.
    pub(super) fn space_bytes(&self) -> u64 {
        let second_file = if self.file_states { SEGMENT_BYTES } else { 0 };
        // The large file is made after the others are gone.
        (self.file_bytes() + second_file).max(if self.bulk { BULK_BYTES } else { 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_checked_by_value() {
        let good = SyncRequest::new("/tmp");
        assert_eq!(good.check(), Ok(()));
        let faults: [(&str, SyncRequest); 7] = [
            ("1000 bytes", SyncRequest { block_bytes: 1_000, ..good.clone() }),
            ("256 bytes", SyncRequest { block_bytes: 256, ..good.clone() }),
            ("2097152 bytes", SyncRequest { block_bytes: 2 << 20, ..good.clone() }),
            ("0 s", SyncRequest { test_duration: Duration::ZERO, ..good.clone() }),
            ("0 blocks", SyncRequest { blocks: 0, ..good.clone() }),
            ("65 writers", SyncRequest { writers: Some(65), ..good.clone() }),
            ("margin of 1", SyncRequest { margin: 1.0, ..good.clone() }),
        ];
        for (named, request) in faults {
            let problem = request.check().expect_err(named);
            assert!(problem.what.contains(named), "{problem}");
        }
        assert!(SyncRequest { writers: Some(0), ..good.clone() }.check().is_err());
        assert!(SyncRequest { margin: f64::NAN, ..good }.check().is_err());
    }

    #[test]
    fn space_is_that_of_the_files_that_exist_at_one_time() {
        let small = SyncRequest { bulk: false, ..SyncRequest::new("/tmp") };
        assert_eq!(small.space_bytes(), 16 << 20);
        assert_eq!(SyncRequest { file_states: true, ..small.clone() }.space_bytes(), 32 << 20);
        assert_eq!(SyncRequest::new("/tmp").space_bytes(), 64 << 20);
        let many = SyncRequest { block_bytes: 1 << 20, writers: Some(64), file_states: true, ..small };
        assert_eq!((many.file_bytes(), many.space_bytes()), (64 << 20, 80 << 20));
    }
}
