//! Runs of a comparison that measure the storage below a directory.

use std::time::Duration;

use pgdyno_core::{disk::io::IoPattern, problem::Problem};
use pgdyno_disk::io::IoRequest;

use crate::{StorageOperation, StorageWork, context::Context};

/// Size of the file that is read.
const FILE_BYTES: u64 = 256 << 20;
/// Bytes of a read: a page.
const BLOCK_BYTES: u32 = 8_192;
/// Reads in flight.
const DEPTH: u16 = 8;

impl StorageWork {
    /// What is measured, in words.
    pub fn words(&self) -> String {
        let operation = match self.operation {
            StorageOperation::Sync => "writes of 8 KiB with fdatasync",
            StorageOperation::Read => "random reads of 8 KiB",
        };
        format!("{operation} in {}", self.dir.display())
    }

    /// Measures for as long as a run takes, and returns operations per second.
    ///
    /// # Errors
    /// The directory cannot be used, or a stop was requested.
    pub(super) fn run(&self, context: Context<'_>) -> Result<f64, Problem> {
        let duration = Duration::from_secs_f64(context.prepared.run_s);
        match self.operation {
            StorageOperation::Sync => {
                let seen = pgdyno_host::disk::check_sync_writes(&self.dir, duration, context.stop)?;
                Ok(seen.rate_per_s)
            }
            StorageOperation::Read => self.read(duration, context),
        }
    }

    /// Random reads, past the page cache where that is possible.
    fn read(&self, duration: Duration, context: Context<'_>) -> Result<f64, Problem> {
        let request = IoRequest {
            path: self.dir.clone(),
            pattern: IoPattern::random_read(BLOCK_BYTES, DEPTH, FILE_BYTES),
            ramp: Duration::ZERO,
            duration,
            may_buffer: false,
            precondition: false,
            seed: context.prepared.seed,
        };
        let found = pgdyno_disk::io::run(&request, context.stop, &mut |_| {})?;
        found.failure().map_or_else(|| Ok(found.rate_per_s()), Err)
    }
}
