//! Synchronous writes, one after the other: the least that a commit costs on this storage.

use std::{
    fs::{self, File, OpenOptions},
    io,
    path::Path,
    time::Duration,
};

use pgdyno_core::{
    measure::{Outcome, SyncCheck},
    problem::Problem,
    stop::Stop,
};
use pgdyno_engine::{BlockingDriver, Client, DiskOp, Event, Probe, Settings, Step, Target, run};

/// Bytes of a write: a WAL page, as in pg_test_fsync.
const WRITE_BYTES: usize = 8192;
/// Size of the file in bytes; writes wrap around at its end, as WAL goes to recycled segments.
const FILE_BYTES: u64 = 16 << 20;

/// Target whose attempts each overwrite the next 8 KiB of a file and sync its data.
#[derive(Debug)]
pub struct SyncTarget {
    page: Vec<u8>,
    offset: u64,
}

impl Default for SyncTarget {
    fn default() -> Self {
        // Bytes that no device can compress or deduplicate.
        let page =
            (0..WRITE_BYTES as u64).map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8).collect();
        Self { page, offset: 0 }
    }
}

impl Target for SyncTarget {
    fn step(&mut self, event: Event<'_>, _now_ns: u64, probe: &mut Probe) -> Step {
        match event {
            Event::Begin => {
                self.offset = (self.offset + WRITE_BYTES as u64) % FILE_BYTES;
                self.page[0] = self.page[0].wrapping_add(1);
                Step::Disk(DiskOp::WriteAndSync { offset: self.offset })
            }
            Event::Disk(Ok(())) => Step::Done(Outcome::Committed),
            Event::Disk(Err(error)) => {
                probe.stop_run(&error.to_string());
                Step::Last(Outcome::Failed)
            }
            _ => Step::Receive,
        }
    }

    fn outgoing(&self) -> &[u8] {
        &self.page
    }

    fn abandon(&mut self) -> Outcome {
        Outcome::TimedOut
    }
}

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
    let settings = Settings {
        warmup_ns: 0,
        duration_ns: duration.as_nanos() as u64,
        interval_ns: 1_000_000_000,
        drain_ns: 0,
        rate_per_s: None,
        seed: 0,
        statements: 0,
        cpus: Vec::new(),
    };
    let workers = vec![vec![Client { target: SyncTarget::default(), io: Some(file.into()) }]];
    let own_stop = Stop::default();
    let watch = |_: &_| {
        if stop.requested() {
            own_stop.request("stopped");
        }
    };
    let report = run(BlockingDriver, workers, &settings, &own_stop, watch, |_| ())
        .map_err(|error| Problem::could_not(format!("{}: {error}", what())))?;
    let Some(latency) = report.latency.summary() else {
        let why = report.stopped.unwrap_or_else(|| "no write completed".to_owned());
        return Err(Problem::could_not(format!("{}: {why}", what())));
    };
    let rate_per_s = report.counts.committed as f64 * 1e9 / report.duration_ns.max(1) as f64;
    let path = dir.display().to_string();
    Ok(SyncCheck {
        path,
        write_bytes: WRITE_BYTES as u64,
        duration_ns: report.duration_ns,
        latency,
        rate_per_s,
    })
}

/// Creates a file of zeros and unlinks it at once, so that nothing is left behind whatever happens.
fn scratch_file(dir: &Path) -> io::Result<File> {
    let path = dir.join(format!("pgdyno-sync-check.{}", std::process::id()));
    let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
    fs::remove_file(&path)?;
    let zeros = vec![0; 1 << 20];
    for mega in 0..FILE_BYTES >> 20 {
        std::os::unix::fs::FileExt::write_all_at(&file, &zeros, mega << 20)?;
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
        let full = OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
        let workers = vec![vec![Client { target: SyncTarget::default(), io: Some(full.into()) }]];
        let settings = Settings {
            warmup_ns: 0,
            duration_ns: 1_000_000_000,
            interval_ns: 1_000_000_000,
            drain_ns: 0,
            rate_per_s: None,
            seed: 0,
            statements: 0,
            cpus: Vec::new(),
        };
        let stop = Stop::default();
        let report = run(BlockingDriver, workers, &settings, &stop, |_| (), |_| ()).expect("the run works");
        assert_eq!(report.counts_whole.failed, 1);
        assert!(report.stopped.expect("a reason").contains("No space left"));
    }
}
