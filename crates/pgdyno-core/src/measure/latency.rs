//! Latency histograms and their summaries.

use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Shortest latency told apart, in nanoseconds. Shorter ones count as this.
pub const MIN_NS: u64 = 64;
/// Longest latency told apart, in nanoseconds: one hour. Longer ones count as this.
pub const MAX_NS: u64 = 3_600_000_000_000;

/// Samples that must lie beyond a percentile before it is printed.
const SAMPLES_BEYOND: u64 = 100;

/// How many significant digits a histogram keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// Three digits: at most 0.1 % error. For a whole run.
    Run,
    /// Two digits: at most 1 % error. For one second.
    Interval,
}

/// A histogram of latencies in nanoseconds, from 64 ns to one hour, in fixed memory (about 220 KiB for
/// [`Precision::Run`], 30 KiB for [`Precision::Interval`]).
#[derive(Debug, Clone, PartialEq)]
pub struct Latency(Histogram<u64>);

impl Latency {
    /// An empty histogram.
    pub fn new(precision: Precision) -> Self {
        let digits = match precision {
            Precision::Run => 3,
            Precision::Interval => 2,
        };
        Self(Histogram::new_with_bounds(MIN_NS, MAX_NS, digits).expect("the bounds are constants that hold"))
    }

    /// Counts one latency in nanoseconds; what lies outside the range counts as its nearest end.
    #[inline]
    pub fn record(&mut self, latency_ns: u64) {
        self.0.saturating_record(latency_ns.clamp(MIN_NS, MAX_NS));
    }

    /// Adds all samples of another histogram. Percentiles of several workers come from added histograms,
    /// never from averaged percentiles.
    pub fn add(&mut self, other: &Self) {
        self.0.add(&other.0).expect("both histograms cover the same range");
    }

    /// Forgets all samples.
    pub fn clear(&mut self) {
        self.0.reset();
    }

    /// Number of samples.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The histogram itself, for the interval log.
    pub fn as_histogram(&self) -> &Histogram<u64> {
        &self.0
    }

    /// The latencies of a histogram read back from an interval log; `None` where it does not cover 64 ns to one
    /// hour with two or three digits, as those of [`Latency`] do.
    pub fn from_histogram(histogram: &Histogram<u64>) -> Option<Self> {
        let precision = match histogram.sigfig() {
            2 => Precision::Interval,
            3 => Precision::Run,
            _ => return None,
        };
        let mut latency = Self::new(precision);
        latency.0.add(histogram).ok().map(|()| latency)
    }

    /// Latency at a quantile between 0 and 1; `None` where fewer than 100 samples lie beyond it.
    pub fn quantile_ns(&self, quantile: f64) -> Option<u64> {
        let beyond = (1.0 - quantile) * self.count() as f64;
        (beyond.round() as u64 >= SAMPLES_BEYOND)
            .then(|| self.0.value_at_quantile(quantile).min(self.0.max()))
    }

    /// Pairs of (latency in nanoseconds, quantile) for a distribution chart, as many as tell something new.
    pub fn distribution(&self) -> Vec<(u64, f64)> {
        let steps = self.0.iter_quantiles(5);
        let mut points: Vec<_> = steps.map(|s| (s.value_iterated_to(), s.quantile())).collect();
        points.dedup();
        points
    }

    /// The figures of a table row; `None` where there is no sample.
    pub fn summary(&self) -> Option<LatencySummary> {
        (self.count() > 0).then(|| LatencySummary {
            count: self.count(),
            mean_ns: self.0.mean(),
            stddev_ns: self.0.stdev(),
            min_ns: self.0.min(),
            p50_ns: self.quantile_ns(0.50),
            p95_ns: self.quantile_ns(0.95),
            p99_ns: self.quantile_ns(0.99),
            p999_ns: self.quantile_ns(0.999),
            max_ns: self.0.max(),
        })
    }
}

/// The figures of one latency distribution, in nanoseconds. A percentile with fewer than 100 samples beyond it
/// is absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencySummary {
    /// Number of samples.
    pub count: u64,
    /// Arithmetic mean.
    pub mean_ns: f64,
    /// Standard deviation of the samples.
    pub stddev_ns: f64,
    /// Shortest.
    pub min_ns: u64,
    /// Median.
    pub p50_ns: Option<u64>,
    /// 95th percentile.
    pub p95_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// 99.9th percentile.
    pub p999_ns: Option<u64>,
    /// Longest.
    pub max_ns: u64,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The independent second implementation: sort the samples and count.
        #[test]
        fn quantiles_agree_with_sorting(mut samples in prop::collection::vec(MIN_NS..10_000_000_000, 400..900)) {
            let mut latency = Latency::new(Precision::Run);
            samples.iter().for_each(|&s| latency.record(s));
            samples.sort_unstable();
            for quantile in [0.5, 0.75] {
                let Some(got) = latency.quantile_ns(quantile) else { continue };
                let want = samples[((samples.len() as f64 * quantile).ceil() as usize).max(1) - 1];
                prop_assert!((got as f64 - want as f64).abs() <= want as f64 * 0.001 + 64.0, "{got} {want}");
            }
        }
    }

    #[test]
    fn a_percentile_without_samples_beyond_it_is_absent() {
        let mut latency = Latency::new(Precision::Run);
        (0..9_000).for_each(|_| latency.record(1_000));
        let summary = latency.summary().expect("there are samples");
        assert!(summary.p95_ns.is_some() && summary.p99_ns.is_none());
        (0..1_000).for_each(|_| latency.record(1_000));
        assert!(latency.summary().expect("there are samples").p99_ns.is_some());
    }

    #[test]
    fn what_is_out_of_range_counts_as_the_nearest_end() {
        let mut latency = Latency::new(Precision::Interval);
        latency.record(0);
        latency.record(u64::MAX);
        assert_eq!(latency.count(), 2);
    }
}
