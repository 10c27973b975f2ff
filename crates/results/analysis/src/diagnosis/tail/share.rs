//! Shares with their confidence intervals.

use std::collections::BTreeMap;

/// Two-sided 95 % of the normal distribution.
const Z: f64 = 1.96;

/// A share that is added up from parts of transactions, in clusters that are not independent within themselves.
#[derive(Debug, Clone, Default)]
pub struct ShareSum {
    by_cluster: BTreeMap<u64, f64>,
    pub sum: f64,
}

impl ShareSum {
    /// Adds a part.
    pub fn add(&mut self, cluster: u64, part: f64) {
        *self.by_cluster.entry(cluster).or_default() += part;
        self.sum += part;
    }

    /// The sum with that of another one.
    pub fn merge(&mut self, other: &Self) {
        other.by_cluster.iter().for_each(|(cluster, part)| self.add(*cluster, *part));
    }

    /// The share of a whole.
    pub fn of(&self, whole: &Self) -> f64 {
        if whole.sum > 0.0 { (self.sum / whole.sum).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// The 95 % confidence interval of the share: a ratio estimator over clusters gives the number of independent
    /// observations that the share is worth, and Wilson's interval of so many stays within 0 and 1.
    pub fn interval(&self, whole: &Self) -> (f64, f64) {
        let share = self.of(whole);
        let clusters = whole.by_cluster.len() as f64;
        if clusters < 2.0 {
            return (0.0, 1.0);
        }
        let squares: f64 = whole
            .by_cluster
            .iter()
            .map(|(cluster, all)| self.by_cluster.get(cluster).unwrap_or(&0.0) - share * all)
            .map(|residual| residual * residual)
            .sum();
        let variance = squares / (whole.sum * whole.sum) * clusters / (clusters - 1.0);
        let spread = share * (1.0 - share);
        let worth = if variance > 0.0 { (spread / variance).max(1.0) } else { clusters };
        wilson(share, worth)
    }
}

/// Wilson's interval of a share among so many independent observations.
fn wilson(share: f64, count: f64) -> (f64, f64) {
    let z2 = Z * Z / count;
    let centre = (share + z2 / 2.0) / (1.0 + z2);
    let half = Z / (1.0 + z2) * (share * (1.0 - share) / count + z2 / (4.0 * count)).sqrt();
    ((centre - half).clamp(0.0, share), (centre + half).clamp(share, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(parts: &[(u64, f64)]) -> ShareSum {
        let mut sum = ShareSum::default();
        parts.iter().for_each(|(cluster, part)| sum.add(*cluster, *part));
        sum
    }

    /// Wilson's interval of 30 among 100 is 21.9 % to 39.6 % (Newcombe 1998 computes it so).
    #[test]
    fn independent_observations_have_the_interval_of_wilson() {
        let whole: Vec<_> = (0..100).map(|at| (at, 1.0)).collect();
        let (low, high) = sum(&whole[..30]).interval(&sum(&whole));
        assert!((low - 0.219).abs() < 0.002 && (high - 0.396).abs() < 0.002, "{low} {high}");
    }

    #[test]
    fn what_happens_together_is_one_observation() {
        let whole: Vec<_> = (0..100).map(|at| (at / 10, 1.0)).collect();
        let (low, high) = sum(&whole[..30]).interval(&sum(&whole));
        assert!(low < 0.13 && high > 0.55, "{low} {high}");
        assert_eq!(sum(&[(1, 3.0)]).interval(&sum(&[(1, 4.0)])), (0.0, 1.0));
        let all: Vec<_> = (0..10).map(|at| (at, 1.0)).collect();
        let (low, high) = sum(&all).interval(&sum(&all));
        assert!(low > 0.6 && low < 0.8 && (high - 1.0).abs() < 1e-12, "{low} {high}");
    }
}
