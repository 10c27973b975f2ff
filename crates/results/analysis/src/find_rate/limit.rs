//! A latency limit, and whether a probe kept it.

use std::{fmt, str::FromStr};

use pgdyno_core::{
    measure::{Counts, Latency},
    span::Span,
};

/// Samples that must lie beyond a percentile before it decides anything.
const SAMPLES_BEYOND: f64 = 100.0;
/// Tolerated backlog at the end of a probe as a share of the due attempts, in addition to one attempt per client. With
/// more, the server did not keep up with the rate.
const MAX_BEHIND: f64 = 0.02;

/// A limit such as `p99<5ms`: this percentage of all due transactions must commit within the given latency.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// The percentile, between 0 and 100.
    pub percentile: f64,
    /// The limit in nanoseconds.
    pub below_ns: u64,
}

/// Why a text is not a valid limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotALimit {
    /// Invalid syntax.
    #[error(
        "`{0}` is not a limit such as 'p99<5ms' or 'p50<300us': expected a percentile, <, and a duration"
    )]
    Form(String),
    /// A limit on the maximum or the mean.
    #[error("`{0}` limits the {1}, which {2}; a limit is a percentile, such as 'p99.9<20ms'")]
    NoPercentile(String, &'static str, &'static str),
    /// Invalid percentile.
    #[error("`{0}` is not a percentile between 1 and 99.99")]
    Percentile(String),
    /// Invalid duration.
    #[error(transparent)]
    Span(#[from] pgdyno_core::span::NotASpan),
}

impl FromStr for Limit {
    type Err = NotALimit;

    fn from_str(text: &str) -> Result<Self, NotALimit> {
        let wrong = || NotALimit::Form(text.to_owned());
        let (measure, below) = text.split_once('<').ok_or_else(wrong)?;
        let (measure, below) = (measure.trim(), below.trim());
        match measure {
            "max" => {
                let why = "is one transaction, and grows with the length of the probe";
                return Err(NotALimit::NoPercentile(text.to_owned(), "maximum", why));
            }
            "avg" | "mean" | "average" => {
                let why = "ignores transactions that were missed";
                return Err(NotALimit::NoPercentile(text.to_owned(), "average", why));
            }
            _ => {}
        }
        let number = measure.strip_prefix('p').ok_or_else(wrong)?;
        let percentile = number.parse().ok().filter(|p| (1.0..=99.99).contains(p));
        let percentile = percentile.ok_or_else(|| NotALimit::Percentile(measure.to_owned()))?;
        // A number without a unit would be seconds, but pgbench's -L uses milliseconds.
        if !below.ends_with(|c: char| c.is_ascii_alphabetic()) {
            return Err(wrong());
        }
        Ok(Self { percentile, below_ns: nanos(below)? })
    }
}

/// A duration, which may be shorter than a [`Span`].
fn nanos(text: &str) -> Result<u64, NotALimit> {
    let Some(number) = text.strip_suffix("us") else {
        return Ok(text.parse::<Span>()?.as_nanos());
    };
    let us = number.trim().parse().ok().filter(|us| (1.0..=1e9).contains(us));
    us.map(|us: f64| (us * 1e3) as u64).ok_or_else(|| NotALimit::Form(text.to_owned()))
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}<", self.percentile)?;
        if self.below_ns.is_multiple_of(1_000_000) {
            write!(f, "{}", Span::from_millis(self.below_ns / 1_000_000))
        } else {
            write!(f, "{}us", self.below_ns as f64 / 1e3)
        }
    }
}

/// The result of a probe for the transactions that fell due within it.
#[derive(Debug)]
pub struct Seen<'a> {
    /// Outcomes, whenever the transactions ended.
    pub due: Counts,
    /// Latencies of committed transactions, from the due time.
    pub latency: &'a Latency,
    /// Commits acknowledged within the probe.
    pub committed_within: u64,
    /// Client count.
    pub clients: u32,
}

/// Why a probe broke its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The percentile exceeds the limit.
    Latency,
    /// So many transactions were missed that the percentile falls among them.
    Missed,
    /// Commits fell behind the schedule.
    Behind,
}

/// Verdict on a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The probe kept the limit.
    Kept,
    /// The probe broke the limit.
    Broken(Why),
    /// Too few transactions for a verdict.
    Undecided,
}

impl Limit {
    /// The share of transactions that may take longer.
    fn share_beyond(&self) -> f64 {
        1.0 - self.percentile / 100.0
    }

    /// Fewest due transactions for a verdict, so that 100 lie beyond the percentile.
    pub fn samples_needed(&self) -> u64 {
        (SAMPLES_BEYOND / self.share_beyond()).round() as u64
    }

    /// Duration in nanoseconds after which enough transactions have fallen due at this rate, with a reserve of four
    /// standard deviations of a Poisson process.
    pub fn nanos_needed(&self, rate_per_s: f64) -> u64 {
        let samples = self.samples_needed() as f64;
        ((samples + 4.0 * samples.sqrt() + 8.0) / rate_per_s * 1e9) as u64
    }

    /// The lowest rate per second for which a probe of this duration can give a verdict.
    pub fn lowest_rate(&self, longest_ns: u64) -> f64 {
        self.nanos_needed(1.0) as f64 / longest_ns as f64
    }

    /// The percentile over all due transactions in nanoseconds; missed transactions count as slower than all measured
    /// ones. `None` if it falls among missed transactions, or if nothing fell due.
    pub fn percentile_ns(&self, due: &Counts, latency: &Latency) -> Option<u64> {
        let rank = (due.scheduled as f64 * self.percentile / 100.0).ceil().max(1.0) as u64;
        let within = due.scheduled > 0 && rank <= latency.count();
        within.then(|| {
            let histogram = latency.as_histogram();
            // Half a sample less, so that rounding does not select the next one.
            let quantile = (rank as f64 - 0.5) / latency.count() as f64;
            histogram.value_at_quantile(quantile).min(histogram.max())
        })
    }

    /// Judges a probe.
    pub fn judge(&self, seen: &Seen<'_>) -> Verdict {
        let due = seen.due.scheduled;
        if due < self.samples_needed() {
            return Verdict::Undecided;
        }
        match self.percentile_ns(&seen.due, seen.latency) {
            None => return Verdict::Broken(Why::Missed),
            Some(latency_ns) if latency_ns >= self.below_ns => return Verdict::Broken(Why::Latency),
            Some(_) => {}
        }
        let behind = due.saturating_sub(seen.committed_within) as f64;
        if behind > due as f64 * MAX_BEHIND + f64::from(seen.clients) {
            return Verdict::Broken(Why::Behind);
        }
        Verdict::Kept
    }
}

#[cfg(test)]
mod tests {
    use pgdyno_core::measure::Precision;
    use proptest::prelude::*;

    use super::*;

    fn limit(text: &str) -> Limit {
        text.parse().expect("it is a limit")
    }

    #[test]
    fn limits_read_as_people_write_them() {
        assert_eq!(limit("p99<5ms"), Limit { percentile: 99.0, below_ns: 5_000_000 });
        assert_eq!(limit(" p99.9 < 1.5s").to_string(), "p99.9<1500ms");
        assert_eq!(limit("p50<250us"), Limit { percentile: 50.0, below_ns: 250_000 });
        assert_eq!(limit("p50<250us").to_string(), "p50<250us");
        for (text, why) in [
            ("5ms", "not a limit such as"),
            ("p99", "not a limit such as"),
            ("q99<5ms", "not a limit such as"),
            ("p99>5ms", "not a limit such as"),
            ("p99<5", "not a limit such as"),
            ("p100<5ms", "not a percentile between"),
            ("p0<5ms", "not a percentile between"),
            ("pnan<5ms", "not a percentile between"),
            ("p99<5 parsecs", "not a duration"),
            ("p99<0ms", "not a duration"),
            ("p99<0.1us", "not a limit such as"),
            ("max<5ms", "the maximum, which is one transaction"),
            ("avg<5ms", "the average, which ignores transactions"),
        ] {
            let said = text.parse::<Limit>().expect_err(text).to_string();
            assert!(said.contains(why), "{text}: {said}");
        }
    }

    #[test]
    fn a_probe_is_as_long_as_its_percentile_needs() {
        assert_eq!(
            ["p50", "p95", "p99", "p99.9"].map(|p| limit(&format!("{p}<5ms")).samples_needed()),
            [200, 2_000, 10_000, 100_000]
        );
        let p99 = limit("p99<5ms");
        assert_eq!(p99.nanos_needed(1_000.0) / 1_000_000, 10_408);
        assert!((p99.lowest_rate(300_000_000_000) - 34.7).abs() < 0.1);
    }

    fn latencies(values_ms: &[f64]) -> Latency {
        let mut latency = Latency::new(Precision::Interval);
        values_ms.iter().for_each(|ms| latency.record((ms * 1e6) as u64));
        latency
    }

    fn judged(text: &str, due: Counts, latency: &Latency, within: u64) -> Verdict {
        limit(text).judge(&Seen { due, latency, committed_within: within, clients: 4 })
    }

    #[test]
    fn what_was_missed_counts_as_slow() {
        let latency = latencies(&[1.0; 9_950]);
        for (missed, verdict) in [(50, Verdict::Kept), (150, Verdict::Broken(Why::Missed))] {
            for outcome in 0..5 {
                let mut due = Counts { scheduled: 9_950 + missed, committed: 9_950, ..Counts::default() };
                let counts: [&mut u64; 5] = [
                    &mut due.failed,
                    &mut due.skipped,
                    &mut due.timed_out,
                    &mut due.in_doubt,
                    &mut due.never_started,
                ];
                *counts.into_iter().nth(outcome).expect("five") = missed;
                assert_eq!(due.check(), Ok(()));
                assert_eq!(judged("p99<5ms", due, &latency, 9_950), verdict, "{missed} of kind {outcome}");
            }
        }
    }

    #[test]
    fn too_few_decide_nothing_and_a_rate_that_is_not_kept_up_with_is_broken() {
        let latency = latencies(&[1.0; 10_000]);
        let all = |count| Counts { scheduled: count, committed: count, ..Counts::default() };
        assert_eq!(judged("p99<5ms", all(9_999), &latencies(&[1.0; 9_999]), 9_999), Verdict::Undecided);
        assert_eq!(judged("p99<5ms", all(0), &latencies(&[]), 0), Verdict::Undecided);
        assert_eq!(judged("p99<5ms", all(10_000), &latency, 9_796), Verdict::Kept);
        assert_eq!(judged("p99<5ms", all(10_000), &latency, 9_795), Verdict::Broken(Why::Behind));
        assert_eq!(judged("p99<1ms", all(10_000), &latency, 10_000), Verdict::Broken(Why::Latency));
    }

    proptest! {
        /// Independent implementation: a list of all due transactions, with the missed ones at the end.
        #[test]
        fn the_percentile_is_that_of_everything_that_fell_due(
            values_ms in prop::collection::vec(0.1f64..50.0, 1..400),
            missed in 0u64..40,
            percentile in prop::sample::select(vec![50.0, 90.0, 95.0, 99.0]),
        ) {
            let latency = latencies(&values_ms);
            let committed = values_ms.len() as u64;
            let due = Counts { scheduled: committed + missed, committed, failed: missed, ..Counts::default() };
            let mut list: Vec<f64> = values_ms.iter().map(|ms| ms * 1e6).collect();
            list.sort_by(f64::total_cmp);
            list.resize(due.scheduled as usize, f64::INFINITY);
            let expected = list[(due.scheduled as f64 * percentile / 100.0).ceil() as usize - 1];
            let limit = Limit { percentile, below_ns: 5_000_000 };
            match limit.percentile_ns(&due, &latency) {
                None => prop_assert!(expected.is_infinite()),
                Some(ns) => prop_assert!((ns as f64 / expected - 1.0).abs() < 0.02, "{} {}", ns, expected),
            }
        }
    }
}
