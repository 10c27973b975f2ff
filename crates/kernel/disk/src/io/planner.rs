//! What a page costs, for the planner: a pure function of measured times.
//!
//! The planner counts in units of `seq_page_cost`, which is 1. PostgreSQL's default of 4 for `random_page_cost` assumes
//! that a random page from disk costs 40 times a sequential one and that 90 % of pages are cached (documentation,
//! "Planner Cost Constants"): so both costs are those of a mix of pages from the cache and from the disk.

use pgdyno_core::disk::io::{IoCache, IoFiles, IoMethod, IoOrder, IoPattern, IoReport, PlannerCosts};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Level of the interval.
const CONFIDENCE: f64 = 0.95;

/// Milliseconds of a page in one block of measurements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PageTimes {
    /// Read one after the other, not cached.
    pub sequential_cold_ms: f64,
    /// Read in random order, not cached.
    pub random_cold_ms: f64,
    /// Read one after the other from the page cache.
    pub sequential_cached_ms: f64,
    /// Read in random order from the page cache.
    pub random_cached_ms: f64,
}

impl PageTimes {
    /// Times of the reports of [`page_patterns`], in that order; `None` if a report has no reads.
    pub fn of(reports: &[IoReport]) -> Option<Self> {
        let ms = |report: &IoReport| report.reads.as_ref().map(|reads| 1e3 / reads.rate_per_s);
        let [sequential_cold, random_cold, sequential_cached, random_cached] = reports else { return None };
        Some(Self {
            sequential_cold_ms: ms(sequential_cold)?,
            random_cold_ms: ms(random_cold)?,
            sequential_cached_ms: ms(sequential_cached)?,
            random_cached_ms: ms(random_cached)?,
        })
    }

    /// Sequential and random milliseconds of a page of which this share is cached.
    fn at(&self, cached_share: f64) -> (f64, f64) {
        let mix = |cold: f64, cached: f64| cached_share * cached + (1.0 - cached_share) * cold;
        (
            mix(self.sequential_cold_ms, self.sequential_cached_ms),
            mix(self.random_cold_ms, self.random_cached_ms),
        )
    }
}

/// The four patterns that times of pages follow from: one backend that reads pages of the server's block size through
/// the page cache, one at a time; sequential and random, with a cold and with a warm page cache. The kernel reads
/// ahead, as it does for PostgreSQL. Cold runs must not come back to many blocks that they have read, so the file is to
/// be much larger than what is read in a run.
pub fn page_patterns(block_bytes: u32, file_bytes: u64) -> Vec<IoPattern> {
    let pattern = |name: &str, order, cache| IoPattern {
        name: name.into(),
        order,
        read_share: 1.0,
        block_bytes,
        depth: 1,
        jobs: 1,
        files: IoFiles::Shared,
        file_bytes,
        cache,
        method: IoMethod::Threads,
        sync_after_writes: None,
        write_back_after_bytes: None,
        sync_at_end: false,
        cpus: Vec::new(),
    };
    vec![
        pattern("sequential pages, cold", IoOrder::Sequential, IoCache::Cold),
        pattern("random pages, cold", IoOrder::Random, IoCache::Cold),
        pattern("sequential pages, cached", IoOrder::Sequential, IoCache::Cached),
        pattern("random pages, cached", IoOrder::Random, IoCache::Cached),
    ]
}

/// Costs for the planner from blocks of measurements, if this share of all pages (from 0 to 1), sequential and random
/// ones alike, is cached. The interval is Student's t over the logarithms of the blocks' ratios, at 95 %. `None`
/// without blocks, with a share out of range, or with a time that is not above 0.
pub fn planner_costs(blocks: &[PageTimes], cached_share: f64) -> Option<PlannerCosts> {
    let mixed: Vec<(f64, f64)> = blocks.iter().map(|block| block.at(cached_share)).collect();
    let positive = |(sequential, random): &(f64, f64)| *sequential > 0.0 && *random > 0.0;
    if mixed.is_empty() || !(0.0..=1.0).contains(&cached_share) || !mixed.iter().all(positive) {
        return None;
    }
    let ratios: Vec<f64> = mixed.iter().map(|(sequential, random)| random / sequential).collect();
    let (random_page_cost, interval) = ratio(&ratios)?;
    Some(PlannerCosts {
        cached_share,
        blocks: blocks.len() as u32,
        sequential_page_ms: mean(&mixed.iter().map(|(sequential, _)| *sequential).collect::<Vec<_>>()),
        random_page_ms: mean(&mixed.iter().map(|(_, random)| *random).collect::<Vec<_>>()),
        seq_page_cost: 1.0,
        random_page_cost,
        random_page_cost_low: interval.map(|(low, _)| low),
        random_page_cost_high: interval.map(|(_, high)| high),
    })
}

/// Geometric mean of ratios with its confidence interval, which is absent with fewer than three; `None` without ratios
/// above 0.
pub(super) fn ratio(ratios: &[f64]) -> Option<(f64, Option<(f64, f64)>)> {
    if ratios.is_empty() || ratios.iter().any(|ratio| *ratio <= 0.0) {
        return None;
    }
    let logs: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
    let log = mean(&logs);
    Some((log.exp(), half_width(&logs).map(|half| ((log - half).exp(), (log + half).exp()))))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Half-width of the confidence interval of the mean; `None` with fewer than three values.
fn half_width(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    if n < 3.0 {
        return None;
    }
    let middle = mean(values);
    let variance = values.iter().map(|value| (value - middle).powi(2)).sum::<f64>() / (n - 1.0);
    let t = StudentsT::new(0.0, 1.0, n - 1.0).ok()?.inverse_cdf(f64::midpoint(1.0, CONFIDENCE));
    Some(t * (variance / n).sqrt())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn disk(sequential: f64, random: f64) -> PageTimes {
        PageTimes {
            sequential_cold_ms: sequential,
            random_cold_ms: random,
            sequential_cached_ms: 0.001,
            random_cached_ms: 0.001,
        }
    }

    /// The documentation's disk: random pages cost 40 times as much, nine of ten are cached. A cached page costs
    /// something, so the ratio is a little below 40.
    #[test]
    fn a_share_in_the_cache_lowers_the_ratio_only_by_the_cost_of_cached_pages() {
        let blocks = [disk(0.2, 8.0); 3];
        let of = |share| planner_costs(&blocks, share).expect("there are times").random_page_cost;
        assert!((of(0.0) - 40.0).abs() < 1e-9);
        // (0.1 * 8 + 0.9 * 0.001) / (0.1 * 0.2 + 0.9 * 0.001)
        assert!((of(0.9) - 0.8009 / 0.0209).abs() < 1e-9);
        assert!((of(1.0) - 1.0).abs() < 1e-9);
    }

    /// Ratios 2, 2.2 and 1.8 by hand: ln mean 0.690, standard deviation 0.1004, t = 4.303 with 2 degrees of
    /// freedom.
    #[test]
    fn the_interval_is_students_over_logarithms() {
        let blocks = [disk(1.0, 2.0), disk(1.0, 2.2), disk(1.0, 1.8)];
        let costs = planner_costs(&blocks, 0.0).expect("there are times");
        let (low, high) =
            (costs.random_page_cost_low.expect("three"), costs.random_page_cost_high.expect("three"));
        assert!((costs.random_page_cost - 1.9933).abs() < 1e-3, "{costs:?}");
        assert!((low - 1.5531).abs() < 2e-3 && (high - 2.5583).abs() < 3e-3, "{costs:?}");
        assert!((costs.random_page_ms - 2.0).abs() < 1e-9 && (costs.sequential_page_ms - 1.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_not_known_is_absent() {
        assert_eq!(planner_costs(&[], 0.5), None);
        assert_eq!(planner_costs(&[disk(1.0, 2.0)], 1.5), None);
        assert_eq!(planner_costs(&[disk(0.0, 2.0)], 0.0), None);
        let two = planner_costs(&[disk(1.0, 2.0); 2], 0.0).expect("there are times");
        assert_eq!((two.random_page_cost_low, two.random_page_cost_high), (None, None));
    }

    proptest! {
        /// The ratio does not depend on how fast the disk is, and lies within its interval.
        #[test]
        fn only_the_ratio_counts(
            blocks in prop::collection::vec((0.01..1.0_f64, 0.01..10.0_f64), 3..9),
            exponent in -6..6,
        ) {
            let times = |factor: f64| {
                let scaled = |&(sequential, random): &(f64, f64)| disk(sequential * factor, random * factor);
                planner_costs(&blocks.iter().map(scaled).collect::<Vec<_>>(), 0.0).expect("there are times")
            };
            let (one, other) = (times(1.0), times(2.0_f64.powi(exponent)));
            prop_assert!((one.random_page_cost / other.random_page_cost - 1.0).abs() < 1e-9);
            let low = one.random_page_cost_low.expect("three blocks");
            prop_assert!(low <= one.random_page_cost && Some(one.random_page_cost) <= one.random_page_cost_high);
        }
    }
}
