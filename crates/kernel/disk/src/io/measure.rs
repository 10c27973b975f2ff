//! One pattern, or several on the same files: laid out, prepared, run, reported.

use std::{
    io,
    time::{Duration, Instant},
};

use pgdyno_core::{
    disk::io::{IoCache, IoDevice, IoEnd, IoMethod, IoNote, IoPattern, IoReport},
    problem::Problem,
    stop::Stop,
    units,
};
use pgdyno_engine::files::{
    FileDriver, FileJob, FileProgress, FileReport, FileRun, OperationKind, run_files,
};
use pgdyno_host::observe::{Places, Seen, WatchedServer, Watcher};

use super::{
    cpus,
    files::{WorkFiles, broken},
    offsets::PatternOperations,
    report,
    request::{IoProgress, IoRequest},
    steady,
};

/// Largest share of the available memory that buffers may take.
const MOST_MEMORY: f64 = 0.25;
/// Most threads of a run.
const MOST_THREADS: u32 = 2_048;

/// Measures one pattern.
///
/// # Errors
/// [`Problem`] of a wrong request, of a path that cannot be measured, or of a run in which nothing was measured. If an
/// operation fails later, or a stop is requested, the report has what was measured until then, and says so in
/// [`IoReport::ended`].
pub fn run(
    request: &IoRequest,
    stop: &Stop,
    on_progress: &mut dyn FnMut(IoProgress),
) -> Result<IoReport, Problem> {
    request.check()?;
    let mut work = WorkFiles::lay_out(request, stop, on_progress)?;
    run_on(&mut work, request, stop, on_progress)
}

/// Measures patterns one after the other, in place of that of the request, on the same files if they need equal ones.
/// Each report is delivered as soon as it is complete; after a stop or a failed operation none follows.
///
/// # Errors
/// As [`run`], for the first pattern; a problem of a later one ends the series, and is in the result.
pub fn run_all(
    request: &IoRequest,
    patterns: &[IoPattern],
    stop: &Stop,
    on_progress: &mut dyn FnMut(IoProgress),
) -> (Vec<IoReport>, Option<Problem>) {
    let requests: Vec<_> =
        patterns.iter().map(|pattern| IoRequest { pattern: pattern.clone(), ..request.clone() }).collect();
    let mut reports = Vec::new();
    let mut work: Option<WorkFiles<'_>> = None;
    for request in &requests {
        let files = work.take().filter(|work| work.fit(request)).map_or_else(
            || request.check().and_then(|()| WorkFiles::lay_out(request, stop, on_progress)),
            |work| request.check().map(|()| work),
        );
        let measured = files.and_then(|mut files| {
            let report = run_on(&mut files, request, stop, on_progress);
            work = Some(files);
            report
        });
        match measured {
            Ok(report) => reports.push(report),
            Err(problem) => return (reports, Some(problem)),
        }
        if reports.last().is_some_and(|report| report.ended != IoEnd::Complete) {
            break;
        }
    }
    (reports, None)
}

/// Measures a pattern on files that are laid out.
///
/// # Errors
/// As [`run`].
pub fn run_on(
    work: &mut WorkFiles<'_>,
    request: &IoRequest,
    stop: &Stop,
    on_progress: &mut dyn FnMut(IoProgress),
) -> Result<IoReport, Problem> {
    let mut pattern = request.pattern.clone();
    let mut notes = work.prepare(request, stop, on_progress)?;
    if notes.iter().any(|note| matches!(note, IoNote::BufferedInstead { .. })) {
        pattern.cache = IoCache::Cold;
    }
    let driver = choose(&mut pattern, &mut notes, FileDriver::IoUring.check());
    pin(&mut pattern, &mut notes, cpus::allowed().as_deref());
    check_resources(&pattern)?;
    let run = FileRun {
        driver,
        block_bytes: pattern.block_bytes,
        ramp_ns: request.ramp.as_nanos() as u64,
        run_ns: Some(request.duration.as_nanos() as u64),
        seed: request.seed,
    };
    let of_s = (request.ramp + request.duration).as_secs_f64();
    let mut below = Below::new(request);
    let mut say = |FileProgress { elapsed_ns, operations, bytes }| {
        let elapsed_s = (elapsed_ns as f64 / 1e9).min(of_s);
        on_progress(IoProgress::Running { elapsed_s, of_s, operations, bytes });
    };
    let jobs = jobs(work, &pattern, request.seed);
    let measured =
        run_files(&run, jobs, stop, &mut say, &mut || below.edge()).map_err(|e| broken(request, &e))?;
    if measured.tally.operations() == 0 {
        return Err(nothing(request, &measured, stop));
    }
    let ended = report::end(&measured, request.duration.as_nanos() as u64, stop.requested());
    let syncs = pattern.sync_at_end && !matches!(ended, IoEnd::Failed { .. });
    let mut report = assemble(request, pattern, notes, &measured, ended);
    report.devices = below.devices();
    if syncs {
        match sync(work) {
            Ok(took) => report.sync_at_end_s = Some(took.as_secs_f64()),
            Err(error) => report.ended = IoEnd::Failed { why: format!("fdatasync at the end: {error}") },
        }
    }
    Ok(report)
}

/// io_uring if it was requested and can be had, else threads.
fn choose(pattern: &mut IoPattern, notes: &mut Vec<IoNote>, io_uring: io::Result<()>) -> FileDriver {
    match (pattern.method, io_uring) {
        (IoMethod::Threads, _) => FileDriver::Threads,
        (IoMethod::IoUring, Ok(())) => FileDriver::IoUring,
        (IoMethod::IoUring, Err(error)) => {
            pattern.method = IoMethod::Threads;
            notes.push(IoNote::ThreadsInstead { why: error.to_string() });
            FileDriver::Threads
        }
    }
}

/// Keeps the requested CPUs that are allowed, and says if jobs share them.
fn pin(pattern: &mut IoPattern, notes: &mut Vec<IoNote>, allowed: Option<&[u32]>) {
    if pattern.cpus.is_empty() {
        return;
    }
    pattern.cpus = cpus::usable(&pattern.cpus, allowed);
    if pattern.cpus.len() < usize::from(pattern.jobs) {
        notes.push(IoNote::FewerCpus { cpus: pattern.cpus.clone() });
    }
}

fn check_resources(pattern: &IoPattern) -> Result<(), Problem> {
    let in_flight = u32::from(pattern.depth) * u32::from(pattern.jobs);
    if pattern.method == IoMethod::Threads && in_flight > MOST_THREADS {
        let what =
            format!("could not keep {in_flight} operations in flight: without io_uring each needs a thread");
        return Err(Problem::could_not(what)
            .detail(format!("pgdyno starts at most {MOST_THREADS} threads"))
            .hint("use fewer jobs or a smaller depth"));
    }
    let needed = u64::from(in_flight) * u64::from(pattern.block_bytes);
    let available = pgdyno_host::facts::memory().available_bytes.unwrap_or(u64::MAX);
    if needed as f64 <= available as f64 * MOST_MEMORY {
        return Ok(());
    }
    let (needed, available) = (units::bytes(needed), units::bytes(available));
    let what = format!("could not keep {in_flight} operations in flight: their buffers need {needed}");
    let detail = format!("{available} of memory are available, of which a quarter may be used");
    Err(Problem::wrong_request(what).detail(detail).hint("use fewer jobs, a smaller depth or smaller blocks"))
}

fn jobs(work: &WorkFiles<'_>, pattern: &IoPattern, seed: u64) -> Vec<FileJob<PatternOperations>> {
    let job = |number: u16| FileJob {
        file: work.files[usize::from(number) % work.files.len()].clone(),
        operations: PatternOperations::new(pattern, number, seed),
        depth: pattern.depth,
        cpus: pattern
            .cpus
            .get(usize::from(number) % pattern.cpus.len().max(1))
            .into_iter()
            .copied()
            .collect(),
    };
    (0..pattern.jobs).map(job).collect()
}

/// Makes all files durable; returns how long that took.
fn sync(work: &WorkFiles<'_>) -> io::Result<Duration> {
    let begun = Instant::now();
    work.files.iter().try_for_each(|file| file.sync_data()).map(|()| begun.elapsed())
}

fn nothing(request: &IoRequest, measured: &FileReport, stop: &Stop) -> Problem {
    let (what, path) = (&request.pattern.name, request.path.display());
    match &measured.failure {
        Some(failed) => Problem::could_not(format!("could not measure {what} in {path}: {failed}")),
        None if stop.requested() => {
            Problem::could_not(format!("stopped before {what} was measured in {path}"))
        }
        None => {
            Problem::could_not(format!("could not measure {what} in {path}: no operation ended in that time"))
                .hint("measure for a longer time")
        }
    }
}

fn assemble(
    request: &IoRequest,
    pattern: IoPattern,
    notes: Vec<IoNote>,
    measured: &FileReport,
    ended: IoEnd,
) -> IoReport {
    let seconds = report::seconds(measured);
    let rates: Vec<f64> = seconds.iter().map(|second| (second.reads + second.writes) as f64).collect();
    IoReport {
        path: request.path.display().to_string(),
        pattern,
        notes,
        seed: request.seed,
        ramp_s: request.ramp.as_secs_f64(),
        duration_s: measured.measured_ns as f64 / 1e9,
        reads: report::figures(measured, OperationKind::Read),
        writes: report::figures(measured, OperationKind::Write),
        syncs: report::figures(measured, OperationKind::Sync),
        write_backs: report::figures(measured, OperationKind::WriteBack),
        sync_at_end_s: None,
        cpu: report::cpu(measured),
        devices: Vec::new(),
        seconds,
        steady: steady::judge(&rates),
        ended,
    }
}

/// The devices below during the measured interval.
struct Below {
    watcher: Watcher,
    seen: Option<Seen>,
    edges: u32,
}

impl Below {
    fn new(request: &IoRequest) -> Self {
        let mut watcher = Watcher::begin();
        let places = Places { data: Some(request.path.clone()), ..Places::default() };
        watcher.watch(0, WatchedServer { places, ..WatchedServer::default() });
        Self { watcher, seen: None, edges: 0 }
    }

    /// The measured interval begins, or ends.
    fn edge(&mut self) {
        let (seen, _) = self.watcher.read();
        self.edges += 1;
        if self.edges == 2 {
            self.seen = Some(seen);
        }
    }

    fn devices(self) -> Vec<IoDevice> {
        let seen = self.seen.iter().flat_map(|seen| self.watcher.devices(0, seen));
        seen.map(report::device).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{super::request::tests::sample, *};

    #[test]
    fn io_uring_that_is_refused_is_replaced_and_said() {
        let chosen = |method, io_uring: io::Result<()>| {
            let (mut pattern, mut notes) = (IoPattern { method, ..sample().pattern }, Vec::new());
            (choose(&mut pattern, &mut notes, io_uring), pattern.method, notes)
        };
        let refused = || Err(io::ErrorKind::PermissionDenied.into());
        let (uring, threads) =
            ((FileDriver::IoUring, IoMethod::IoUring), (FileDriver::Threads, IoMethod::Threads));
        assert_eq!(chosen(IoMethod::IoUring, Ok(())), (uring.0, uring.1, Vec::new()));
        assert_eq!(chosen(IoMethod::Threads, Ok(())), (threads.0, threads.1, Vec::new()));
        assert_eq!(chosen(IoMethod::Threads, refused()), (threads.0, threads.1, Vec::new()));
        let why = "permission denied".to_owned();
        let note = vec![IoNote::ThreadsInstead { why }];
        assert_eq!(chosen(IoMethod::IoUring, refused()), (threads.0, threads.1, note));
    }

    #[test]
    fn jobs_are_bound_to_the_cpus_that_are_allowed() {
        let bound = |cpus: &[u32], jobs| {
            let (mut pattern, mut notes) =
                (IoPattern { cpus: cpus.to_vec(), jobs, ..sample().pattern }, Vec::new());
            pin(&mut pattern, &mut notes, Some(&[0, 2]));
            (pattern.cpus, notes.len())
        };
        assert_eq!(bound(&[2, 1, 0], 2), (vec![2, 0], 0));
        assert_eq!(bound(&[2, 1, 0], 3), (vec![2, 0], 1));
        assert_eq!(bound(&[1], 1), (vec![], 1));
        assert_eq!(bound(&[], 4), (vec![], 0));
    }

    #[test]
    fn threads_and_memory_are_limited() {
        let wide = IoPattern { depth: 1_024, jobs: 3, method: IoMethod::Threads, ..sample().pattern };
        assert!(
            check_resources(&wide).is_err_and(|problem| problem.what.contains("3072 operations in flight"))
        );
        let heavy = IoPattern { depth: 1_024, jobs: 256, block_bytes: 1 << 20, ..sample().pattern };
        assert!(check_resources(&heavy).is_err_and(|problem| problem.what.contains("buffers need 256 GiB")));
        assert_eq!(check_resources(&sample().pattern), Ok(()));
    }
}
