//! The files of a measurement: laid out in full, and in the page cache or not.

use std::{fs::File, os::fd::AsRawFd, path::PathBuf, sync::Arc};

use pgdyno_core::{
    disk::io::{IoCache, IoNote, IoOrder, IoPattern},
    problem::Problem,
    stop::Stop,
    units,
};
use pgdyno_engine::files::{FileDriver, FileJob, FileRun, FileRunError, run_files};
use rustix::fs::{Advice, fadvise};

use super::{
    offsets::Pass,
    place::{Place, could_not, refuse_writes},
    request::{IoProgress, IoRequest},
};

/// Largest write of a layout, and how many of them are in flight.
const PIECE_BYTES: u32 = 1 << 20;
const PASS_DEPTH: u16 = 8;
/// How often random writes are preceded by a write of everything (SNIA, "Workload Independent Preconditioning").
const PRECONDITION_TIMES: u64 = 2;
/// Largest share of the available memory that files may take which are to be in the page cache.
const MOST_CACHED: f64 = 0.8;

/// Files that were written in full, for one measurement or several.
#[derive(Debug)]
pub struct WorkFiles<'a> {
    pub(super) place: Place<'a>,
    pub(super) files: Vec<Arc<File>>,
    pub(super) driver: FileDriver,
    /// Number of files, and the size of each.
    shape: (u64, u64),
    preconditioned: bool,
}

impl<'a> WorkFiles<'a> {
    /// Makes the files of a request and writes them in full, or opens its block device.
    ///
    /// # Errors
    /// [`Problem`] of a path that cannot be measured, of too little space, or of a stop before the end.
    pub fn lay_out(
        request: &'a IoRequest,
        stop: &Stop,
        on_progress: &mut dyn FnMut(IoProgress),
    ) -> Result<Self, Problem> {
        let place = Place::find(request)?;
        let files = place.open()?;
        let driver = FileDriver::usable().last().unwrap_or(FileDriver::Threads);
        let shape = (request.files(), request.pattern.file_bytes);
        let is_device = place.is_device;
        let work = Self { place, files, driver, shape, preconditioned: false };
        if !is_device {
            work.place.set_cache(&work.files, request.pattern.cache)?;
            work.write_all(request, 1, stop, on_progress)?;
        }
        Ok(work)
    }

    /// A path by which other programs of this user reach the first file, which has no name, while this one has it open.
    pub fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.files[0].as_raw_fd()).into()
    }

    /// Whether the files are those that a request needs.
    pub(super) fn fit(&self, request: &IoRequest) -> bool {
        self.shape == (request.files(), request.pattern.file_bytes)
    }

    /// Brings files and page cache into the state that a pattern begins with, and says what is not as requested.
    pub(super) fn prepare(
        &mut self,
        request: &IoRequest,
        stop: &Stop,
        on_progress: &mut dyn FnMut(IoProgress),
    ) -> Result<Vec<IoNote>, Problem> {
        refuse_writes(request, self.place.is_device)?;
        let mut notes: Vec<IoNote> =
            self.place.set_cache(&self.files, request.pattern.cache)?.into_iter().collect();
        if writes_at_random(&request.pattern) && !self.preconditioned {
            if request.precondition {
                self.write_all(request, PRECONDITION_TIMES, stop, on_progress)?;
                self.preconditioned = true;
            } else {
                notes.push(IoNote::PreconditionSkipped);
            }
        }
        if self.place.is_in_memory() {
            notes.push(IoNote::InMemory);
        } else if request.pattern.cache != IoCache::Cached {
            notes.extend(self.place.cached_below());
        }
        if request.pattern.cache == IoCache::Cached {
            self.read_all(request, stop, on_progress)?;
        } else {
            self.drop_cache(request)?;
        }
        Ok(notes)
    }

    /// Writes everything out and drops it from the page cache.
    fn drop_cache(&self, request: &IoRequest) -> Result<(), Problem> {
        let dropped = self.files.iter().try_for_each(|file| {
            if !self.place.is_device {
                file.sync_data()?;
            }
            Ok(fadvise(file, 0, None, Advice::DontNeed)?)
        });
        dropped.map_err(|error| could_not(&request.path, &error))
    }

    fn write_all(
        &self,
        request: &IoRequest,
        times: u64,
        stop: &Stop,
        on_progress: &mut dyn FnMut(IoProgress),
    ) -> Result<(), Problem> {
        let of_bytes = self.shape.0 * self.shape.1 * times;
        let mut say = |done_bytes| on_progress(IoProgress::LayingOut { done_bytes, of_bytes });
        for time in 0..times {
            let before = of_bytes / times * time;
            self.pass(request, PassOf::Writes { time: time + times }, stop, &mut |done| say(before + done))?;
        }
        let synced = self.files.iter().try_for_each(|file| file.sync_all());
        synced.map_err(|error| could_not(&request.path, &error))
    }

    fn read_all(
        &self,
        request: &IoRequest,
        stop: &Stop,
        on_progress: &mut dyn FnMut(IoProgress),
    ) -> Result<(), Problem> {
        let of_bytes = self.shape.0 * self.shape.1;
        check_memory(of_bytes)?;
        self.pass(request, PassOf::Reads, stop, &mut |done_bytes| {
            on_progress(IoProgress::Warming { done_bytes, of_bytes })
        })
    }

    /// Reads or writes all files once, one after the other.
    fn pass(
        &self,
        request: &IoRequest,
        what: PassOf,
        stop: &Stop,
        on_progress: &mut dyn FnMut(u64),
    ) -> Result<(), Problem> {
        let block = request.pattern.block_bytes;
        let piece_bytes = (PIECE_BYTES / block).max(1) * block;
        let (writes, time) = match what {
            PassOf::Writes { time } => (true, time),
            PassOf::Reads => (false, 0),
        };
        for (number, file) in (0_u64..).zip(&self.files) {
            let operations = Pass { writes, file_bytes: self.shape.1, piece_bytes, at: 0 };
            let job = FileJob { file: file.clone(), operations, depth: PASS_DEPTH, cpus: Vec::new() };
            let seed = request.seed.wrapping_add(number << 48).wrapping_add(time << 40);
            let run =
                FileRun { driver: self.driver, block_bytes: piece_bytes, ramp_ns: 0, run_ns: None, seed };
            let before = self.shape.1 * number;
            let report = run_files(&run, vec![job], stop, &mut |p| on_progress(before + p.bytes), &mut || ())
                .map_err(|error| broken(request, &error))?;
            if let Some(failed) = report.failure {
                return Err(could_not(&request.path, &failed.error).detail(failed.to_string()));
            }
            if stop.requested() {
                let what = format!("stopped before anything was measured in {}", request.path.display());
                return Err(Problem::could_not(what)
                    .hint("the files were not yet laid out. Nothing was left behind."));
            }
        }
        Ok(())
    }
}

/// What is done with every byte. Each time other contents are written.
#[derive(Debug, Clone, Copy)]
enum PassOf {
    Writes { time: u64 },
    Reads,
}

fn writes_at_random(pattern: &IoPattern) -> bool {
    pattern.order == IoOrder::Random && pattern.read_share < 1.0
}

fn check_memory(bytes: u64) -> Result<(), Problem> {
    let Some(available) = pgdyno_host::facts::memory().available_bytes else { return Ok(()) };
    if bytes as f64 <= available as f64 * MOST_CACHED {
        return Ok(());
    }
    let (bytes, available) = (units::bytes(bytes), units::bytes(available));
    let what = format!("could not keep {bytes} in the page cache: {available} of memory are available");
    Err(Problem::wrong_request(what).hint("use a smaller file, or a cold page cache"))
}

/// The problem of a run that could not begin.
pub(super) fn broken(request: &IoRequest, error: &FileRunError) -> Problem {
    let problem = Problem::could_not(format!("could not measure in {}: {error}", request.path.display()));
    match error {
        FileRunError::Thread { .. } => {
            problem.hint("use fewer jobs or a smaller depth, or raise the limit of processes")
        }
        FileRunError::Driver(_) => problem,
    }
}

#[cfg(test)]
mod tests {
    use std::io::IoSliceMut;

    use rustix::{
        fs::{Advice, fadvise},
        io::{ReadWriteFlags, preadv2},
    };

    use super::{super::request::tests::sample, *};

    /// Blocks of the file that the kernel has without asking a device.
    fn cached_blocks(file: &File, blocks: u64) -> usize {
        // Asking for a block begins to read it; without this advice also those after it, before they are asked for.
        fadvise(file, 0, None, Advice::Random).expect("it is a file");
        let mut block = vec![0; 8_192];
        let is_cached = |number: &u64| {
            let mut to = [IoSliceMut::new(&mut block)];
            preadv2(file, &mut to, number * 8_192, ReadWriteFlags::NOWAIT).is_ok_and(|bytes| bytes == 8_192)
        };
        (0..blocks).filter(is_cached).count()
    }

    #[test]
    fn the_page_cache_is_as_requested_when_the_run_begins() {
        for (cache, expected) in [(IoCache::Cold, 0), (IoCache::Cached, 128), (IoCache::Cold, 0)] {
            let mut request = sample();
            request.pattern.cache = cache;
            let stop = Stop::default();
            let mut work = WorkFiles::lay_out(&request, &stop, &mut |_| ()).expect("it can be written");
            work.prepare(&request, &stop, &mut |_| ()).expect("it is laid out");
            if work.place.is_in_memory() {
                return;
            }
            assert_eq!(cached_blocks(&work.files[0], 128), expected, "{cache:?}");
        }
    }

    #[test]
    fn files_fit_requests_of_their_shape() {
        let request = sample();
        let work = WorkFiles::lay_out(&request, &Stop::default(), &mut |_| ()).expect("it can be written");
        let mut other = request.clone();
        other.pattern.file_bytes *= 2;
        assert!(work.fit(&request) && !work.fit(&other));
    }
}
