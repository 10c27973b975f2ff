//! The latency that a run reports agrees with a raw log of the same attempts, within one bucket of a histogram.
//!
//! Seen to fail if the recorder leaves out the slowest, or records latencies that are 2 % too short.

use std::sync::{Arc, Mutex};

use pgdyno_core::{
    measure::{Latency, Outcome, Precision},
    stop::Stop,
};
use pgdyno_engine::{
    Client, Event, MergedInterval, Probe, Report, Settings, SocketDriver, Step, Target, run,
};

const MS: u64 = 1_000_000;

/// Target that waits a different time in every attempt, and logs how long each took by the instants it was given.
struct Logging {
    log: Arc<Mutex<Vec<u64>>>,
    begin_ns: u64,
    number: u64,
}

impl Target for Logging {
    fn step(&mut self, event: Event<'_>, now_ns: u64, probe: &mut Probe) -> Step {
        if matches!(event, Event::Begin) {
            self.begin_ns = now_ns;
            self.number += 1;
            // From 20 µs to 5 ms, evenly over the magnitudes, in an order without a pattern.
            let magnitude = (self.number * 7_919 % 1_000) as f64 / 1_000.0;
            return Step::WaitUntil(now_ns + (20_000.0 * 250f64.powf(magnitude)) as u64);
        }
        if matches!(event, Event::Parting) {
            return Step::Receive;
        }
        let latency_ns = now_ns - self.begin_ns;
        probe.statement(0, latency_ns);
        self.log.lock().expect("nobody panicked").push(latency_ns);
        Step::Done(Outcome::Committed)
    }

    fn outgoing(&self) -> &[u8] {
        &[]
    }

    fn abandon(&mut self) -> Outcome {
        Outcome::TimedOut
    }
}

/// Runs a closed loop, in which an attempt is due when it begins, so that a target sees all of its latency. Returns the
/// report, the merged histogram of the intervals, and the raw log.
fn measured(driver: SocketDriver) -> (Report, Latency, Vec<u64>) {
    let log = Arc::new(Mutex::new(Vec::new()));
    let settings = Settings {
        warmup_ns: 0,
        ramp_ns: 0,
        duration_ns: 600 * MS,
        interval_ns: 50 * MS,
        drain_ns: 1_000 * MS,
        rate_per_s: None,
        seed: 1,
        statements: 1,
        cpus: Vec::new(),
    };
    let client = |number: u64| Client {
        target: Logging { log: Arc::clone(&log), begin_ns: 0, number: number * 131 },
        io: None,
    };
    let workers = (0..2).map(|w| (0..6).map(|c| client(w * 6 + c)).collect()).collect();
    let mut intervals = Latency::new(Precision::Interval);
    let on_interval = |interval: &MergedInterval| intervals.add(&interval.latency);
    let report = run(driver, workers, &settings, &Stop::default(), on_interval, |_| ()).expect("it runs");
    let raw_ns = log.lock().expect("nobody panicked").clone();
    (report, intervals, raw_ns)
}

/// Lists the quantiles, mean and extremes that differ from the raw log by more than one bucket.
fn differing(latency: &Latency, raw_ns: &[u64]) -> Vec<String> {
    let mut sorted = raw_ns.to_vec();
    sorted.sort_unstable();
    let histogram = latency.as_histogram();
    let bucket = |ns: u64| histogram.lowest_equivalent(ns)..=histogram.highest_equivalent(ns);
    let mut found = Vec::new();
    for quantile in [0.001, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0] {
        let rank = ((sorted.len() as f64 * quantile).ceil() as usize).max(1);
        let (got, want) = (histogram.value_at_quantile(quantile), sorted[rank - 1]);
        if !bucket(want).contains(&got) {
            found.push(format!("p{}: {got} ns, by the log {want} ns", quantile * 100.0));
        }
    }
    let mean = sorted.iter().sum::<u64>() as f64 / sorted.len() as f64;
    let error = if histogram.sigfig() == 3 { 0.001 } else { 0.01 };
    if (histogram.mean() / mean - 1.0).abs() > error {
        found.push(format!("mean: {} ns, by the log {mean} ns", histogram.mean()));
    }
    if latency.count() != sorted.len() as u64 {
        found.push(format!("{} latencies, {} by the log", latency.count(), sorted.len()));
    }
    found
}

#[test]
fn a_report_is_what_the_raw_log_says() {
    for driver in SocketDriver::usable() {
        let (report, intervals, raw_ns) = measured(driver);
        assert!(raw_ns.len() > 500, "{} attempts are too few", raw_ns.len());
        for latency in [&report.latency, &report.statements[0], &intervals] {
            assert_eq!(differing(latency, &raw_ns), [""; 0], "{driver}");
        }
        lies_are_found(&report.latency, &raw_ns);
    }
}

/// Compares with falsified logs: latencies 2 % shorter, the slowest 1 % or a single one left out, latencies of half the
/// time, and those from an instant 100 µs later.
fn lies_are_found(latency: &Latency, raw_ns: &[u64]) {
    let mut sorted = raw_ns.to_vec();
    sorted.sort_unstable();
    let n = sorted.len();
    let lies: [Vec<u64>; 5] = [
        sorted.iter().map(|ns| ns - ns / 50).collect(),
        sorted[..n - n / 100].to_vec(),
        sorted[..n - 1].to_vec(),
        raw_ns[..n / 2].to_vec(),
        sorted.iter().map(|ns| ns.saturating_sub(100_000).max(64)).collect(),
    ];
    for (number, lie) in lies.iter().enumerate() {
        assert!(!differing(latency, lie).is_empty(), "lie {number} was not found");
    }
}
