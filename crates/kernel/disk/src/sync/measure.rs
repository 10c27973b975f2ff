//! Executes a request.

use std::{fmt::Display, io, path::Path};

use pgdyno_core::{
    disk::sync::{
        BookedWork, BulkSync, SyncAction, SyncIncomplete, SyncMethod, SyncPlace, SyncReport, SyncTest,
    },
    problem::Problem,
    stop::Stop,
};
use rustix::io::Errno;

use super::{
    actions::cases,
    bench::{Bench, Ran},
    booked::{Counters, sum},
    bulk,
    choose::choose,
    descriptors,
    judge::{Findings, judge},
    place,
    request::{SEGMENT_BYTES, SyncRequest},
    scratch::{Block, Scratch},
    tally::Tally,
};

/// What begins now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncProgress {
    /// The file is written for the first time.
    Preparing {
        /// Its size in bytes.
        file_bytes: u64,
    },
    /// A test.
    Test {
        /// What it does.
        action: SyncAction,
        /// Number of the block, from 1.
        block: u32,
        /// Tests that are over, of all blocks.
        done: u64,
        /// All tests of all blocks.
        total: u64,
    },
    /// A large amount is synced.
    Bulk,
}

/// Measures synchronous writes in a directory.
///
/// Files are created in it with mode 0600. On ext4, XFS and tmpfs they are unlinked at once, so that nothing stays
/// whatever happens; on other file systems they keep their names (`pgdyno-disk-sync.*`) until the end, because some
/// of them sync a file without a name differently. Nothing else is written.
///
/// A measurement that was stopped, or failed when something was measured already, is a report with the reason.
///
/// # Errors [`Problem`] for a request beyond its limits, a directory that cannot be written to or lacks the space,
/// and if it was stopped or failed before anything was measured.
pub fn measure(
    request: &SyncRequest,
    stop: &Stop,
    on_progress: &mut dyn FnMut(SyncProgress),
) -> Result<SyncReport, Problem> {
    request.check()?;
    let place = place::read(&request.dir, request.space_bytes())?;
    let mut run = Run::new(request, stop);
    let ended = run.tests(&place, on_progress).and_then(|()| run.bulk(&place, on_progress));
    run.report(place, ended.err())
}

/// Why a measurement ended early.
struct Ended {
    during: String,
    why: Why,
}

enum Why {
    Stopped,
    Failed(io::Error),
}

/// A measurement, as far as it has come.
struct Run<'a> {
    request: &'a SyncRequest,
    stop: &'a Stop,
    tallies: Vec<Tally>,
    booked: Option<BookedWork>,
    bulk: Option<BulkSync>,
}

impl<'a> Run<'a> {
    fn new(request: &'a SyncRequest, stop: &'a Stop) -> Self {
        let tallies = cases(request).into_iter().map(Tally::new).collect();
        Self { request, stop, tallies, booked: None, bulk: None }
    }

    /// All blocks of all tests. The files are gone when this returns.
    fn tests(&mut self, place: &SyncPlace, on_progress: &mut dyn FnMut(SyncProgress)) -> Result<(), Ended> {
        let file_bytes = self.request.file_bytes();
        on_progress(SyncProgress::Preparing { file_bytes });
        let scratch = self.prepare(place, file_bytes)?;
        let second = self.request.file_states.then(|| self.prepare(place, SEGMENT_BYTES)).transpose()?;
        let (duration, stop) = (self.request.test_duration, self.stop);
        let bench = Bench { scratch: &scratch, second: second.as_ref(), duration, stop };
        let count = self.tallies.len();
        let total = count as u64 * u64::from(self.request.blocks);
        let order =
            (0..self.request.blocks).flat_map(|block| order(count, block).map(move |index| (block, index)));
        for (done, (block, index)) in order.enumerate() {
            let action = self.tallies[index].action();
            on_progress(SyncProgress::Test { action, block: block + 1, done: done as u64, total });
            self.test(index, &bench).map_err(|why| Ended { during: action.label(), why })?;
        }
        Ok(())
    }

    /// A file, written and synced, as pg_test_fsync begins.
    fn prepare(&self, place: &SyncPlace, bytes: u64) -> Result<Scratch, Ended> {
        let during = || "preparing the file".to_owned();
        let failed = |error| Ended { during: during(), why: Why::Failed(error) };
        let scratch = Scratch::create(&self.request.dir, place.named).map_err(failed)?;
        let may_continue = || !self.stop.requested();
        if !scratch.fill(bytes, &mut Block::chunk(), may_continue).map_err(failed)? {
            return Err(Ended { during: during(), why: Why::Stopped });
        }
        scratch.file.sync_all().map_err(failed)?;
        Ok(scratch)
    }

    /// One test of one block. What it left unsynced is synced afterwards, so that the next one does not pay for it.
    fn test(&mut self, index: usize, bench: &Bench<'_>) -> Result<(), Why> {
        let tally = &mut self.tallies[index];
        let before = Counters::read(Path::new("/"));
        let ran = descriptors::with_own(|| tally.run(bench)).and_then(|ran| ran);
        let mut ran = ran.map_err(Why::Failed)?;
        let error = match &mut ran {
            Ran::Timed { timed, .. } => timed.error.take(),
            Ran::Unavailable(_) => None,
        };
        let stopped = bench.stop.requested();
        tally.add(&ran, error.is_none() && !stopped);
        let default = SyncAction::Method { method: SyncMethod::DEFAULT, writes: 1 };
        if let (Ran::Timed { timed, .. }, true) = (&ran, tally.action() == default) {
            let operations = timed.operations;
            let bytes = operations * self.request.block_bytes;
            let now = Counters::read(Path::new("/")).zip(before);
            let booked = now.and_then(|(now, then)| now.since(&then, operations, bytes));
            self.booked = booked.map(|booked| sum(self.booked.take(), booked));
        }
        match error {
            Some(error) => Err(Why::Failed(error)),
            None if stopped => Err(Why::Stopped),
            None => bench.scratch.file.sync_all().map_err(Why::Failed),
        }
    }

    fn bulk(&mut self, place: &SyncPlace, on_progress: &mut dyn FnMut(SyncProgress)) -> Result<(), Ended> {
        if !self.request.bulk {
            return Ok(());
        }
        on_progress(SyncProgress::Bulk);
        let ended = |why| Ended { during: "syncing a large amount".to_owned(), why };
        let bulk = bulk::run(&self.request.dir, place.named, self.stop);
        self.bulk = bulk.map_err(|error| ended(Why::Failed(error)))?;
        if self.stop.requested() { Err(ended(Why::Stopped)) } else { Ok(()) }
    }

    fn report(self, place: SyncPlace, ended: Option<Ended>) -> Result<SyncReport, Problem> {
        let Self { request, stop, tallies, booked, bulk } = self;
        let tests: Vec<SyncTest> = tallies.into_iter().filter_map(Tally::finish).collect();
        if let Some(ended) = ended.as_ref().filter(|_| tests.iter().all(|test| test.timing.is_none())) {
            return Err(problem(&request.dir, ended, stop));
        }
        let findings =
            Findings { place: &place, tests: &tests, booked: booked.as_ref(), bulk: bulk.as_ref() };
        Ok(SyncReport {
            judgement: judge(findings),
            choice: choose(&tests, request.margin),
            place,
            file_bytes: request.file_bytes(),
            test_duration_ns: request.test_duration.as_nanos() as u64,
            blocks: request.blocks,
            tests,
            booked,
            bulk,
            incomplete: ended.map(|ended| incomplete(ended, stop)),
        })
    }
}

/// The tests of a block: in their order, or backwards in every second block, so that a drift of the machine favours
/// none.
fn order(tests: usize, block: u32) -> impl Iterator<Item = usize> {
    (0..tests).map(move |index| if block.is_multiple_of(2) { index } else { tests - 1 - index })
}

fn stopped(stop: &Stop) -> String {
    stop.reason().unwrap_or_else(|| "stopped".to_owned())
}

fn incomplete(ended: Ended, stop: &Stop) -> SyncIncomplete {
    let (why, stopped) = match ended.why {
        Why::Stopped => (stopped(stop), true),
        Why::Failed(error) => (error.to_string(), false),
    };
    SyncIncomplete { during: ended.during, why, stopped }
}

fn problem(dir: &Path, ended: &Ended, stop: &Stop) -> Problem {
    let could_not = |why: &dyn Display| {
        Problem::could_not(format!("could not measure syncs in {}: {why}", dir.display()))
            .detail(format!("it ended while {}", during(&ended.during)))
    };
    let error = match &ended.why {
        Why::Stopped => return could_not(&stopped(stop)),
        Why::Failed(error) => error,
    };
    match hint(error) {
        Some(hint) => could_not(error).hint(hint),
        None => could_not(error),
    }
}

fn during(what: &str) -> String {
    if what.contains(' ') && !what.contains(',') { what.to_owned() } else { format!("measuring {what}") }
}

fn hint(error: &io::Error) -> Option<&'static str> {
    let errno = Errno::from_io_error(error)?;
    [
        (Errno::ROFS, "the file system is mounted read-only: name a directory that can be written to"),
        (Errno::ACCESS, "run this as a user who may write there, such as postgres"),
        (Errno::PERM, "run this as a user who may write there, such as postgres"),
        (Errno::NOSPC, "free some space there; the file was removed"),
        (Errno::DQUOT, "the quota of this user is exhausted there; the file was removed"),
        (Errno::IO, "the device failed: see the kernel log (dmesg). Do not keep a database there."),
    ]
    .into_iter()
    .find_map(|(known, hint)| (known == errno).then_some(hint))
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, time::Duration};

    use pgdyno_core::disk::sync::{PlaceKind, SyncVerdict};

    use super::{super::timing::SAMPLED, *};

    fn short(dir: &Path) -> SyncRequest {
        SyncRequest { test_duration: Duration::from_millis(5), bulk: false, ..SyncRequest::new(dir) }
    }

    fn entries(dir: &Path) -> usize {
        fs::read_dir(dir).expect("it is there").count()
    }

    #[test]
    fn every_test_is_executed_in_every_block_and_nothing_stays() {
        let dir = tempfile::tempdir_in("/var/tmp").expect("a directory");
        let request = SyncRequest {
            blocks: 3,
            writers: Some(3),
            file_states: true,
            bulk: true,
            block_bytes: 4_096,
            ..short(dir.path())
        };
        let mut reported = Vec::new();
        let mut named = 0;
        let report = measure(&request, &Stop::default(), &mut |progress| {
            named += entries(dir.path());
            reported.push(progress);
        });
        let report = report.expect("it can be measured");
        assert_eq!((report.tests.len(), reported.len(), report.incomplete), (25, 3 * 25 + 2, None));
        for test in &report.tests {
            let Some(timing) = &test.timing else {
                assert!(test.unavailable.is_some(), "{:?}", test.action);
                continue;
            };
            assert_eq!(timing.block_rates_per_s.len(), 3, "{:?}", test.action);
            let of_a_sample = if test.action == SyncAction::Write { u64::from(SAMPLED) } else { 1 };
            assert_eq!(timing.latency.count * of_a_sample, timing.operations);
            assert!(timing.operations >= 3 && timing.distribution.last().is_some_and(|point| point.1 == 1.0));
            let opened = test.action.label().starts_with("open_");
            assert_eq!(test.direct.is_some(), opened, "{:?}", test.action);
        }
        assert_eq!(named == 0, !report.place.named, "a file without a name is never seen");
        assert_eq!(entries(dir.path()), 0);
        assert_eq!(report.choice.map(|choice| choice.blocks), Some(3));
    }

    #[test]
    fn every_second_block_is_turned() {
        assert_eq!(order(4, 0).collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!(order(4, 1).collect::<Vec<_>>(), [3, 2, 1, 0]);
        let all: BTreeSet<usize> = order(29, 1).collect();
        assert_eq!((all.len(), order(29, 2).next()), (29, Some(0)));
    }

    #[test]
    fn a_stop_in_the_middle_keeps_what_was_measured() {
        let dir = tempfile::tempdir_in("/var/tmp").expect("a directory");
        let stop = Stop::default();
        let report = measure(&short(dir.path()), &stop, &mut |progress| {
            if matches!(progress, SyncProgress::Test { done: 2, .. }) {
                stop.request("interrupted");
            }
        });
        let report = report.expect("two tests were measured");
        assert_eq!(report.tests.len(), 2);
        let incomplete = report.incomplete.expect("it was stopped");
        assert_eq!(
            (&*incomplete.why, &*incomplete.during, incomplete.stopped),
            ("interrupted", "fsync", true)
        );
        assert_eq!(entries(dir.path()), 0);
    }

    /// A test that was cut short has operations, but its rate is no observation.
    #[test]
    fn a_stop_within_a_test_keeps_its_operations() {
        let dir = tempfile::tempdir_in("/var/tmp").expect("a directory");
        let (stop, ever) = (Stop::default(), Duration::from_secs(3_600));
        let request = SyncRequest { test_duration: ever, ..short(dir.path()) };
        let report = std::thread::scope(|scope| {
            measure(&request, &stop, &mut |progress| {
                if matches!(progress, SyncProgress::Test { .. }) {
                    scope.spawn(|| {
                        std::thread::sleep(Duration::from_millis(100));
                        stop.request("interrupted");
                    });
                }
            })
        });
        let report = report.expect("some operations were measured");
        let timing = report.tests[0].timing.as_ref().expect("some operations were measured");
        assert_eq!((timing.operations > 0, timing.block_rates_per_s.len()), (true, 0));
    }

    #[test]
    fn a_stop_before_the_first_test_is_a_problem() {
        let dir = tempfile::tempdir_in("/var/tmp").expect("a directory");
        let stop = Stop::default();
        stop.request("interrupted");
        let problem = measure(&short(dir.path()), &stop, &mut |_| ()).expect_err("nothing was measured");
        assert!(problem.what.ends_with("interrupted"), "{problem}");
        assert_eq!(problem.detail.as_deref(), Some("it ended while preparing the file"));
    }

    /// Files in memory are measured, and their syncs are not believed.
    #[test]
    fn memory_keeps_nothing() {
        let Ok(dir) = tempfile::tempdir_in("/dev/shm") else { return };
        let report =
            measure(&short(dir.path()), &Stop::default(), &mut |_| ()).expect("it can be written to");
        assert_eq!(
            (report.place.kind, report.judgement.verdict),
            (PlaceKind::Memory, SyncVerdict::Suspicious)
        );
    }

    #[test]
    fn an_error_is_reported_with_its_hint() {
        let dir = Path::new("/data");
        let ended = |errno: Errno| Ended { during: "fsync".to_owned(), why: Why::Failed(errno.into()) };
        for (errno, word) in [(Errno::ROFS, "read-only"), (Errno::IO, "dmesg"), (Errno::NOSPC, "space")] {
            let problem = problem(dir, &ended(errno), &Stop::default());
            assert!(problem.hint.as_deref().is_some_and(|hint| hint.contains(word)), "{problem:?}");
            assert!(problem.what.contains("/data") && problem.detail.is_some(), "{problem:?}");
        }
        assert_eq!(problem(dir, &ended(Errno::TXTBSY), &Stop::default()).hint, None);
        let failed = incomplete(ended(Errno::IO), &Stop::default());
        assert!(!failed.stopped && failed.why.contains("os error 5"), "{failed:?}");
    }
}
