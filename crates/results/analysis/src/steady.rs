//! Tests whether throughput was steady: a different head, a trend, or neither.
//!
//! A run is unsteady if a change is both large and significant. A change below 5 % of the mean does not matter (SNIA's
//! device tests and fio's `steadystate` set such limits); a change that noise alone often causes is ignored. The head
//! of a run that differs from the rest is found by MSER (K. P. White, "An effective truncation heuristic for bias
//! reduction in simulation output", Simulation 69, 1997).

use pgdyno_core::measure::{Interval, SteadyVerdict};

use crate::statistics::{mean, sum_of_squares, two_sided};

/// Fewest one-second windows for a verdict.
pub const MIN_WINDOWS: usize = 10;
/// A change of this share of the mean matters.
pub const MAX_CHANGE: f64 = 0.05;
/// False alarm rate of each of the two tests, if the noise is independent from second to second. It must be small,
/// because a thorough run has dozens of runs.
pub const FALSE_ALARMS: f64 = 0.001;
/// Windows per batch, if there are enough windows (MSER-5).
const BATCH: usize = 5;
/// Largest correlation of neighbouring windows that is corrected for; beyond it the correction is unreliable.
const MAX_CORRELATION: f64 = 0.9;

/// A change of throughput within a run.
struct Change {
    /// Size of the change as a share of the mean.
    size: f64,
    /// The change divided by its standard error.
    t: f64,
    /// Critical value: |t| exceeds it once in a thousand times without a change.
    critical: f64,
    /// Residual sum of squares without the change.
    left_over: f64,
}

impl Change {
    fn matters(&self) -> bool {
        self.size.abs() > MAX_CHANGE && self.t.abs() > self.critical
    }
}

/// Commits per second of the measured intervals of a run, in order.
pub fn windows(intervals: &[Interval], run: u32) -> Vec<f64> {
    let measured = intervals.iter().filter(|i| i.run == run && !i.warm_up && i.duration_ns > 0);
    measured.map(|i| i.counts.committed as f64 / (i.duration_ns as f64 / 1e9)).collect()
}

/// Judges the commits per second of a run's windows, each of one second.
///
/// If both a different head and a trend are significant, the one with the smaller residual gives the verdict. For a run
/// without commits the head is the whole run.
pub fn judge(windows: &[f64]) -> SteadyVerdict {
    if windows.len() < MIN_WINDOWS {
        return SteadyVerdict::TooShort;
    }
    let mean = mean(windows).unwrap_or(0.0);
    if mean <= 0.0 {
        return SteadyVerdict::NotSteady { cut_s: windows.len() as f64, change: None };
    }
    let trend = Some(slope(windows, mean)).filter(Change::matters);
    let head = head(windows).filter(|(_, change)| change.matters());
    match (trend, head) {
        (None, None) => SteadyVerdict::Steady,
        (Some(trend), Some((_, head))) if trend.left_over <= head.left_over => trending(&trend),
        (_, Some((cut, head))) => SteadyVerdict::NotSteady {
            cut_s: cut as f64,
            change: Some(head.size).filter(|size| size.is_finite()),
        },
        (Some(trend), None) => trending(&trend),
    }
}

fn trending(trend: &Change) -> SteadyVerdict {
    SteadyVerdict::Trending { change: trend.size }
}

/// The rise of the fitted line over the interval.
fn slope(windows: &[f64], mean: f64) -> Change {
    let n = windows.len() as f64;
    let middle = (n - 1.0) / 2.0;
    let spread: f64 = (0..windows.len()).map(|i| (i as f64 - middle).powi(2)).sum();
    let covariance: f64 = windows.iter().enumerate().map(|(i, y)| (i as f64 - middle) * (y - mean)).sum();
    let slope = covariance / spread;
    let residuals: Vec<f64> =
        windows.iter().enumerate().map(|(i, y)| y - mean - slope * (i as f64 - middle)).collect();
    let left_over = sum_of_squares(&residuals);
    let error = (left_over / (n - 2.0) / spread).sqrt();
    Change {
        size: slope * n / mean,
        t: ratio(slope, error) * correction(&residuals),
        critical: two_sided(FALSE_ALARMS, (windows.len() - 2) as f64),
        left_over,
    }
}

/// The head that MSER would cut, in windows, and its distance from the rest; `None` if MSER cuts nothing.
fn head(windows: &[f64]) -> Option<(usize, Change)> {
    let size = (windows.len() / MIN_WINDOWS).clamp(1, BATCH);
    let batches: Vec<f64> = windows.chunks_exact(size).filter_map(mean).collect();
    let candidates = batches.len() / 2;
    let unrest = |cut: usize| {
        let rest = &batches[cut..];
        sum_of_squares(rest) / (rest.len() as f64).powi(2)
    };
    let cut = (0..=candidates).min_by(|&a, &b| unrest(a).total_cmp(&unrest(b)))? * size;
    let (head, rest) = windows.split_at(cut);
    let (head_mean, rest_mean) = (mean(head)?, mean(rest)?);
    let mut residuals: Vec<f64> = head.iter().map(|y| y - head_mean).collect();
    residuals.extend(rest.iter().map(|y| y - rest_mean));
    let degrees = rest.len() as u32 - 1;
    // Noise is estimated from the rest only: the scatter of the head may be zero (one batch) or that of a ramp.
    let variance = sum_of_squares(rest) / f64::from(degrees);
    let error = (variance * (1.0 / head.len() as f64 + 1.0 / rest.len() as f64)).sqrt();
    let change = Change {
        size: (head_mean - rest_mean) / rest_mean,
        t: ratio(head_mean - rest_mean, error) * correction(&residuals[cut..]),
        // The cut was chosen among several candidates (Bonferroni).
        critical: two_sided(FALSE_ALARMS / candidates as f64, f64::from(degrees)),
        left_over: sum_of_squares(&residuals),
    };
    Some((cut, change))
}

/// A change divided by its error; infinite without an error.
fn ratio(change: f64, error: f64) -> f64 {
    if change == 0.0 { 0.0 } else { change / error }
}

/// Correction of t for correlated neighbours: √((1−ρ)/(1+ρ)) for a correlation ρ from one window to the next, as for
/// the effective sample size of a first-order autoregressive series. Negative correlation is ignored.
fn correction(residuals: &[f64]) -> f64 {
    let squares: f64 = residuals.iter().map(|r| r * r).sum();
    let products: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let correlation = if squares > 0.0 { (products / squares).clamp(0.0, MAX_CORRELATION) } else { 0.0 };
    ((1.0 - correlation) / (1.0 + correlation)).sqrt()
}

#[cfg(test)]
pub(super) mod tests {
    use pgdyno_core::random::{Draw, Random};
    use proptest::prelude::*;

    use super::*;

    /// Normal numbers (Box and Muller) from a fixed seed.
    pub struct Normal(Random);

    impl Normal {
        pub fn seeded(seed: u64) -> Self {
            Self(Random::seeded(seed))
        }

        pub fn draw(&mut self) -> f64 {
            let mut unit = || (self.0.between(1, 1 << 53) as f64) / (1u64 << 53) as f64;
            (-2.0 * unit().ln()).sqrt() * (std::f64::consts::TAU * unit()).cos()
        }
    }

    /// A run of `n` seconds: a mean of 1000 times a shape, and noise of `cv` with correlation `rho`.
    fn series(n: usize, cv: f64, rho: f64, seed: u64, shape: impl Fn(f64) -> f64) -> Vec<f64> {
        let mut normal = Normal::seeded(seed);
        let mut state = normal.draw();
        let seconds = (0..n).map(|i| {
            state = rho * state + (1.0 - rho * rho).sqrt() * normal.draw();
            1_000.0 * (shape(i as f64) + cv * state)
        });
        seconds.collect()
    }

    /// The number of unsteady verdicts in a thousand runs.
    fn alarms(n: usize, cv: f64, rho: f64, shape: impl Fn(f64) -> f64 + Copy) -> usize {
        (0..1_000).filter(|&seed| judge(&series(n, cv, rho, seed, shape)) != SteadyVerdict::Steady).count()
    }

    #[test]
    fn short_runs_are_not_judged() {
        assert_eq!(judge(&[1.0; 9]), SteadyVerdict::TooShort);
        assert_eq!(judge(&[1.0; 10]), SteadyVerdict::Steady);
        assert_eq!(judge(&[0.0; 12]), SteadyVerdict::NotSteady { cut_s: 12.0, change: None });
    }

    /// Noise of 5 %, independent and with a correlation of 0.5 from one second to the next.
    #[test]
    fn steady_noise_is_seldom_called_unsteady() {
        let counts = [10, 30, 60, 300].map(|n| alarms(n, 0.05, 0.0, |_| 1.0));
        let correlated = [30, 60, 300].map(|n| alarms(n, 0.05, 0.5, |_| 1.0));
        println!("false alarms in 1000 at 10, 30, 60, 300 s: {counts:?}; at 30, 60, 300 s: {correlated:?}");
        assert!(counts.iter().all(|&count| count <= 10), "{counts:?}");
        assert!(correlated.iter().all(|&count| count <= 40), "{correlated:?}");
    }

    #[test]
    fn a_warm_up_that_was_too_short_is_cut() {
        let ramp = |i: f64| 1.0 - 0.5 * (-i / 2.0).exp();
        let cut = |seed| match judge(&series(30, 0.03, 0.0, seed, ramp)) {
            SteadyVerdict::NotSteady { cut_s, .. } => cut_s,
            verdict => panic!("seed {seed}: {verdict:?}"),
        };
        let mut cuts: Vec<f64> = (0..50).map(cut).collect();
        cuts.sort_by(f64::total_cmp);
        // The ramp is within 5 % of its end after 5 s; MSER may cut more, and at most half.
        assert!(cuts[0] >= 2.0 && cuts[25] <= 9.0 && cuts[49] <= 15.0, "{cuts:?}");
    }

    #[test]
    fn a_trend_is_found_with_its_size() {
        for seed in 0..50 {
            let verdict = judge(&series(60, 0.03, 0.0, seed, |i| 1.0 - 0.2 * (i / 60.0 - 0.5)));
            let SteadyVerdict::Trending { change } = verdict else { panic!("seed {seed}: {verdict:?}") };
            assert!((-0.26..=-0.14).contains(&change), "seed {seed}: {change}");
        }
    }

    proptest! {
        /// First seconds that clearly differ are never called steady, and their size is reported. A long cut may dilute
        /// them so much that a line fits as well: that is a trend.
        #[test]
        fn first_seconds_that_differ_are_reported_with_their_size(
            n in 40_usize..200,
            share in 0.1_f64..0.25,
            size in prop_oneof![-0.9_f64..-0.5, 0.5_f64..2.0],
            seed in any::<u64>(),
        ) {
            let head = (n as f64 * share).ceil();
            let shape = |i: f64| if i < head { 1.0 + size } else { 1.0 };
            let verdict = judge(&series(n, 0.02, 0.0, seed, shape));
            prop_assert!(verdict != SteadyVerdict::Steady);
            if let SteadyVerdict::NotSteady { cut_s, change } = verdict {
                let change: f64 = change.expect("there are commits");
                let want = size * head.min(cut_s) / cut_s;
                prop_assert!((change - want).abs() <= 0.1 * (1.0 + size.abs()), "{change} instead of {want}");
            }
        }

        /// The verdict is about shares: another unit does not change it.
        #[test]
        fn a_verdict_does_not_depend_on_the_unit(
            windows in prop::collection::vec(1.0..1e4, 10..80),
            power in -8_i32..8,
        ) {
            let scaled: Vec<f64> = windows.iter().map(|tps| tps * 2_f64.powi(power)).collect();
            prop_assert_eq!(judge(&windows), judge(&scaled));
        }
    }

    #[test]
    fn a_change_too_small_to_matter_is_let_pass() {
        assert_eq!(alarms(300, 0.01, 0.0, |i| 1.0 + 0.03 * i / 300.0), 0);
    }

    #[test]
    fn a_change_without_any_noise_is_found() {
        let line: Vec<f64> = (0..20).map(|i| 100.0 + f64::from(i)).collect();
        assert!(matches!(judge(&line), SteadyVerdict::Trending { .. }));
    }
}
