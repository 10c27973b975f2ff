//! The instrument measures itself: what it costs to look at the clock and to record, what the engine can do with
//! nothing to do, and how late a wait ends.

mod timers;

use std::hint::black_box;

use pgdyno_core::{
    facts::ClockFacts,
    measure::{Counts, Latency, Outcome, Precision},
    stop::Stop,
};

pub use timers::timer_lag;

use crate::{BlockingDriver, Client, Clock, EngineError, NullTarget, Settings, run};

/// Repetitions of which the median counts: a single one may be interrupted.
const BATCHES: usize = 9;
/// Times that something is done in one of them.
const TIMES: u64 = 20_000;

/// What a look at the clock costs, and how fine it is.
pub fn clock() -> ClockFacts {
    ClockFacts {
        cost_ns: median_ns(|_| {
            black_box(Clock::now_ns());
        }),
        resolution_ns: resolution_ns(),
    }
}

/// Nanoseconds that it takes to record one attempt that committed: a count, and its latency in two histograms, that of
/// the interval and that of the run.
pub fn recording_ns() -> f64 {
    let mut counts = Counts::default();
    let (mut interval, mut whole) = (Latency::new(Precision::Interval), Latency::new(Precision::Run));
    let cost_ns = median_ns(|i| {
        // Latencies as different as those of a real run: not one bucket again and again.
        let latency_ns = 50_000 + i.wrapping_mul(0x9E37_79B9) % 1_000_000;
        counts.record(Outcome::Committed);
        interval.record(latency_ns);
        whole.record(latency_ns);
    });
    black_box((counts, interval.count(), whole.count()));
    cost_ns
}

/// Attempts a second of processor time that one worker begins, ends and records where there is nothing else to do.
///
/// # Errors
/// The engine's.
pub fn null_attempts_per_s(duration_ns: u64, stop: &Stop) -> Result<f64, EngineError> {
    let workers = vec![vec![Client { target: NullTarget, io: None }]];
    let report = run(BlockingDriver, workers, &settings(duration_ns, 0), stop, |_| (), |_| ())?;
    Ok(report.counts.committed as f64 * 1e9 / report.cpu_ns.max(1) as f64)
}

/// A closed loop with a warm-up of a tenth of its time.
fn settings(duration_ns: u64, statements: usize) -> Settings {
    Settings {
        warmup_ns: duration_ns / 10,
        duration_ns,
        interval_ns: 1_000_000_000,
        drain_ns: 1_000_000_000,
        rate_per_s: None,
        seed: 1,
        statements,
        cpus: Vec::new(),
    }
}

/// Nanoseconds that something takes once, as the median over batches.
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

/// The smallest step that the clock was seen to make.
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

    /// No bound here is close: a busy machine may be slow, but nothing is free, and nothing takes a millisecond.
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
        // Every attempt looks at the clock and is recorded.
        assert!(null > 1_000.0 && null < 1e9 / clock.cost_ns.min(recording_ns), "{null}");
    }

    /// What takes a known time is measured as that: two looks at the clock, and ten.
    #[test]
    fn ten_looks_cost_more_than_two() {
        let looks = |n: u64| median_ns(|_| assert!((0..n).map(|_| Clock::now_ns()).sum::<u64>() > 0));
        assert!(looks(10) > looks(2), "ten looks take longer than two");
    }
}
