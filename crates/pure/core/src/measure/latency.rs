//! Latency histograms and their summaries.

use std::sync::OnceLock;

use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Lower end of the histogram, in nanoseconds. Shorter latencies count as this.
pub const MIN_NS: u64 = 64;
/// Upper end of the histogram, in nanoseconds: one hour. Longer latencies count as this.
pub const MAX_NS: u64 = 3_600_000_000_000;

/// Samples that must lie beyond a percentile before it is printed.
const SAMPLES_BEYOND: u64 = 100;

/// Number of significant digits of a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Precision {
    /// Three digits: at most 0.1 % error. For a whole run.
    Run,
    /// Two digits: at most 1 % error. For one second.
    Interval,
}

impl Precision {
    fn histogram(self) -> Histogram<u64> {
        let digits = match self {
            Self::Run => 3,
            Self::Interval => 2,
        };
        Histogram::new_with_bounds(MIN_NS, MAX_NS, digits).expect("the bounds are constants that hold")
    }

    /// A shared histogram without samples.
    fn empty(self) -> &'static Histogram<u64> {
        static EMPTY: [OnceLock<Histogram<u64>>; 2] = [OnceLock::new(), OnceLock::new()];
        EMPTY[self as usize].get_or_init(|| self.histogram())
    }
}

/// A histogram of latencies in nanoseconds, from 64 ns to one hour, in fixed memory (about 220 KiB for
/// [`Precision::Run`], 30 KiB for [`Precision::Interval`]).
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(from = "Buckets", into = "Buckets")]
pub struct Latency {
    precision: Precision,
    /// Absent before the first sample of a [`Latency::lazy`].
    histogram: Option<Histogram<u64>>,
}

impl PartialEq for Latency {
    fn eq(&self, other: &Self) -> bool {
        self.as_histogram() == other.as_histogram()
    }
}

/// A histogram as its buckets that are not empty: how it travels from one process to another, and loses nothing.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Buckets {
    precision: Precision,
    /// The largest latency of each bucket in nanoseconds, and its count.
    counts: Vec<(u64, u64)>,
}

impl From<Latency> for Buckets {
    fn from(latency: Latency) -> Self {
        let steps = latency.as_histogram().iter_recorded();
        let counts = steps.map(|step| (step.value_iterated_to(), step.count_at_value())).collect();
        Self { precision: latency.precision, counts }
    }
}

impl From<Buckets> for Latency {
    fn from(Buckets { precision, counts }: Buckets) -> Self {
        let mut latency = Self::lazy(precision);
        for (latency_ns, count) in counts {
            latency.histogram().saturating_record_n(latency_ns.clamp(MIN_NS, MAX_NS), count);
        }
        latency
    }
}

impl Latency {
    /// An empty histogram with its memory allocated: recording allocates nothing.
    pub fn new(precision: Precision) -> Self {
        Self { precision, histogram: Some(precision.histogram()) }
    }

    /// An empty histogram that allocates its memory with the first sample, for cases that may have none.
    pub fn lazy(precision: Precision) -> Self {
        Self { precision, histogram: None }
    }

    #[inline]
    fn histogram(&mut self) -> &mut Histogram<u64> {
        let precision = self.precision;
        self.histogram.get_or_insert_with(|| precision.histogram())
    }

    /// Counts one latency in nanoseconds; a value outside the range counts as the nearest end.
    #[inline]
    pub fn record(&mut self, latency_ns: u64) {
        self.histogram().saturating_record(latency_ns.clamp(MIN_NS, MAX_NS));
    }

    /// Adds all samples of another histogram. Percentiles of several workers come from added histograms, never from
    /// averaged percentiles.
    pub fn add(&mut self, other: &Self) {
        if let Some(other) = &other.histogram {
            self.histogram().add(other).expect("both histograms cover the same range");
        }
    }

    /// Removes all samples.
    pub fn clear(&mut self) {
        if let Some(histogram) = &mut self.histogram {
            histogram.reset();
        }
    }

    /// Number of samples.
    pub fn count(&self) -> u64 {
        self.as_histogram().len()
    }

    /// The histogram, for the interval log.
    pub fn as_histogram(&self) -> &Histogram<u64> {
        self.histogram.as_ref().unwrap_or_else(|| self.precision.empty())
    }

    /// The latencies of a histogram read from an interval log; `None` unless it covers 64 ns to one hour with two or
    /// three digits, as [`Latency`] does.
    pub fn from_histogram(histogram: &Histogram<u64>) -> Option<Self> {
        let precision = match histogram.sigfig() {
            2 => Precision::Interval,
            3 => Precision::Run,
            _ => return None,
        };
        let mut latency = Self::new(precision);
        latency.histogram().add(histogram).ok().map(|()| latency)
    }

    /// Latency at a quantile between 0 and 1; `None` with fewer than 100 samples beyond it.
    pub fn quantile_ns(&self, quantile: f64) -> Option<u64> {
        let beyond = (1.0 - quantile) * self.count() as f64;
        (beyond.round() as u64 >= SAMPLES_BEYOND)
            .then(|| self.as_histogram().value_at_quantile(quantile).min(self.as_histogram().max()))
    }

    /// The largest latency, as exact as the histogram; `None` without samples.
    pub fn max_ns(&self) -> Option<u64> {
        (self.count() > 0).then(|| self.as_histogram().max())
    }

    /// Points (latency in nanoseconds, quantile) for a distribution chart.
    pub fn distribution(&self) -> Vec<(u64, f64)> {
        let steps = self.as_histogram().iter_quantiles(5);
        let mut points: Vec<_> = steps.map(|s| (s.value_iterated_to(), s.quantile())).collect();
        points.dedup();
        points
    }

    /// The figures of a table row; `None` without samples.
    pub fn summary(&self) -> Option<LatencySummary> {
        let histogram = self.as_histogram();
        (self.count() > 0).then(|| LatencySummary {
            count: self.count(),
            mean_ns: histogram.mean(),
            stddev_ns: histogram.stdev(),
            min_ns: histogram.min(),
            p50_ns: self.quantile_ns(0.50),
            p95_ns: self.quantile_ns(0.95),
            p99_ns: self.quantile_ns(0.99),
            p999_ns: self.quantile_ns(0.999),
            max_ns: histogram.max(),
        })
    }
}

/// The figures of one latency distribution, in nanoseconds. A percentile with fewer than 100 samples beyond it is
/// absent.
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

/// The smallest and the largest value of a percentile among the blocks of a cell, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockRange {
    /// In the block where it is smallest.
    pub min_ns: u64,
    /// In the block where it is largest.
    pub max_ns: u64,
}

/// How far the percentiles of a cell differ between its blocks. One is absent with a single block, or if a block has
/// too few samples for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LatencyRanges {
    /// Median.
    pub p50_ns: Option<BlockRange>,
    /// 95th percentile.
    pub p95_ns: Option<BlockRange>,
    /// 99th percentile.
    pub p99_ns: Option<BlockRange>,
    /// 99.9th percentile.
    pub p999_ns: Option<BlockRange>,
}

impl LatencySummary {
    /// Removes the percentiles that this number of attempts without a latency could change: attempts that never started
    /// would be among the slowest, so they may be at most a tenth of what lies beyond a percentile.
    #[must_use]
    pub fn without_tail_of(self, never_started: u64) -> Self {
        let is_reliable = |quantile: f64| is_known(quantile, self.count, never_started);
        Self {
            p50_ns: self.p50_ns.filter(|_| is_reliable(0.50)),
            p95_ns: self.p95_ns.filter(|_| is_reliable(0.95)),
            p99_ns: self.p99_ns.filter(|_| is_reliable(0.99)),
            p999_ns: self.p999_ns.filter(|_| is_reliable(0.999)),
            ..self
        }
    }
}

impl LatencySummary {
    /// Removes the percentiles whose tail, from the percentile on, does not satisfy a condition.
    #[must_use]
    pub fn with_tails(self, is_reliable: impl Fn(u64) -> bool) -> Self {
        let kept = |percentile: Option<u64>| percentile.filter(|ns| is_reliable(*ns));
        Self { p95_ns: kept(self.p95_ns), p99_ns: kept(self.p99_ns), p999_ns: kept(self.p999_ns), ..self }
    }
}

/// Whether a quantile of `count` latencies is known although `never_started` attempts have none.
pub fn is_known(quantile: f64, count: u64, never_started: u64) -> bool {
    10.0 * never_started as f64 <= (1.0 - quantile) * count as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// 2,000 attempts a second for a minute, of which 118 fell due in a stall of 65 ms at the end and never started.
    #[test]
    fn attempts_that_never_started_take_the_percentiles_that_they_would_change() {
        let mut latency = Latency::new(Precision::Run);
        (0..119_893).for_each(|_| latency.record(1_000_000));
        let summary = latency.summary().expect("there are some");
        assert_eq!(summary.clone().without_tail_of(0), summary);
        let known = summary.without_tail_of(118);
        assert!(known.p99_ns.is_some() && known.p999_ns.is_none(), "{known:?}");
        assert!(known.without_tail_of(1_000).p99_ns.is_none());
    }

    /// The printed quantiles, and some others.
    const QUANTILES: [f64; 8] = [0.01, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999];

    /// The independent second implementation: sorts the raw latencies and counts. Returns the quantiles that are
    /// outside the bucket of the raw value at their rank.
    fn outside_their_bucket(latency: &Latency, raw_ns: &[u64]) -> Vec<f64> {
        let mut sorted = raw_ns.to_vec();
        sorted.sort_unstable();
        let off = |quantile: &f64| {
            let rank = ((sorted.len() as f64 * quantile).ceil() as usize).max(1);
            let (Some(got), Some(want)) = (latency.quantile_ns(*quantile), sorted.get(rank - 1)) else {
                return false;
            };
            let (histogram, want) = (latency.as_histogram(), (*want).clamp(MIN_NS, MAX_NS));
            !(histogram.lowest_equivalent(want)..=histogram.highest_equivalent(want)).contains(&got)
        };
        QUANTILES.into_iter().filter(off).collect()
    }

    fn of(precision: Precision, raw_ns: &[u64]) -> Latency {
        let mut latency = Latency::new(precision);
        raw_ns.iter().for_each(|&ns| latency.record(ns));
        latency
    }

    /// Latencies of every magnitude with equal probability, including values outside the range.
    fn raw() -> impl Strategy<Value = Vec<u64>> {
        prop::collection::vec((0.0f64..43.0).prop_map(|magnitude| magnitude.exp2() as u64), 200..3_000)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn percentiles_match_the_raw_latencies_within_one_bucket(raw_ns in raw(), parts in 1usize..6) {
            for precision in [Precision::Run, Precision::Interval] {
                prop_assert_eq!(outside_their_bucket(&of(precision, &raw_ns), &raw_ns), Vec::<f64>::new());
                // Also check added histograms, as for several workers and intervals.
                let mut sum = Latency::new(precision);
                raw_ns.chunks(raw_ns.len().div_ceil(parts)).for_each(|part| sum.add(&of(precision, part)));
                prop_assert_eq!(outside_their_bucket(&sum, &raw_ns), Vec::<f64>::new());
                prop_assert_eq!(sum.count(), raw_ns.len() as u64);
            }
        }
    }

    /// 3,000 latencies starting at 100 µs, each 0.2 % longer than the previous one.
    fn ramp() -> Vec<u64> {
        (0..3_000).map(|i| (1e5 * 1.002f64.powi(i)) as u64).collect()
    }

    /// The comparison detects errors: latencies in whole microseconds or in coarser buckets, a rank that is off by one,
    /// and the two usual mistakes, dropping the slowest and averaging percentiles.
    #[test]
    fn a_percentile_outside_its_bucket_is_detected() {
        let raw_ns = ramp();
        assert_eq!(outside_their_bucket(&of(Precision::Run, &raw_ns), &raw_ns), Vec::<f64>::new());
        let found = |seen: Vec<u64>, against: &[u64]| {
            !outside_their_bucket(&of(Precision::Run, &seen), against).is_empty()
        };
        let small: Vec<u64> = raw_ns.iter().map(|ns| ns / 50).collect();
        assert!(found(small.iter().map(|ns| ns / 1_000 * 1_000).collect(), &small));
        let coarse = |ns: &u64| 1.02f64.powf(((*ns as f64).ln() / 1.02f64.ln()).floor()) as u64;
        assert!(found(raw_ns.iter().map(coarse).collect(), &raw_ns));
        assert!(found(raw_ns[1..].to_vec(), &raw_ns));
        assert!(found(raw_ns[..2_970].to_vec(), &raw_ns));
    }

    #[test]
    fn averaged_percentiles_are_outside_the_bucket() {
        let raw_ns = ramp();
        let (fast, slow) = raw_ns.split_at(1_500);
        let p90 = |raw_ns: &[u64]| of(Precision::Run, raw_ns).quantile_ns(0.9).expect("150 lie beyond");
        let averaged = (p90(fast) + p90(slow)) / 2;
        let added = p90(&raw_ns);
        assert!(added > averaged * 5 / 4, "{averaged} averaged, {added} added");
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

    /// A lazy histogram equals any other, before and after its first sample.
    #[test]
    fn a_lazy_histogram_allocates_with_its_first_sample() {
        for precision in [Precision::Run, Precision::Interval] {
            let (mut lazy, empty) = (Latency::lazy(precision), Latency::new(precision));
            lazy.clear();
            lazy.add(&Latency::lazy(precision));
            assert!(lazy.histogram.is_none());
            assert_eq!((lazy == empty, lazy.count(), lazy.summary()), (true, 0, None));
            let mut sum = of(precision, &ramp());
            sum.add(&lazy);
            assert_eq!(sum, of(precision, &ramp()));
            ramp().iter().for_each(|&ns| lazy.record(ns));
            assert_eq!(lazy, sum);
        }
    }

    #[test]
    fn a_histogram_travels_without_loss() {
        for precision in [Precision::Run, Precision::Interval] {
            for latency in [of(precision, &ramp()), Latency::new(precision), of(precision, &[0, u64::MAX])] {
                let text = serde_json::to_string(&latency).expect("it is plain data");
                let came: Latency = serde_json::from_str(&text).expect("it was just written");
                assert_eq!((&came, came.summary()), (&latency, latency.summary()));
                assert_eq!(came.distribution(), latency.distribution());
            }
        }
    }

    #[test]
    fn values_out_of_range_count_as_the_nearest_end() {
        let mut latency = Latency::new(Precision::Interval);
        latency.record(0);
        latency.record(u64::MAX);
        assert_eq!(latency.count(), 2);
    }
}
