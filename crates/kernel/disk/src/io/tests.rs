//! Measurements of the file system that the tests lie on.

use std::{fs, path::Path, process::Command, time::Duration};

use pgdyno_core::{
    disk::io::{IoCache, IoEnd, IoFiles, IoMethod, IoNote, IoOrder, IoPattern, IoReport},
    stop::Stop,
};

use super::{IoProgress, IoRequest, request::tests::sample, run, run_all, saturate};

/// A request in a new directory, which is to be empty afterwards. Direct I/O where it is allowed.
struct Bench {
    dir: tempfile::TempDir,
    request: IoRequest,
}

impl Bench {
    fn new(change: impl FnOnce(&mut IoPattern)) -> Self {
        let dir = tempfile::tempdir_in(".").expect("a directory can be made");
        let mut request = IoRequest { path: dir.path().to_owned(), may_buffer: true, ..sample() };
        change(&mut request.pattern);
        Self { dir, request }
    }

    fn run(&self) -> IoReport {
        let report = run(&self.request, &Stop::default(), &mut |_| ()).expect("it can be measured");
        assert_eq!(left_in(self.dir.path()), 0, "nothing stays");
        report
    }
}

fn left_in(dir: &Path) -> usize {
    fs::read_dir(dir).expect("it is there").count()
}

#[test]
fn reads_and_writes_are_reported_apart() {
    for (order, read_share) in [
        (IoOrder::Random, 1.0),
        (IoOrder::Random, 0.0),
        (IoOrder::Sequential, 1.0),
        (IoOrder::Sequential, 0.5),
    ] {
        let bench = Bench::new(|p| (p.order, p.read_share, p.jobs) = (order, read_share, 2));
        let report = bench.run();
        assert_eq!((report.reads.is_some(), report.writes.is_some()), (read_share > 0.0, read_share < 1.0));
        for figures in report.reads.iter().chain(&report.writes) {
            let counted = figures.count as f64 / report.duration_s;
            assert!((figures.rate_per_s / counted - 1.0).abs() < 1e-9, "{figures:?}");
            assert!((figures.bytes_per_s / figures.rate_per_s - 8_192.0).abs() < 1e-6, "{figures:?}");
            assert!(figures.latency.max_ns as f64 >= figures.latency.mean_ns, "{figures:?}");
        }
        assert!((report.duration_s - 0.2).abs() < 1e-9 && report.ended == IoEnd::Complete, "{report:?}");
        let cpu = report.cpu.as_ref().expect("operations ended");
        assert!(cpu.user_s_per_op + cpu.system_s_per_op > 0.0 && cpu.process_s_per_op > 0.0, "{cpu:?}");
        let skipped = report.notes.contains(&IoNote::PreconditionSkipped);
        assert_eq!(skipped, order == IoOrder::Random && read_share < 1.0);
        assert_eq!((report.syncs.is_some(), report.write_backs.is_some()), (false, false));
        let text = serde_json::to_string(&report).expect("it is plain data");
        assert_eq!(serde_json::from_str::<IoReport>(&text).expect("it was just written"), report);
    }
}

/// The requests that reach a device are those of the pattern, if they bypass the page cache: as many bytes and requests
/// at the least, other programs may add some.
#[test]
fn the_device_below_books_direct_reads() {
    let bench = Bench::new(|p| p.depth = 8);
    let report = bench.run();
    let reads = report.reads.as_ref().expect("it reads");
    let buffered = report.notes.iter().any(|note| matches!(note, IoNote::BufferedInstead { .. }));
    if buffered || report.devices.is_empty() {
        return;
    }
    let disk = &report.devices[0];
    // The device is read at the edges by another thread, up to some milliseconds later.
    assert!(disk.mean.read_bytes_per_s > 0.5 * reads.bytes_per_s, "{disk:?} {reads:?}");
    assert!(disk.request_bytes.is_some_and(|bytes| bytes >= 512.0) && disk.mean.queue > 0.0, "{disk:?}");
}

#[test]
fn syncs_follow_writes_and_can_end_a_run() {
    for method in [IoMethod::Threads, IoMethod::IoUring] {
        let bench = Bench::new(|p| {
            (p.order, p.read_share, p.depth) = (IoOrder::Sequential, 0.0, 1);
            (p.method, p.sync_after_writes, p.cache) = (method, Some(3), IoCache::Cold);
            p.write_back_after_bytes = Some(2 * 8_192);
            p.sync_at_end = true;
        });
        let report = bench.run();
        let count =
            |figures: &Option<pgdyno_core::disk::io::IoFigures>| figures.as_ref().map_or(0, |f| f.count);
        let (writes, syncs, write_backs) =
            (count(&report.writes), count(&report.syncs), count(&report.write_backs));
        assert!(writes.abs_diff(3 * syncs) <= 3, "{method:?}: {writes} writes, {syncs} syncs");
        // Where the file begins again, two neighbouring writes are two ranges.
        assert!(write_backs >= (writes / 2).saturating_sub(2), "{method:?}: {writes} {write_backs}");
        assert!(report.sync_at_end_s.is_some_and(|took| took >= 0.0));
    }
}

#[test]
fn without_io_uring_each_operation_in_flight_has_a_thread() {
    let bench = Bench::new(|p| (p.method, p.depth, p.jobs) = (IoMethod::Threads, 3, 2));
    let report = bench.run();
    assert_eq!(report.pattern.method, IoMethod::Threads);
    assert!(report.reads.is_some_and(|reads| reads.count > 0));
}

#[test]
fn a_file_each_and_a_warm_page_cache() {
    let bench = Bench::new(|p| (p.files, p.jobs, p.cache) = (IoFiles::OneEach, 3, IoCache::Cached));
    let mut warmed = 0;
    let mut on_progress = |progress| {
        if let IoProgress::Warming { done_bytes, of_bytes } = progress {
            assert_eq!(of_bytes, 3 << 20);
            warmed = done_bytes;
        }
    };
    let report = run(&bench.request, &Stop::default(), &mut on_progress).expect("it can be measured");
    assert_eq!((warmed, report.pattern.cache), (3 << 20, IoCache::Cached));
    let (reads, devices) = (report.reads.expect("it reads"), report.devices);
    // What the page cache has does not reach a device.
    let fetched = devices.first().map_or(0.0, |disk| disk.mean.read_bytes_per_s);
    assert!(fetched < 0.5 * reads.bytes_per_s, "{fetched} of {reads:?}");
}

#[test]
fn preconditioning_writes_everything_twice() {
    let mut bench = Bench::new(|p| p.read_share = 0.0);
    bench.request.precondition = true;
    let mut written = Vec::new();
    let mut on_progress = |progress| {
        if let IoProgress::LayingOut { done_bytes, of_bytes } = progress {
            written.push((done_bytes, of_bytes));
        }
    };
    let report = run(&bench.request, &Stop::default(), &mut on_progress).expect("it can be measured");
    assert!(!report.notes.contains(&IoNote::PreconditionSkipped));
    assert!(written.contains(&(1 << 20, 1 << 20)) && written.contains(&(2 << 20, 2 << 20)), "{written:?}");
}

#[test]
fn a_stop_keeps_what_was_measured() {
    let mut bench = Bench::new(|_| ());
    bench.request.duration = Duration::from_secs(3_600);
    let stop = Stop::default();
    let mut on_progress = |progress| {
        if matches!(progress, IoProgress::Running { operations, .. } if operations > 0) {
            stop.request("enough");
        }
    };
    let report = run(&bench.request, &stop, &mut on_progress).expect("something was measured");
    assert!(report.ended == IoEnd::Stopped && report.duration_s < 3_600.0, "{report:?}");
    assert!(report.failure().is_none() && report.reads.is_some_and(|reads| reads.count > 0));
    assert_eq!(left_in(bench.dir.path()), 0);
}

#[test]
fn a_stop_before_the_run_is_a_problem_and_leaves_nothing() {
    let bench = Bench::new(|_| ());
    let stop = Stop::default();
    stop.request("at once");
    let problem = run(&bench.request, &stop, &mut |_| ()).expect_err("nothing was measured");
    assert!(problem.what.starts_with("stopped before anything was measured"), "{problem}");
    assert_eq!(left_in(bench.dir.path()), 0);
}

#[test]
fn patterns_of_one_shape_share_their_files() {
    let bench = Bench::new(|_| ());
    let read = bench.request.pattern.clone();
    let write = IoPattern { name: "random write".into(), read_share: 0.0, ..read.clone() };
    let smaller = IoPattern { file_bytes: 1 << 19, ..read.clone() };
    let mut laid_out = 0;
    let mut on_progress = |progress| {
        laid_out += u32::from(
            matches!(progress, IoProgress::LayingOut { done_bytes, of_bytes } if done_bytes == of_bytes),
        );
    };
    let (reports, problem) =
        run_all(&bench.request, &[read.clone(), write, smaller], &Stop::default(), &mut on_progress);
    assert_eq!((reports.len(), problem, laid_out), (3, None, 2));
    let wrong = IoPattern { depth: 0, ..read.clone() };
    let (reports, problem) = run_all(&bench.request, &[read, wrong], &Stop::default(), &mut |_| ());
    assert!(reports.len() == 1 && problem.is_some_and(|problem| problem.what.starts_with("the depth")));
}

#[test]
fn a_sweep_doubles_what_is_in_flight() {
    let mut bench = Bench::new(|p| (p.depth, p.jobs) = (4, 2));
    bench.request.duration = Duration::from_millis(50);
    let saturation = saturate(&bench.request, &Stop::default(), &mut |_| ()).expect("it can be measured");
    let points: Vec<_> = saturation.curve.iter().map(|p| (p.in_flight, p.jobs, p.depth)).collect();
    let all = [(1, 1, 1), (2, 2, 1), (4, 2, 2), (8, 2, 4)];
    // It may end earlier, where the knee is passed.
    assert!(points.len() >= 3 && points == all[..points.len()], "{points:?}");
    assert!(points.len() == 4 || saturation.knee.is_some());
    assert!(saturation.curve.iter().all(|p| p.rate_per_s > 0.0 && p.latency_ns_mean > 0.0), "{saturation:?}");
    assert_eq!(saturation.effective_io_concurrency, saturation.knee);
}

/// A loop device over a file of known contents: it is read, and remains as it was.
#[test]
fn a_block_device_is_read_and_stays_as_it_was() {
    let dir = tempfile::tempdir_in(".").expect("a directory can be made");
    let image = dir.path().join("disk.img");
    let contents: Vec<u8> = (0..2_u32 << 20).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    fs::write(&image, &contents).expect("it can be written");
    let Some(device) = losetup(&["--find", "--show", &image.display().to_string()]) else {
        eprintln!("left out: loop devices need root");
        return;
    };
    let request = IoRequest { path: device.trim().into(), may_buffer: true, ..sample() };
    let report = run(&request, &Stop::default(), &mut |_| ());
    let mut larger = request.clone();
    larger.pattern.file_bytes = 4 << 20;
    let problem = run(&larger, &Stop::default(), &mut |_| ());
    losetup(&["--detach", device.trim()]).expect("it was attached");
    assert!(report.expect("it can be read").reads.is_some_and(|reads| reads.count > 0));
    assert!(problem.expect_err("it is too small").what.contains("it has 2 MiB"));
    assert!(fs::read(&image).expect("it is there") == contents, "not a byte has changed");
}

fn losetup(arguments: &[&str]) -> Option<String> {
    let output = Command::new("losetup").args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

mod alone {
    use crate::layer::{Behaviour, Delay, Injection, Share, mount};

    use super::*;

    /// One read in ten takes 200 ms, the others 5 ms: beyond what the layer itself takes, the percentiles are these.
    #[test]
    #[ignore = "must run alone: the latencies are those of this machine; `cargo xtask test-all` runs it"]
    fn planted_latencies_are_found() {
        let [below, at] = [(); 2].map(|()| tempfile::tempdir_in(".").expect("a directory can be made"));
        let share = |share, ms| Share { share, delay: Duration::from_millis(ms) };
        let reads =
            Injection { delay: Delay::Drawn(vec![share(0.9, 5), share(0.1, 200)]), ..Injection::default() };
        let behaviour = Behaviour { reads, ..Behaviour::default() };
        let _mounted = match mount(below.path(), at.path(), behaviour) {
            Ok(mounted) => mounted,
            Err(problem) => return println!("left out: {problem}"),
        };
        let pattern = IoPattern { depth: 64, ..sample().pattern };
        let duration = Duration::from_secs(6);
        let request = IoRequest { path: at.path().to_owned(), pattern, duration, ..sample() };
        let report = run(&request, &Stop::default(), &mut |_| ()).expect("it can be measured");
        let latency = report.reads.expect("there are reads").latency;
        println!("{latency:?}");
        let [p50_ms, p99_ms] =
            [latency.p50_ns, latency.p99_ns].map(|ns| ns.expect("enough samples") as f64 / 1e6);
        assert!((5.0..5.5).contains(&p50_ms), "{p50_ms} ms");
        assert!((200.0..202.0).contains(&p99_ms), "{p99_ms} ms");
    }
}
