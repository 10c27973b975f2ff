//! Mean and standard deviation in constant memory.

use serde::{Deserialize, Serialize};

/// Count, extremes and the sums of values and of their squares.
///
/// pgbench's own figures are computed from these sums. Squares of whole numbers below 2^26 (67 s in microseconds) are
/// exact in a double, and their sum is exact below 2^53.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Moments {
    /// Number of values.
    pub count: u64,
    /// Smallest value; 0 if there is none.
    pub min: f64,
    /// Largest value; 0 if there is none.
    pub max: f64,
    /// Sum of the values.
    pub sum: f64,
    /// Sum of the squares of the values.
    pub sum_of_squares: f64,
}

impl Moments {
    /// Adds a value.
    #[inline]
    pub fn add(&mut self, value: f64) {
        if self.count == 0 || value < self.min {
            self.min = value;
        }
        if self.count == 0 || value > self.max {
            self.max = value;
        }
        self.count += 1;
        self.sum += value;
        self.sum_of_squares += value * value;
    }

    /// Adds the values of another instance.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 || other.min < self.min {
            self.min = other.min;
        }
        if self.count == 0 || other.max > self.max {
            self.max = other.max;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.sum_of_squares += other.sum_of_squares;
    }

    /// The mean; `None` without values.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }

    /// The standard deviation of the values (not an estimate for a population); `None` without values.
    pub fn stddev(&self) -> Option<f64> {
        let mean = self.mean()?;
        Some((self.sum_of_squares / self.count as f64 - mean * mean).max(0.0).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn moments_match_the_values(values in prop::collection::vec(0u32..10_000_000, 1..200), cut in 0usize..200) {
            let (mut whole, mut first, mut second) = (Moments::default(), Moments::default(), Moments::default());
            for (index, &value) in values.iter().enumerate() {
                whole.add(f64::from(value));
                if index < cut { first.add(f64::from(value)) } else { second.add(f64::from(value)) }
            }
            first.merge(&second);
            prop_assert_eq!(first, whole);
            let mean = values.iter().map(|&v| f64::from(v)).sum::<f64>() / values.len() as f64;
            let variance = values.iter().map(|&v| (f64::from(v) - mean).powi(2)).sum::<f64>() / values.len() as f64;
            prop_assert!((whole.mean().expect("values") - mean).abs() <= mean * 1e-12);
            prop_assert!((whole.stddev().expect("values") - variance.sqrt()).abs() <= 1e-3 * (1.0 + variance.sqrt()));
            prop_assert_eq!(whole.min, f64::from(*values.iter().min().expect("values")));
            prop_assert_eq!(whole.max, f64::from(*values.iter().max().expect("values")));
        }
    }

    #[test]
    fn no_values_have_no_mean() {
        assert_eq!((Moments::default().mean(), Moments::default().stddev()), (None, None));
    }
}
