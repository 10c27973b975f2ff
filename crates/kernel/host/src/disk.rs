//! Synchronous writes, one after the other: the least that a commit costs on this storage.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::FileExt,
    path::Path,
    time::{Duration, Instant},
};

use pgdyno_core::{
    measure::{Latency, Precision, SyncCheck},
    problem::Problem,
    stop::Stop,
};

use crate::{new_file, observe::DeviceCounters};

/// Bytes of a write: a WAL page, as in pg_test_fsync.
const WRITE_BYTES: usize = 8192;
/// Size of the file in bytes; writes wrap around at its end, as WAL goes to recycled segments.
const FILE_BYTES: u64 = 16 << 20;

/// Measures synchronous writes in a directory for `duration`, in a file of 16 MiB that is removed afterwards.
///
/// # Errors
/// [`Problem`] if the file cannot be written or synced, or if no write completed in that time.
pub fn check_sync_writes(dir: &Path, duration: Duration, stop: &Stop) -> Result<SyncCheck, Problem> {
    let what = || format!("could not check synchronous writes in {}", dir.display());
    let io_problem = |error: io::Error| {
        Problem::could_not(format!("{}: {error}", what()))
            .hint("this needs 16 MiB of free space and write permission")
    };
    let file = scratch_file(dir).map_err(io_problem)?;
    let booked = || DeviceCounters::of_this_thread().map(|io| io.written_bytes);
    let before = booked();
    let (latency, took) = overwrite(&file, duration, stop)
        .map_err(|error| Problem::could_not(format!("{}: {error}", what())))?;
    let Some(latency) = latency.summary() else {
        let why = if stop.requested() { "stopped" } else { "no write completed" };
        return Err(Problem::could_not(format!("{}: {why}", what())));
    };
    let written_bytes = latency.count * WRITE_BYTES as u64;
    let booked_bytes = booked().zip(before).map(|(after, before)| after.saturating_sub(before));
    Ok(SyncCheck {
        path: dir.display().to_string(),
        write_bytes: WRITE_BYTES as u64,
        duration_ns: took.as_nanos() as u64,
        rate_per_s: latency.count as f64 / took.as_secs_f64(),
        latency,
        booked_per_byte: booked_bytes.map(|bytes| bytes as f64 / written_bytes as f64),
    })
}

/// Overwrites 8 KiB after 8 KiB of a file for `duration`, and syncs the data of each; returns the latency of a write
/// with its sync, and the time taken.
fn overwrite(file: &File, duration: Duration, stop: &Stop) -> io::Result<(Latency, Duration)> {
    // Bytes that no device can compress or deduplicate.
    let mut page: Vec<u8> =
        (0..WRITE_BYTES as u64).map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8).collect();
    let (mut latency, mut offset, start) = (Latency::new(Precision::Run), 0, Instant::now());
    while start.elapsed() < duration && !stop.requested() {
        page[0] = page[0].wrapping_add(1);
        let begin = Instant::now();
        file.write_all_at(&page, offset)?;
        file.sync_data()?;
        latency.record(begin.elapsed().as_nanos() as u64);
        offset = (offset + WRITE_BYTES as u64) % FILE_BYTES;
    }
    Ok((latency, start.elapsed()))
}

/// Creates a file of zeros and unlinks it at once, so that nothing is left behind whatever happens.
fn scratch_file(dir: &Path) -> io::Result<File> {
    let (file, path) = new_file::create(dir)?;
    fs::remove_file(&path)?;
    let zeros = vec![0; 1 << 20];
    for mega in 0..FILE_BYTES >> 20 {
        file.write_all_at(&zeros, mega << 20)?;
    }
    file.sync_all()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_counted_and_nothing_stays() {
        let dir = tempfile::tempdir().expect("a directory");
        let check = check_sync_writes(dir.path(), Duration::from_millis(100), &Stop::default())
            .expect("it can write");
        assert!(check.rate_per_s > 0.0 && check.latency.count > 0);
        // Every page was clean before it was overwritten, so that the kernel booked it at least once. Linux may be
        // built without this account, and memory file systems have no device.
        assert!(check.booked_per_byte.is_none_or(|booked| booked == 0.0 || booked >= 1.0), "{check:?}");
        assert_eq!(fs::read_dir(dir.path()).expect("it is there").count(), 0);
    }

    #[test]
    fn a_directory_that_is_not_there_is_named() {
        let problem =
            check_sync_writes(Path::new("/nonexistent/x"), Duration::from_millis(10), &Stop::default());
        assert!(problem.expect_err("it is not there").what.contains("/nonexistent/x"));
    }

    /// On a full device the error is reported, not counted as a slow write.
    #[test]
    fn a_failing_write_ends_the_check_with_its_reason() {
        let full = File::options().write(true).open("/dev/full").expect("Linux has it");
        let error = overwrite(&full, Duration::from_secs(60), &Stop::default()).expect_err("it is full");
        assert!(error.to_string().contains("No space left"));
    }
}
