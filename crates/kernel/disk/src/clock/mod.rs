//! The cost of a timer call, as `pg_test_timing` measures it.

mod histogram;
mod source;

use std::{path::Path, time::Duration};

use pgdyno_core::{
    disk::clock::{AnsweredIn, ClockReport},
    problem::Problem,
    stop::Stop,
};
use rustix::time::{ClockId, clock_gettime};

use histogram::Differences;

/// Timer calls of a batch without counting.
const BATCH_CALLS: u32 = 1_000;
/// Number of such batches, of which the median counts; odd.
const BATCHES: usize = 101;
/// Timer calls between two checks for a stop request.
const CALLS_BETWEEN_CHECKS: u32 = 4_096;

/// The file that says which clock source the kernel uses, and sets it.
pub const CURRENT_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// The kernel's present clock source and the available ones; each absent if it is not published.
pub fn sources() -> (Option<String>, Vec<String>) {
    source::clock_sources(Path::new("/"))
}

/// What to measure of the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockRequest {
    /// Duration of the loop of timer calls; above 0. 3 s by default, as in `pg_test_timing`.
    pub duration: Duration,
}

impl Default for ClockRequest {
    fn default() -> Self {
        Self { duration: Duration::from_secs(3) }
    }
}

/// Calls the timer in a loop and counts the differences between its readings. A stop ends the loop early; the report
/// has what was counted until then.
///
/// # Errors
/// [`Problem`] if the duration is 0, or a stop was requested before the first call.
pub fn measure(request: &ClockRequest, stop: &Stop) -> Result<ClockReport, Problem> {
    let what = "could not measure the cost of timer calls";
    if request.duration.is_zero() {
        return Err(Problem::wrong_request(format!("{what}: the duration must be above 0")));
    }
    if stop.requested() {
        return Err(Problem::could_not(format!("{what}: stopped")));
    }
    let per_call_ns = per_call_ns();
    let before = source::cpu_ticks();
    let run = call_for(request.duration, stop, monotonic_ns);
    let ticks = before.zip(source::cpu_ticks());
    let answered_in = ticks.and_then(|((user, kernel), (user_after, kernel_after))| {
        AnsweredIn::by_cpu_time(user_after - user, kernel_after - kernel)
    });
    Ok(report(&run, per_call_ns, answered_in))
}

/// What a loop of timer calls counted.
struct Run {
    differences: Differences,
    calls: u64,
    duration_ns: u64,
}

/// Reads a clock until it has advanced by `duration`, or a stop is requested.
///
/// As in `pg_test_timing` every reading ends one difference and begins the next, and is compared with the end.
fn call_for(duration: Duration, stop: &Stop, mut clock_ns: impl FnMut() -> u64) -> Run {
    let (mut differences, mut calls) = (Differences::new(), 0);
    let start_ns = clock_ns();
    let end_ns = start_ns.saturating_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
    let mut now_ns = start_ns;
    while now_ns < end_ns && !stop.requested() {
        for _ in 0..CALLS_BETWEEN_CHECKS {
            let before_ns = now_ns;
            now_ns = clock_ns();
            differences.count(before_ns, now_ns);
            calls += 1;
            if now_ns >= end_ns {
                break;
            }
        }
    }
    Run { differences, calls, duration_ns: now_ns.saturating_sub(start_ns) }
}

fn report(run: &Run, per_call_ns: f64, answered_in: Option<AnsweredIn>) -> ClockReport {
    let (source, available) = source::clock_sources(Path::new("/"));
    let differences = &run.differences;
    ClockReport {
        duration_ns: run.duration_ns,
        calls: run.calls,
        per_loop_ns: run.duration_ns as f64 / run.calls as f64,
        per_call_ns,
        histogram: differences.buckets(),
        below_1us_share: differences.below_1us_share(),
        max_ns: differences.max_ns,
        resolution_ns: differences.resolution_ns(),
        backwards: differences.backwards,
        max_backwards_ns: differences.max_backwards_ns,
        source,
        available,
        answered_in,
    }
}

/// Median over batches of the mean time of a timer call, in nanoseconds: a batch that was interrupted does not count.
fn per_call_ns() -> f64 {
    let mut batches = [0; BATCHES];
    for batch_ns in &mut batches {
        let start_ns = monotonic_ns();
        let last_ns = (0..BATCH_CALLS).fold(start_ns, |_, _| monotonic_ns());
        *batch_ns = last_ns.saturating_sub(start_ns);
    }
    batches.sort_unstable();
    batches[BATCHES / 2] as f64 / f64::from(BATCH_CALLS)
}

/// The monotonic clock in nanoseconds: what `std::time::Instant` reads, and PostgreSQL's `instr_time`.
#[inline]
fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

#[cfg(test)]
mod tests;
