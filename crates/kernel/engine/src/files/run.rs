//! A run: the threads of all jobs, from their common begin to what they measured together.

use std::{
    fs::File,
    io,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread,
    time::Duration,
};

use pgdyno_core::stop::Stop;

use super::{
    block_buffers::buffers_of_each,
    cpu_time::CpuTime,
    driver::FileDriver,
    lane::{Common, FailedOperation, Lane, LaneReport, Live},
    operation::Operations,
    tally::{FileTally, Measured},
    threads::{self, Shared},
    uring,
};
use crate::{Clock, pin_current_thread};

/// How often progress is reported.
const REPORT_EVERY: Duration = Duration::from_millis(200);
/// Longest measured interval: jobs without a duration end by themselves.
const NO_END_NS: u64 = u64::MAX / 4;

/// A file, the operations on it, and how many of them are in flight at one time.
#[derive(Debug)]
pub struct FileJob<G> {
    /// The file. Opened with `O_DIRECT`, it needs offsets and lengths that its device allows.
    pub file: Arc<File>,
    /// What to do, operation by operation.
    pub operations: G,
    /// Operations in flight, from 1 to 1,024.
    pub depth: u16,
    /// CPUs of its threads; all if empty.
    pub cpus: Vec<u32>,
}

/// How a run is made.
#[derive(Debug, Clone)]
pub struct FileRun {
    /// How operations are kept in flight.
    pub driver: FileDriver,
    /// Length of the longest operation in bytes.
    pub block_bytes: u32,
    /// Time before the measured interval, in nanoseconds.
    pub ramp_ns: u64,
    /// Length of the measured interval in nanoseconds; `None` until the operations of all jobs have ended.
    pub run_ns: Option<u64>,
    /// Determines what is written.
    pub seed: u64,
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileProgress {
    /// Since the begin of the ramp time, in nanoseconds.
    pub elapsed_ns: u64,
    /// Operations that have ended.
    pub operations: u64,
    /// Bytes read and written.
    pub bytes: u64,
}

/// What a run measured.
#[derive(Debug)]
pub struct FileReport {
    /// Operations of all jobs that ended in the measured interval.
    pub tally: FileTally,
    /// Length of the measured interval in nanoseconds, as far as it came.
    pub measured_ns: u64,
    /// CPU time of the whole process in the measured interval, with the threads that the kernel started for io_uring;
    /// `None` if the interval did not begin.
    pub process_cpu: Option<CpuTime>,
    /// The first operation that failed. It ended the run.
    pub failure: Option<FailedOperation>,
}

/// Why a run could not begin or continue.
#[derive(Debug, thiserror::Error)]
pub enum FileRunError {
    /// A thread could not be started.
    #[error("could not start thread {number} of {of}: {error}")]
    Thread {
        /// Its number, from 1.
        number: usize,
        /// Number of threads.
        of: usize,
        /// The kernel's error.
        error: io::Error,
    },
    /// A thread could not be bound to its CPUs, or the driver could not be set up or waited for.
    #[error("{0}")]
    Driver(io::Error),
}

enum Message {
    Ready,
    Unable(io::Error),
    Ended(Option<Box<LaneReport>>),
}

/// When the measured interval is, once all threads are ready; `None` if one of them could not be.
type BeginOf = OnceLock<Option<Measured>>;

/// Runs jobs together, and reports progress about five times a second. `at_edge` is called at the beginning and at the
/// end of the measured interval.
///
/// After a request to stop, operations in flight are waited for and none begins.
///
/// # Errors
/// [`FileRunError`]; an operation that fails is no error of the run, but part of its report.
pub fn run_files<G: Operations>(
    run: &FileRun,
    jobs: Vec<FileJob<G>>,
    stop: &Stop,
    on_progress: &mut dyn FnMut(FileProgress),
    at_edge: &mut dyn FnMut(),
) -> Result<FileReport, FileRunError> {
    let common = Common { stop, failed: AtomicBool::new(false), live: Live::default() };
    let (begin, (to, from)) = (BeginOf::new(), channel());
    let depths = jobs.iter().map(|job| usize::from(job.depth));
    let lanes: usize = if run.driver == FileDriver::IoUring { jobs.len() } else { depths.sum() };
    thread::scope(|scope| {
        let spawner = Spawner { run, common: &common, begin: &begin, to, lanes };
        let spawned = spawner.spawn_all(scope, jobs);
        let started = spawned.and_then(|()| await_ready(&from, lanes));
        if let Err(error) = started {
            let _ = begin.set(None);
            return Err(error);
        }
        let measured = measured(run, Clock::now_ns());
        let _ = begin.set(Some(measured));
        collect(&from, lanes, measured, &common, (on_progress, at_edge))
    })
}

fn measured(run: &FileRun, start_ns: u64) -> Measured {
    let begin_ns = start_ns.saturating_add(run.ramp_ns);
    Measured { begin_ns, end_ns: begin_ns.saturating_add(run.run_ns.unwrap_or(NO_END_NS)) }
}

/// Starts the threads of jobs.
struct Spawner<'a> {
    run: &'a FileRun,
    common: &'a Common<'a>,
    begin: &'a BeginOf,
    to: Sender<Message>,
    lanes: usize,
}

impl<'a> Spawner<'a> {
    fn spawn_all<'scope, G: Operations + 'scope>(
        self,
        scope: &'scope thread::Scope<'scope, 'a>,
        jobs: Vec<FileJob<G>>,
    ) -> Result<(), FileRunError>
    where
        'a: 'scope,
    {
        let mut number = 0;
        for FileJob { file, operations, depth, cpus } in jobs {
            let depth = usize::from(depth);
            let buffers = |threads| self.buffers_of_each(threads, depth, operations.writes());
            if self.run.driver == FileDriver::IoUring {
                let lane = self.lane(&mut number, file, buffers(1), operations);
                let work = move |begin: Waiter<'a>| uring::drive(lane, depth, || begin.wait());
                self.spawn(scope, number, cpus, work)?;
                continue;
            }
            let buffers = buffers(depth);
            let source = Shared::new(operations);
            for _ in 0..depth {
                let lane = self.lane(&mut number, file.clone(), buffers, source.clone());
                let work = move |begin: Waiter<'a>| Ok(threads::drive(lane, || begin.wait()));
                self.spawn(scope, number, cpus.clone(), work)?;
            }
        }
        Ok(())
    }

    /// Number and size of the buffers of each of the threads of a job.
    fn buffers_of_each(&self, threads: usize, depth: usize, writes: bool) -> (usize, usize) {
        let block_bytes = self.run.block_bytes as usize;
        (buffers_of_each(threads, depth, block_bytes, writes), block_bytes)
    }

    fn lane<S>(
        &self,
        number: &mut usize,
        file: Arc<File>,
        buffers: (usize, usize),
        source: S,
    ) -> Lane<'a, S> {
        *number += 1;
        let seed = self.run.seed.wrapping_add((*number as u64) << 32);
        Lane { file, source, buffers, seed, common: self.common }
    }

    fn spawn<'scope>(
        &self,
        scope: &'scope thread::Scope<'scope, 'a>,
        number: usize,
        cpus: Vec<u32>,
        work: impl FnOnce(Waiter<'a>) -> io::Result<Option<LaneReport>> + Send + 'scope,
    ) -> Result<(), FileRunError>
    where
        'a: 'scope,
    {
        let to = self.to.clone();
        let waiter = Waiter { begin: self.begin, to: to.clone() };
        let body = move || {
            let message = match pin_current_thread(&cpus).and_then(|()| work(waiter)) {
                Ok(report) => Message::Ended(report.map(Box::new)),
                Err(error) => Message::Unable(error),
            };
            // The collecting thread has given up.
            let _ = to.send(message);
        };
        let spawned = thread::Builder::new().name(format!("io {number}")).spawn_scoped(scope, body);
        spawned.map(drop).map_err(|error| FileRunError::Thread { number, of: self.lanes, error })
    }
}

/// Waits for the common begin.
struct Waiter<'a> {
    begin: &'a BeginOf,
    to: Sender<Message>,
}

impl Waiter<'_> {
    fn wait(self) -> Option<Measured> {
        let _ = self.to.send(Message::Ready);
        *self.begin.wait()
    }
}

fn await_ready(from: &Receiver<Message>, lanes: usize) -> Result<(), FileRunError> {
    for _ in 0..lanes {
        match from.recv() {
            Ok(Message::Unable(error)) => return Err(FileRunError::Driver(error)),
            Ok(Message::Ready | Message::Ended(_)) => {}
            Err(_) => return Err(FileRunError::Driver(io::ErrorKind::BrokenPipe.into())),
        }
    }
    Ok(())
}

/// Adds up what the threads report.
fn collect(
    from: &Receiver<Message>,
    lanes: usize,
    measured: Measured,
    common: &Common<'_>,
    (on_progress, at_edge): (&mut dyn FnMut(FileProgress), &mut dyn FnMut()),
) -> Result<FileReport, FileRunError> {
    let mut report =
        FileReport { tally: FileTally::default(), measured_ns: 0, process_cpu: None, failure: None };
    let (mut left, mut broken, mut ended_ns) = (lanes, None, measured.begin_ns);
    let start_ns = Clock::now_ns();
    let mut edges = Edges { measured, begin: None, end: None };
    while left > 0 {
        edges.pass(at_edge);
        match from.recv_timeout(edges.until_next().min(REPORT_EVERY)) {
            Ok(Message::Ended(lane)) => {
                left -= 1;
                let Some(lane) = lane else { continue };
                report.tally.add(&lane.tally);
                ended_ns = ended_ns.max(lane.ended_ns);
                report.failure = report.failure.take().or(lane.failure);
            }
            Ok(Message::Unable(error)) => {
                left -= 1;
                common.failed.store(true, Ordering::Relaxed);
                broken.get_or_insert(error);
            }
            Ok(Message::Ready) => {}
            Err(RecvTimeoutError::Timeout) => on_progress(progress(&common.live, start_ns)),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    on_progress(progress(&common.live, start_ns));
    report.measured_ns = ended_ns.min(measured.end_ns).saturating_sub(measured.begin_ns);
    report.process_cpu = edges.finish(at_edge);
    broken.map_or(Ok(report), |error| Err(FileRunError::Driver(error)))
}

fn progress(live: &Live, start_ns: u64) -> FileProgress {
    FileProgress {
        elapsed_ns: Clock::now_ns().saturating_sub(start_ns),
        operations: live.operations.load(Ordering::Relaxed),
        bytes: live.bytes.load(Ordering::Relaxed),
    }
}

/// Reads the CPU time of the process at both ends of the measured interval.
struct Edges {
    measured: Measured,
    begin: Option<CpuTime>,
    end: Option<CpuTime>,
}

impl Edges {
    fn pass(&mut self, at_edge: &mut dyn FnMut()) {
        let now_ns = Clock::now_ns();
        if self.begin.is_none() && now_ns >= self.measured.begin_ns {
            at_edge();
            self.begin = Some(CpuTime::of_this_process());
        }
        if self.begin.is_some() && self.end.is_none() && now_ns >= self.measured.end_ns {
            self.end = Some(CpuTime::of_this_process());
            at_edge();
        }
    }

    fn until_next(&self) -> Duration {
        let next_ns = if self.begin.is_none() { self.measured.begin_ns } else { self.measured.end_ns };
        let left_ns = next_ns.saturating_sub(Clock::now_ns());
        let passed = self.end.is_some();
        Duration::from_nanos(if passed { u64::MAX } else { left_ns })
    }

    fn finish(mut self, at_edge: &mut dyn FnMut()) -> Option<CpuTime> {
        let begin = self.begin?;
        let end = self.end.take().unwrap_or_else(|| {
            let now = CpuTime::of_this_process();
            at_edge();
            now
        });
        Some(end.since(&begin))
    }
}
