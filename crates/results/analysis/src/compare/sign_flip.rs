//! The exact sign-flip test.

/// Most observations for the exact test, which needs two lists of 2^(n/2) sums.
pub const EXACT_UP_TO: usize = 32;

/// The two-sided p of the sign-flip test (Fisher's randomisation test for pairs): without a difference, each
/// observation could as well have the opposite sign, and p is the share of all 2^n sign patterns whose sum is at least
/// as far from 0 as the observed one. The test is nonparametric; it only assumes that A and B are exchangeable in each
/// block. `None` with more than [`EXACT_UP_TO`] observations, or without any.
///
/// All patterns are counted by combining the sums over both halves of the observations.
pub fn sign_flip(observations: &[f64]) -> Option<f64> {
    let count = observations.len();
    if count == 0 || count > EXACT_UP_TO {
        return None;
    }
    let seen = observations.iter().sum::<f64>().abs();
    // Equal sums may differ in their last digits if they are added in another order.
    let scale: f64 = observations.iter().map(|d| d.abs()).sum();
    let reach = seen - scale * 1e-12;
    if reach <= 0.0 {
        return Some(1.0);
    }
    let (left, right) = observations.split_at(count / 2);
    let (left, right) = (sums(left), sums(right));
    // Both lists are ascending: with a larger left sum, more of the right sums suffice.
    let mut enough = right.len();
    let mut beyond = 0u64;
    for sum in left {
        while enough > 0 && sum + right[enough - 1] >= reach {
            enough -= 1;
        }
        beyond += (right.len() - enough) as u64;
    }
    Some(2.0 * beyond as f64 / 2f64.powi(count as i32))
}

/// The sums of all sign patterns, ascending.
fn sums(observations: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0];
    for d in observations {
        sums = sums.iter().flat_map(|sum| [sum - d, sum + d]).collect();
    }
    sums.sort_unstable_by(f64::total_cmp);
    sums
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Independent implementation that enumerates all patterns.
    fn by_hand(observations: &[f64]) -> f64 {
        let seen = observations.iter().sum::<f64>().abs();
        let beyond = (0u32..1 << observations.len())
            .filter(|pattern| {
                let signed = observations.iter().enumerate();
                let sum: f64 = signed.map(|(at, d)| if pattern >> at & 1 == 1 { -d } else { *d }).sum();
                sum.abs() >= seen - 1e-9
            })
            .count();
        beyond as f64 / f64::from(1u32 << observations.len())
    }

    #[test]
    fn all_on_one_side_is_the_least_there_can_be() {
        assert_eq!(sign_flip(&[0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08]), Some(2.0 / 256.0));
        assert_eq!(sign_flip(&[0.05; 16]), Some(2.0 / 65_536.0));
        assert_eq!(sign_flip(&[0.0; 8]), Some(1.0));
        assert_eq!(sign_flip(&[1.0, -1.0]), Some(1.0));
        assert_eq!((sign_flip(&[]), sign_flip(&[1.0; EXACT_UP_TO + 1])), (None, None));
    }

    proptest! {
        #[test]
        fn halves_count_what_patterns_count(observations in prop::collection::vec(-8i32..=8, 1..12)) {
            // Small integers, because counting errors show with many equal sums.
            let observations: Vec<f64> = observations.iter().map(|d| f64::from(*d) / 64.0).collect();
            let p = sign_flip(&observations).expect("they are few");
            prop_assert!((p - by_hand(&observations)).abs() < 1e-12, "{p} {}", by_hand(&observations));
        }

        #[test]
        fn neither_order_nor_arms_nor_scale_matter(
            mut observations in prop::collection::vec(-1.0f64..1.0, 2..20), by in 0.01f64..100.0,
        ) {
            let p = sign_flip(&observations).expect("they are few");
            observations.reverse();
            let turned: Vec<f64> = observations.iter().map(|d| -d * by).collect();
            prop_assert!((p - sign_flip(&turned).expect("they are few")).abs() < 1e-9);
            prop_assert!(p > 0.0 && p <= 1.0);
        }
    }
}
