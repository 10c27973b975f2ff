//! Measurements of the engine itself: the cost of reading the clock and of recording, the rate of empty attempts, and
//! the lateness of timers.

mod timers;

use std::hint::black_box;

use pgdyno_core::{
    facts::ClockFacts,
    measure::{Counts, Latency, Outcome, Precision},
    stop::Stop,
};

pub use timers::timer_lag;

use crate::{Client, Clock, EngineError, NullTarget, Settings, SocketDriver, run};

/// Batches whose median counts, since a single one may be interrupted.
const BATCHES: usize = 9;
/// Repetitions within a batch.
const TIMES: u64 = 20_000;

/// Measures cost and resolution of the clock.
pub fn clock() -> ClockFacts {
    ClockFacts {
        cost_ns: median_ns(|_| {
            black_box(Clock::now_ns());
        }),
        resolution_ns: resolution_ns(),
    }
}

/// Nanoseconds to record one committed attempt: a count, and its latency in the histograms of the interval and of the
/// run.
pub fn recording_ns() -> f64 {
    let mut counts = Counts::default();
    let (mut interval, mut whole) = (Latency::new(Precision::Interval), Latency::new(Precision::Run));
    let cost_ns = median_ns(|i| {
        // Latencies as varied as those of a real run, so that not one bucket is hit every time.
        let latency_ns = 50_000 + i.wrapping_mul(0x9E37_79B9) % 1_000_000;
        counts.record(Outcome::Committed);
        interval.record(latency_ns);
        whole.record(latency_ns);
    });
    black_box((counts, interval.count(), whole.count()));
    cost_ns
}

/// Attempts per second of CPU time that one worker begins, ends and records if the target does nothing.
///
/// # Errors
/// [`EngineError`] if the run fails.
pub fn null_attempts_per_s(duration_ns: u64, stop: &Stop) -> Result<f64, EngineError> {
    let workers = vec![vec![Client { target: NullTarget, io: None }]];
    let report = run(SocketDriver::Epoll, workers, &settings(duration_ns, 0), stop, |_| (), |_| ())?;
    Ok(report.counts.committed as f64 * 1e9 / report.cpu_ns.max(1) as f64)
}

/// Settings of a closed loop whose warm-up takes a tenth of the duration.
fn settings(duration_ns: u64, statements: usize) -> Settings {
    Settings { warmup_ns: duration_ns / 10, ..Settings::closed(duration_ns, statements) }
}

/// Nanoseconds of one repetition of `work`, as the median over batches.
fn median_ns(mut work: impl FnMut(u64)) -> f64 {
    let mut batches: Vec<f64> = (0..BATCHES)
        .map(|_| {
            let start_ns = Clock::now_ns();
            (0..TIMES).for_each(&mut work);
            (Clock::now_ns() - start_ns) as f64 / TIMES as f64
        })
        .collect();
    batches.sort_by(f64::total_cmp);
    batches[BATCHES / 2]
}

/// Smallest step that the clock was seen to make, in nanoseconds.
fn resolution_ns() -> u64 {
    let mut last_ns = Clock::now_ns();
    let steps = (0..TIMES).map(|_| {
        let now_ns = Clock::now_ns();
        now_ns - std::mem::replace(&mut last_ns, now_ns)
    });
    steps.filter(|&step_ns| step_ns > 0).min().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bounds are wide: a busy machine may be slow, but nothing is free, and nothing takes a millisecond.
    #[test]
    fn costs_are_neither_nothing_nor_absurd() {
        let clock = clock();
        assert!(
            (1.0..1e6).contains(&clock.cost_ns) && (1..1_000_000).contains(&clock.resolution_ns),
            "{clock:?}"
        );
        let recording_ns = recording_ns();
        assert!((0.5..1e6).contains(&recording_ns), "{recording_ns}");
        let null = null_attempts_per_s(100_000_000, &Stop::default()).expect("it runs");
        assert!((1_000.0..1e9).contains(&null), "{null}");
    }

    /// The measurement distinguishes two reads of the clock from ten.
    #[test]
    fn ten_reads_cost_more_than_two() {
        let reads = |n: u64| median_ns(|_| assert!((0..n).map(|_| Clock::now_ns()).sum::<u64>() > 0));
        assert!(reads(10) > reads(2), "ten reads take longer than two");
    }
}
