//! A location estimate robust to outliers, and the detection of outliers.

/// A block is an outlier if its modified z-score exceeds this value (Iglewicz and Hoaglin, "How to Detect and
/// Handle Outliers", 1993).
const MAX_SCORE: f64 = 3.5;
/// The median absolute deviation over the standard deviation of a normal distribution.
const MAD_OVER_SD: f64 = 0.6745;

/// The Hodges-Lehmann estimate: the median of the means of all pairs of observations, including each with itself.
/// `None` without observations.
pub fn hodges_lehmann(observations: &[f64]) -> Option<f64> {
    let pairs = observations
        .iter()
        .enumerate()
        .flat_map(|(at, a)| observations[at..].iter().map(move |b| f64::midpoint(*a, *b)));
    median(pairs.collect())
}

/// Whether each observation is an outlier. Outliers are marked and never dropped.
pub fn outliers(observations: &[f64]) -> Vec<bool> {
    let Some(middle) = median(observations.to_vec()) else { return Vec::new() };
    let away = |d: &f64| (d - middle).abs();
    let usual = median(observations.iter().map(away).collect()).unwrap_or(0.0);
    observations.iter().map(|d| usual > 0.0 && MAD_OVER_SD * away(d) / usual > MAX_SCORE).collect()
}

pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        count if count % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_median_of_pairwise_means() {
        // 1, 1.5, 2, 5.5, 6, 10: the middle values are 2 and 5.5.
        assert_eq!(hodges_lehmann(&[1.0, 2.0, 10.0]), Some(3.75));
        assert_eq!(hodges_lehmann(&[]), None);
    }

    #[test]
    fn an_outlier_is_marked() {
        let blocks = [0.05, 0.04, 0.06, 0.05, -0.40, 0.05, 0.07, 0.03];
        assert_eq!(outliers(&blocks).iter().position(|outlier| *outlier), Some(4));
        assert_eq!(outliers(&blocks).iter().filter(|outlier| **outlier).count(), 1);
        assert_eq!(outliers(&[0.0; 4]), [false; 4]);
        let middle = hodges_lehmann(&blocks).expect("there are some");
        assert!((middle - 0.05).abs() < 0.011, "{middle}");
    }

    proptest! {
        #[test]
        fn it_moves_with_its_observations(
            observations in prop::collection::vec(-1.0f64..1.0, 1..20), shift in -2.0f64..2.0,
        ) {
            let estimate = hodges_lehmann(&observations).expect("there are some");
            let moved: Vec<f64> = observations.iter().map(|d| d + shift).collect();
            prop_assert!((hodges_lehmann(&moved).expect("there are some") - estimate - shift).abs() < 1e-9);
            let turned: Vec<f64> = observations.iter().map(|d| -d).collect();
            prop_assert!((hodges_lehmann(&turned).expect("there are some") + estimate).abs() < 1e-9);
            let low = observations.iter().copied().fold(f64::INFINITY, f64::min);
            let high = observations.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            prop_assert!((low..=high).contains(&estimate));
        }
    }
}
