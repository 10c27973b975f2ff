//! Runs that begin together, and are added up: on threads, as lines of another process, or partly lost.

use std::{sync::Arc, thread, time::Duration};

use pgdyno_core::stop::Stop;
use pgdyno_engine::{
    Begin, Bookkeeping, Client, Listeners, MergedInterval, Merger, NullTarget, Report, Settings,
    SocketDriver, StartLine, run_keeping,
};

/// The intervals and the report of a run.
type Measured = (Vec<MergedInterval>, Report);

/// Runs of two workers each that begin together, each of which measures longer than its predecessor by this.
fn driven(runs: usize) -> Vec<Measured> {
    let line = Arc::new(StartLine::new(runs, Duration::from_millis(2)));
    let one = |number: usize| {
        let line = Arc::clone(&line);
        thread::spawn(move || {
            // A run that is late holds the others up.
            thread::sleep(Duration::from_millis(20 * number as u64));
            measured(line)
        })
    };
    let all: Vec<_> = (0..runs).map(one).collect();
    all.into_iter().map(|run| run.join().expect("it works")).collect()
}

fn measured(line: Arc<StartLine>) -> Measured {
    let settings =
        Settings { warmup_ns: 20_000_000, interval_ns: 30_000_000, ..Settings::closed(100_000_000, 1) };
    let begin = Begin::when(move || {
        line.arrive();
        line.wait(&Stop::default())
    });
    let bookkeeping = Bookkeeping { begin, ..Bookkeeping::default() };
    let workers = (0..2).map(|_| vec![Client { target: NullTarget, io: None }]).collect();
    let mut intervals = Vec::new();
    let listeners = Listeners {
        on_interval: &mut |interval: &MergedInterval| intervals.push(interval.clone()),
        on_mark: &mut |_| (),
        on_log: &mut |_, _| (),
    };
    let stop = Stop::default();
    let report = run_keeping(SocketDriver::Epoll, workers, &settings, &bookkeeping, &stop, listeners);
    (intervals, report.expect("it works"))
}

/// Adds up runs whose intervals come in the order of the runs.
fn merged(runs: Vec<Measured>) -> (Vec<MergedInterval>, Report) {
    let (mut merger, mut all) = (Merger::new(runs.len()), Vec::new());
    for (run, (intervals, report)) in runs.into_iter().enumerate() {
        intervals.into_iter().for_each(|one| merger.interval(run, one).expect("it adds up"));
        merger.ended(run, Some(report));
    }
    while let Some(interval) = merger.next_complete() {
        all.push(interval);
    }
    (all, merger.finish(&Stop::default()).0)
}

#[test]
fn runs_that_begin_together_have_the_same_intervals() {
    let runs = driven(3);
    let edges = |(intervals, _): &Measured| {
        let edge = |interval: &MergedInterval| (interval.clock_ns, interval.phase);
        intervals.iter().map(edge).collect::<Vec<_>>()
    };
    assert_eq!(edges(&runs[0]), edges(&runs[1]));
    assert_eq!(edges(&runs[0]), edges(&runs[2]));
}

#[test]
fn what_is_added_up_is_counts_and_histograms() {
    let runs = driven(2);
    let sum = |of: fn(&Report) -> u64| runs.iter().map(|(_, report)| of(report)).sum::<u64>();
    let committed = sum(|report| report.counts.committed);
    let whole_committed = sum(|report| report.counts_whole.committed);
    let (samples, cpu_ns) = (sum(|report| report.latency.count()), sum(|report| report.cpu_ns));
    let mut latency = runs[0].1.latency.clone();
    latency.add(&runs[1].1.latency);
    let waited_ns: Option<u64> = runs.iter().map(|(_, report)| report.waited_ns).sum();
    let busiest = runs.iter().map(|(_, report)| report.busiest_worker).fold(0.0, f64::max);
    let lengths: Vec<_> = runs.iter().map(|(intervals, _)| intervals.len()).collect();
    let (intervals, whole) = merged(runs);
    assert!(committed > 0 && intervals.len() == lengths[0] && lengths[0] == lengths[1]);
    assert_eq!((whole.counts.committed, whole.counts_whole.committed), (committed, whole_committed));
    assert_eq!((whole.duration_ns, whole.latency.count(), whole.cpu_ns), (100_000_000, samples, cpu_ns));
    assert_eq!(whole.latency, latency);
    assert_eq!(whole.waited_ns, waited_ns);
    assert!((whole.busiest_worker - busiest).abs() < f64::EPSILON);
    whole.counts.check().expect("nothing is lost");
    whole.counts_whole.check().expect("nothing is lost");
    let in_intervals: u64 = intervals.iter().map(|interval| interval.counts.committed).sum();
    assert_eq!(in_intervals, whole_committed);
    assert!(whole.longest_silence_ns < 100_000_000, "{:?}", whole.silences);
}

/// A run of another process comes as text, and is the same.
#[test]
fn a_run_that_travelled_counts_as_before() {
    let travelled = |(intervals, report): &Measured| -> Measured {
        let text = serde_json::to_string(&(intervals, report)).expect("it is plain data");
        serde_json::from_str(&text).expect("it was just written")
    };
    let runs = driven(2);
    let came: Vec<_> = runs.iter().map(travelled).collect();
    let ((intervals, whole), (later, again)) = (merged(runs), merged(came));
    assert_eq!(format!("{:?}", again.counts), format!("{:?}", whole.counts));
    assert_eq!(
        (&again.latency, &again.silences, again.tally),
        (&whole.latency, &whole.silences, whole.tally)
    );
    assert_eq!(again.rates_per_s, whole.rates_per_s);
    let slowest = |all: &[MergedInterval]| all.iter().map(|one| one.slowest.sorted()).collect::<Vec<_>>();
    assert_eq!(slowest(&later), slowest(&intervals));
}

/// A run that is lost keeps nobody waiting: what it measured counts in the intervals.
#[test]
fn a_run_that_is_lost_does_not_hold_up_the_others() {
    let mut runs = driven(2);
    let (lost, _) = runs.remove(1);
    let (intervals, report) = runs.remove(0);
    let (mut merger, count) = (Merger::new(2), intervals.len());
    lost.into_iter().take(2).for_each(|one| merger.interval(1, one).expect("it adds up"));
    intervals.into_iter().for_each(|one| merger.interval(0, one).expect("it adds up"));
    assert!(merger.next_complete().is_some() && merger.next_complete().is_some());
    assert!(merger.next_complete().is_none(), "the second one may still come");
    merger.ended(1, None);
    let left = std::iter::from_fn(|| merger.next_complete()).count();
    assert_eq!(left, count - 2);
    merger.ended(0, Some(report));
    let (_, each) = merger.finish(&Stop::default());
    assert!(each[0].is_some() && each[1].is_none());
}
