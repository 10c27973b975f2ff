//! The mean, without its extremes if one of them is wild: one wild block does not decide a comparison.

use crate::statistics::{Scatter, mean, sum_of_squares};

/// One observation of so many is left out at each end.
const ONE_OF: usize = 8;
/// An observation is wild if it is more than this many standard deviations away from the mean without extremes, both as
/// of the rest. Of normal observations 1.2 % of eight have a wild one, and 0.3 % of sixteen.
const WILD: f64 = 5.0;

/// A mean, trimmed if need be, with the scatter that it has: its standard error is the root of variance over count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trimmed {
    /// The mean, without the extremes if one of them is wild.
    pub mean: f64,
    /// The variance of one observation, as far as it concerns the mean.
    pub scatter: Scatter,
}

/// Number of observations of `count` that a mean leaves out at each end. Which ones is decided by rank alone, and as
/// many high ones go as low ones.
pub fn trimmed_at_each_end(count: usize) -> usize {
    count / ONE_OF
}

impl Trimmed {
    /// The mean of observations; `None` with fewer than two. From eight on, if one of them is wild, it is trimmed:
    /// always trimmed, it would need some six blocks in a hundred more for the same power.
    ///
    /// The standard error of the trimmed mean is that of Tukey and McLaughlin ("Less Vulnerable Confidence and
    /// Significance Procedures for Location Based on a Single Sample", Sankhyā A 25, 1963, 331-352): from the variance
    /// of the observations after the extremes took the values of their neighbours, with the degrees of freedom of those
    /// that remain.
    ///
    /// Simulated, 16 blocks, 95 %, an effect of one standard deviation: of normal blocks it covers 95 % and finds 96 %
    /// (always trimmed 94 %, the plain mean 96 %); if one block in ten is ten times as wild, it covers 95 % and finds
    /// 81 % (always trimmed 82 %, the plain mean 48 %).
    pub fn of(observations: &[f64]) -> Option<Self> {
        let plain = Self { mean: mean(observations)?, scatter: Scatter::of(observations)? };
        let trimmed = Self::without_extremes(observations);
        Some(trimmed.filter(|trimmed| trimmed.leaves_a_wild_one(observations)).unwrap_or(plain))
    }

    /// The trimmed mean; `None` with fewer than eight observations.
    fn without_extremes(observations: &[f64]) -> Option<Self> {
        let (count, cut) = (observations.len(), trimmed_at_each_end(observations.len()));
        let mut sorted = observations.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let kept = sorted.get(cut..count - cut).filter(|_| cut > 0)?;
        let (low, high) = (*kept.first()?, *kept.last()?);
        let drawn_in: Vec<f64> = observations.iter().map(|one| one.clamp(low, high)).collect();
        let left = kept.len() as f64;
        let variance = sum_of_squares(&drawn_in) / (left * (left - 1.0)) * count as f64;
        Some(Self { mean: mean(kept)?, scatter: Scatter { variance, degrees: left - 1.0 } })
    }

    fn leaves_a_wild_one(&self, observations: &[f64]) -> bool {
        let far = WILD * self.scatter.variance.sqrt();
        observations.iter().any(|one| (one - self.mean).abs() > far)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_trimmed_mean_is_that_of_a_calculation_by_hand() {
        // 1 … 8: 2 … 7 are left, mean 4.5. Drawn in: 2, 2, 3, 4, 5, 6, 7, 7, sum of squares 30; 30 / (6 · 5) · 8.
        let of = |last: f64| Trimmed::of(&[last, 1.0, 2.0, 7.0, 3.0, 6.0, 4.0, 5.0]).expect("eight");
        let trimmed = Trimmed { mean: 4.5, scatter: Scatter { variance: 8.0, degrees: 5.0 } };
        assert_eq!((of(1e9), of(-1e9).mean), (trimmed, 3.5), "how wild it is does not matter");
        // Five times √8 is 14.1.
        assert_eq!(of(18.7), trimmed);
        assert_eq!((of(18.6).mean, of(18.6).scatter.degrees), (46.6 / 8.0, 7.0), "this is not wild");
    }

    /// The plain mean of normal observations is the best there is.
    #[test]
    fn observations_that_are_not_wild_are_not_trimmed() {
        let found = Trimmed::of(&[8.0, 1.0, 2.0, 7.0, 3.0, 6.0, 4.0, 5.0]).expect("eight");
        assert_eq!(found, Trimmed { mean: 4.5, scatter: Scatter { variance: 6.0, degrees: 7.0 } });
        assert_eq!(Trimmed::of(&[0.25; 9]).expect("nine").scatter, Scatter { variance: 0.0, degrees: 8.0 });
        let mut normal = crate::steady::tests::Normal::seeded(52);
        let mut is_trimmed = |count: usize| {
            let observations: Vec<f64> = (0..count).map(|_| normal.draw()).collect();
            Trimmed::of(&observations).expect("they are many").scatter.degrees < (count - 1) as f64
        };
        let [of_eight, of_sixteen] = [8, 16].map(|count| (0..4_000).filter(|_| is_trimmed(count)).count());
        assert!(of_eight < 80 && of_sixteen < 30, "{of_eight} {of_sixteen} of 4000");
    }

    #[test]
    fn few_observations_are_not_trimmed() {
        let found = Trimmed::of(&[1.0, 2.0, 6.0]).expect("three");
        assert_eq!(found, Trimmed { mean: 3.0, scatter: Scatter { variance: 7.0, degrees: 2.0 } });
        assert_eq!(Trimmed::of(&[1.0]), None);
        let ends = [3, 7, 8, 15, 16, 24].map(trimmed_at_each_end);
        assert_eq!(ends, [0, 0, 1, 1, 2, 3]);
    }

    proptest! {
        #[test]
        fn it_turns_and_moves_with_its_observations(
            observations in prop::collection::vec(-1.0f64..1.0, 2..40), shift in -2.0f64..2.0,
        ) {
            let one = Trimmed::of(&observations).expect("two");
            let other = Trimmed::of(&observations.iter().map(|d| shift - d).collect::<Vec<_>>()).expect("two");
            prop_assert!((shift - one.mean - other.mean).abs() < 1e-9);
            prop_assert!((one.scatter.variance - other.scatter.variance).abs() < 1e-9);
        }
    }
}
