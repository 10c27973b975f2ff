//! Many tests as one family.

/// The p values of a family of tests, adjusted so that calling those below a level significant is wrong anywhere in the
/// family with at most the probability of that level (Holm, "A simple sequentially rejective multiple test procedure",
/// Scandinavian Journal of Statistics 6, 1979, 65-70). It holds whatever the dependence between tests, such as that of
/// comparisons with one baseline.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let count = p_values.len();
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut adjusted = vec![1.0; count];
    let mut largest = 0.0_f64;
    for (rank, at) in order.into_iter().enumerate() {
        largest = largest.max(p_values[at] * (count - rank) as f64).min(1.0);
        adjusted[at] = largest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn adjusted_values_are_those_of_a_calculation_by_hand() {
        // Sorted: 0.005 · 4, 0.011 · 3, 0.02 · 2, 0.04 · 1; the third is below 0.04 and stays at it.
        let got = holm(&[0.02, 0.005, 0.04, 0.011]);
        for (got, expected) in got.iter().zip([0.04, 0.02, 0.04, 0.033]) {
            assert!((got - expected).abs() < 1e-12, "{got} is not {expected}");
        }
        assert_eq!(holm(&[]), [0.0; 0]);
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
    }

    proptest! {
        #[test]
        fn it_is_between_no_correction_and_bonferroni(p in prop::collection::vec(0.0f64..1.0, 1..30)) {
            let count = p.len() as f64;
            for (p, adjusted) in p.iter().zip(holm(&p)) {
                prop_assert!(adjusted <= (p * count).min(1.0) + 1e-12);
                prop_assert!(adjusted >= *p);
            }
        }

        #[test]
        fn a_smaller_value_stays_the_smaller(p in prop::collection::vec(0.0f64..1.0, 2..30)) {
            let adjusted = holm(&p);
            for (a, b) in (0..p.len()).zip(1..) {
                if b < p.len() && p[a] <= p[b] {
                    prop_assert!(adjusted[a] <= adjusted[b]);
                }
            }
        }
    }
}
