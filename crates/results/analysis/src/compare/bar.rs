//! A ratio from pairs of observations, and its comparison with a bar.

use std::fmt;

use super::{MIN_BLOCKS, verdict::interval};

/// Fewest pairs of a confidence interval.
const FEWEST_PAIRS: usize = MIN_BLOCKS as usize;

/// Why no ratio can be computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoRatio {
    /// An observation is not positive.
    #[error("a slot without a transaction has no ratio: use longer slots")]
    Empty,
    /// Fewer than three pairs.
    #[error("a confidence interval needs at least three pairs")]
    TooFew,
}

/// A ratio with its 95 % confidence interval, computed from ln(A/B) of pairs as a comparison does: the trimmed mean
/// with Student's t. Stored as logarithms, whose sums are products of ratios.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    ln: f64,
    half_width: f64,
}

/// The required range of a ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bar {
    /// At least this value.
    AtLeast(f64),
    /// At most this value.
    AtMost(f64),
    /// Equal within this share: from 1/(1 + share) to 1 + share.
    Within(f64),
}

/// Result of comparing an interval with a bar.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Standing {
    /// The whole interval is on the required side.
    Met,
    /// The whole interval is on the other side.
    Missed,
    /// The interval contains the bar. The value is its half-width as a share of the ratio.
    Undecided(f64),
}

impl Ratio {
    /// Computes a ratio from pairs of positive observations, A first.
    ///
    /// # Errors
    /// Fewer than three pairs, or an observation that is not positive.
    pub fn from_pairs(pairs: impl Iterator<Item = (f64, f64)>) -> Result<Self, NoRatio> {
        Self::from_logarithms(&logarithms(pairs)?)
    }

    /// Computes a ratio from the pairs of several starts of the same programs. Pairs of one start share conditions such
    /// as memory layout and wake-up order, so the interval is computed from the means of the starts.
    ///
    /// # Errors
    /// Fewer than three starts with a pair, or an observation that is not positive.
    pub fn from_starts(starts: impl Iterator<Item = Vec<(f64, f64)>>) -> Result<Self, NoRatio> {
        let starts = starts.filter(|pairs| !pairs.is_empty());
        let means = starts.map(|pairs| Ok(mean(&logarithms(pairs.into_iter())?)));
        Self::from_logarithms(&means.collect::<Result<Vec<_>, _>>()?)
    }

    fn from_logarithms(ln: &[f64]) -> Result<Self, NoRatio> {
        let (ln, half_width) = interval(ln).filter(|_| ln.len() >= FEWEST_PAIRS).ok_or(NoRatio::TooFew)?;
        Ok(Self { ln, half_width })
    }

    /// The geometric mean of independent ratios; `None` without a ratio.
    pub fn mean_of(ratios: &[Self]) -> Option<Self> {
        let count = ratios.len() as f64;
        let (ln, squares) =
            ratios.iter().fold((0.0, 0.0), |sum, of| (sum.0 + of.ln, sum.1 + of.half_width.powi(2)));
        (!ratios.is_empty()).then(|| Self { ln: ln / count, half_width: squares.sqrt() / count })
    }

    /// Compares the interval with a bar.
    pub fn judge(&self, bar: Bar) -> Standing {
        // Distance of the ratio from the bar on the required side, in logarithms.
        let above = match bar {
            Bar::AtLeast(least) => self.ln - least.ln(),
            Bar::AtMost(most) => most.ln() - self.ln,
            Bar::Within(share) => share.ln_1p() - self.ln.abs(),
        };
        if above >= self.half_width {
            Standing::Met
        } else if above < -self.half_width {
            Standing::Missed
        } else {
            Standing::Undecided(self.half_width.exp_m1())
        }
    }
}

fn logarithms(pairs: impl Iterator<Item = (f64, f64)>) -> Result<Vec<f64>, NoRatio> {
    let finite = |value: f64| value.is_finite().then_some(value).ok_or(NoRatio::Empty);
    pairs.map(|(a, b)| finite((a / b).ln())).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = |shift: f64| (self.ln + shift).exp();
        write!(f, "{:.3} [{:.3}, {:.3}]", at(0.0), at(-self.half_width), at(self.half_width))
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(least) => write!(f, "≥ {least}"),
            Self::AtMost(most) => write!(f, "≤ {most}"),
            Self::Within(share) => write!(f, "within {:.0} %", share * 100.0),
        }
    }
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Met => f.write_str("met"),
            Self::Missed => f.write_str("missed"),
            Self::Undecided(share) => write!(f, "undecided at ±{:.1} %", share * 100.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(f64, f64)]) -> Ratio {
        Ratio::from_pairs(pairs.iter().copied()).expect("three pairs")
    }

    #[test]
    fn pairs_of_one_start_count_once() {
        let starts = [vec![(2.0, 1.0)], vec![(4.0, 1.0), (1.0, 1.0)], vec![], vec![(8.0, 1.0), (2.0, 1.0)]];
        let ratio = Ratio::from_starts(starts.into_iter()).expect("three starts");
        assert_eq!(ratio, of(&[(2.0, 1.0), (2.0, 1.0), (4.0, 1.0)]));
        let many = vec![vec![(2.0, 1.0); 100], vec![(1.0, 1.0); 100]];
        assert_eq!(Ratio::from_starts(many.into_iter()), Err(NoRatio::TooFew));
        assert_eq!(Ratio::from_starts(vec![vec![(0.0, 1.0)]; 3].into_iter()), Err(NoRatio::Empty));
    }

    #[test]
    fn the_interval_is_that_of_a_calculation_by_hand() {
        // ln ratios 0, 0.1 and 0.2: mean 0.1, standard error 0.1/√3, t(2) = 4.3027.
        let ratio = of(&[(1.0, 1.0), (0.1_f64.exp(), 1.0), (0.2_f64.exp(), 1.0)]);
        assert!((ratio.ln - 0.1).abs() < 1e-12);
        assert!((ratio.half_width - 4.3027 * 0.1 / 3_f64.sqrt()).abs() < 1e-4);
        assert_eq!(ratio.to_string(), "1.105 [0.862, 1.417]");
    }

    #[test]
    fn swapping_the_programs_turns_the_ratio_over() {
        let pairs = [(1.0, 2.0), (1.1, 2.0), (1.0, 2.2)];
        let (one, other) = (of(&pairs), of(&pairs.map(|(a, b)| (b, a))));
        assert!((one.ln + other.ln).abs() < 1e-12 && (one.half_width - other.half_width).abs() < 1e-12);
        assert!(Ratio::mean_of(&[one, other]).is_some_and(|mean| mean.ln.abs() < 1e-12));
    }

    #[test]
    fn a_mean_of_ratios_is_surer_than_each() {
        let of = |ratio: f64| Ratio { ln: ratio.ln(), half_width: 0.02 };
        let mean = Ratio::mean_of(&[of(0.5), of(2.0), of(1.0), of(1.0)]).expect("four");
        assert!(mean.ln.abs() < 1e-12 && (mean.half_width - 0.01).abs() < 1e-12);
        assert_eq!(Ratio::mean_of(&[]), None);
    }

    #[test]
    fn a_bar_is_met_or_missed_by_the_whole_interval() {
        let ratio = Ratio { ln: 1_f64.ln(), half_width: 0.02 };
        assert_eq!(ratio.judge(Bar::AtLeast(0.95)), Standing::Met);
        assert_eq!(ratio.judge(Bar::AtMost(0.95)), Standing::Missed);
        assert!(
            matches!(ratio.judge(Bar::AtLeast(0.99)), Standing::Undecided(share) if (share - 0.0202).abs() < 1e-4)
        );
        assert!(matches!(ratio.judge(Bar::AtMost(1.01)), Standing::Undecided(_)));
        assert_eq!(ratio.judge(Bar::Within(0.05)), Standing::Met);
        assert!(matches!(ratio.judge(Bar::Within(0.01)), Standing::Undecided(_)));
        for off in [1.2_f64, 1.0 / 1.2] {
            assert_eq!(Ratio { ln: off.ln(), ..ratio }.judge(Bar::Within(0.05)), Standing::Missed);
        }
        assert_eq!(Bar::Within(0.05).to_string(), "within 5 %");
        assert_eq!(Standing::Undecided(0.0202).to_string(), "undecided at ±2.0 %");
    }

    #[test]
    fn too_few_pairs_and_empty_slots_are_refused() {
        assert_eq!(Ratio::from_pairs([(1.0, 1.0); 2].into_iter()), Err(NoRatio::TooFew));
        assert_eq!(Ratio::from_pairs([(0.0, 1.0); 9].into_iter()), Err(NoRatio::Empty));
        assert_eq!(Ratio::from_pairs([(1.0, 0.0); 9].into_iter()), Err(NoRatio::Empty));
    }
}
