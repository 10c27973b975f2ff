//! Whether blocks are independent of each other, and how much wider an interval is for it.

use crate::statistics::{mean, normal_density, two_sided, two_sided_p};

/// Correlation of an observation with the one before it above which it is a doubt. Sixteen independent blocks exceed it
/// about once in eight times, and 32 once in twenty.
pub const MAX_CORRELATION: f64 = 0.30;
/// Fewest observations whose correlation may be a doubt.
pub const FEWEST_DOUBTED: u32 = 12;
/// Fewest observations for which it is reported and widens an interval. Eight show little of a correlation, but the
/// first look of many blocks is after eight, and can wait for more.
const FEWEST: usize = 8;
/// Smallest and largest correlation that is allowed for. Below the smallest all blocks count as equally independent.
const ALLOWED: (f64, f64) = (0.1, 0.9);
/// Points at which widenings are averaged: standard deviations of the correlation on either side of its mean, and their
/// distance.
const POINTS: (i32, f64) = (16, 0.25);

/// The correlation of each observation with the one before it, corrected for its bias in short series, at most 1.
/// `None` for fewer than eight, or without scatter.
pub fn lag_one(observations: &[f64]) -> Option<f64> {
    let found = found(observations).filter(|_| observations.len() >= FEWEST)?;
    Some(corrected(found, observations.len()))
}

/// The correlation as it was found.
fn found(observations: &[f64]) -> Option<f64> {
    let middle = mean(observations)?;
    let away: Vec<f64> = observations.iter().map(|one| one - middle).collect();
    let squares: f64 = away.iter().map(|d| d * d).sum();
    let products: f64 = away.windows(2).map(|pair| pair[0] * pair[1]).sum();
    (squares > 0.0).then(|| products / squares)
}

/// Without the bias of short series (Marriott and Pope, "Bias in the Estimation of Autocorrelations", Biometrika 41,
/// 1954, 390-402).
fn corrected(found: f64, count: usize) -> f64 {
    (found + (1.0 + 4.0 * found) / count as f64).min(1.0)
}

/// Student's t for observations that may depend on each other: the more each resembles the one before, the larger must
/// t be.
///
/// Few observations show a correlation badly, so no threshold separates those that depend on each other from those that
/// do not. Every interval is widened by the correlation that its observations show, as a series in which each remembers
/// the one before would need it: by √((1 + r)/(1 − r)). Of independent observations some seem to depend on each other
/// and some do not; the limit of t is lowered for all alike until they together exceed it as often as they may. For
/// normal observations that is exact but for the shape of the distribution of r, because r says nothing about t.
///
/// Simulated, equal arms whose blocks correlate by 0.5, with their looks: 8.9, 8.8 and 8.5 % false alarms in 16, 24 and
/// 32 blocks (29 to 31 % without it). In return, of 16 independent blocks that scatter by 5 %, a true 5 % is found 80
/// times in 100 (95 without it), and of 25 blocks a true 3 % 72 times (79).
#[derive(Debug, Clone)]
pub(super) struct Dependence {
    /// The widening of these observations.
    own: f64,
    /// Widenings of independent observations, each with its share.
    usual: Vec<(f64, f64)>,
}

impl Dependence {
    /// Fewer than eight observations, and those that do not scatter, count as independent.
    pub(super) fn of(observations: &[f64]) -> Self {
        let count = observations.len();
        match found(observations).filter(|_| count >= FEWEST) {
            Some(found) => Self { own: widening(found, count), usual: usual_widenings(count) },
            None => Self { own: 1.0, usual: vec![(1.0, 1.0)] },
        }
    }

    /// The two-sided p value of this t: the share of independent observations whose t exceeds it as much, each for its
    /// own widening.
    pub(super) fn p_value(&self, t: f64, degrees: f64) -> f64 {
        let share = |(widening, share): &(f64, f64)| share * two_sided_p(t * widening / self.own, degrees);
        self.usual.iter().map(share).sum::<f64>().min(1.0)
    }

    /// The t of this p value.
    pub(super) fn two_sided(&self, alpha: f64, degrees: f64) -> f64 {
        let plain = two_sided(alpha, degrees);
        // With one widening for all, the limit would be lowered by it.
        let (mut low, mut high) =
            self.usual.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), (usual, _)| {
                let t = plain * self.own / usual;
                (low.min(t), high.max(t))
            });
        // The logarithm of p is nearly straight between them: regula falsi with halved ends (Illinois).
        let off = |t: f64| (self.p_value(t, degrees) / alpha).ln();
        let (mut at_low, mut at_high) = (off(low), off(high));
        while high - low > 1e-6 * high {
            let middle = (low + (high - low) * at_low / (at_low - at_high)).clamp(low, high);
            let at_middle = off(middle);
            if at_middle.abs() < 1e-7 {
                return middle;
            }
            if at_middle > 0.0 {
                (low, at_low, at_high) = (middle, at_middle, at_high / 2.0);
            } else {
                (high, at_high, at_low) = (middle, at_middle, at_low / 2.0);
            }
        }
        high
    }
}

/// By how much a standard error grows for a correlation that was found in so many observations. The correlation is
/// taken higher than that, the more so the fewer they are, since few hide one that is there.
fn widening(found: f64, count: usize) -> f64 {
    let hidden = (24.0 / (count as f64).powf(1.5)).min(0.5);
    let r = (1.25 * corrected(found, count) + hidden).clamp(ALLOWED.0, ALLOWED.1);
    ((1.0 + r) / (1.0 - r)).sqrt()
}

/// The widenings of so many independent normal observations with their shares: mean and standard deviation of their
/// correlation are exact (Moran, "Some Theorems on Time Series II", Biometrika 35, 1948, 255-260), and its distribution
/// is taken as normal.
fn usual_widenings(count: usize) -> Vec<(f64, f64)> {
    let n = count as f64;
    let (middle, deviation) = (-1.0 / n, (n - 2.0) / (n * (n - 1.0).sqrt()));
    let points = (-POINTS.0..=POINTS.0).map(|at| f64::from(at) * POINTS.1);
    let whole: f64 = points.clone().map(normal_density).sum();
    let mut usual: Vec<(f64, f64)> = Vec::new();
    for z in points {
        let (widening, share) = (widening(middle + z * deviation, count), normal_density(z) / whole);
        match usual.last_mut().filter(|last| last.0 == widening) {
            Some(last) => last.1 += share,
            None => usual.push((widening, share)),
        }
    }
    usual
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steady::tests::Normal;

    #[test]
    fn the_correlation_is_that_of_a_calculation_by_hand() {
        // About 0: 1·1 + 1·(−1) + (−1)(−1) + (−1)·1 + … is 1 over twelve squares.
        let r = lag_one(&[1.0, 1.0, -1.0, -1.0].repeat(3)).expect("twelve");
        assert!((r - (1.0 / 12.0 + (1.0 + 4.0 / 12.0) / 12.0)).abs() < 1e-12, "{r}");
        assert_eq!((lag_one(&[1.0; 11]), lag_one(&[1.0; 12])), (None, None));
        let rising: Vec<f64> = (0..16).map(f64::from).collect();
        assert!(lag_one(&rising).expect("sixteen") > 0.7);
    }

    #[test]
    fn the_widening_is_that_of_a_calculation_by_hand() {
        // 0.25 corrected is 0.25 + 2/16 = 0.375; 1.25 · 0.375 + 24/64 = 0.84375.
        let expected = (1.84375_f64 / 0.15625).sqrt();
        assert!((widening(0.25, 16) - expected).abs() < 1e-12);
        assert_eq!(widening(-0.9, 16), (1.1_f64 / 0.9).sqrt(), "at least 0.1 is allowed for");
        assert_eq!(widening(0.9, 16), 19.0_f64.sqrt(), "and at most 0.9");
        // 1.25 · 0.125 + 0.5, not 24/8^1.5.
        assert!((widening(0.0, 8) - (1.65625_f64 / 0.34375).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn few_observations_and_those_without_scatter_are_plain() {
        for plain in [&[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0][..], &[1.0; 9]] {
            let dependence = Dependence::of(plain);
            assert!((dependence.two_sided(0.05, 6.0) - two_sided(0.05, 6.0)).abs() < 1e-6);
            assert!((dependence.p_value(2.0, 6.0) - two_sided_p(2.0, 6.0)).abs() < 1e-12);
        }
    }

    #[test]
    fn t_and_p_belong_together_and_rise_with_the_correlation() {
        let turns: Vec<f64> = (0..16).map(|at| f64::from(at % 2)).collect();
        let mixed = [1.0, 1.0, -1.0, -1.0].repeat(4);
        let rising: Vec<f64> = (0..16).map(f64::from).collect();
        for (alpha, degrees) in [(0.05, 15.0), (0.003, 11.0), (1e-5, 15.0), (0.9, 15.0)] {
            let t = [&turns, &mixed, &rising].map(|one| {
                let dependence = Dependence::of(one);
                let t = dependence.two_sided(alpha, degrees);
                let p = dependence.p_value(t, degrees);
                assert!((p / alpha - 1.0).abs() < 1e-4, "{p} is not {alpha}");
                t
            });
            let plain = two_sided(alpha, degrees);
            assert!(t[0] < plain && t[0] < t[1] && t[1] < t[2] && t[2] > 1.5 * plain, "{t:?} {plain}");
        }
    }

    /// The levels that independent observations get by their correlation are on average the requested one.
    #[test]
    fn independent_observations_exceed_t_as_often_as_they_may() {
        let mut normal = Normal::seeded(71);
        for count in [8_usize, 12, 16, 32] {
            let degrees = (count - 1) as f64;
            for alpha in [0.05, 0.004] {
                let mut level = || {
                    let observations: Vec<f64> = (0..count).map(|_| normal.draw()).collect();
                    two_sided_p(Dependence::of(&observations).two_sided(alpha, degrees), degrees)
                };
                let average = (0..4_000).map(|_| level()).sum::<f64>() / 4_000.0;
                assert!((average / alpha - 1.0).abs() < 0.1, "{average} instead of {alpha} in {count}");
            }
        }
    }
}
