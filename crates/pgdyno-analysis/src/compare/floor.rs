//! The noise floor of a comparison, from A/A blocks.

use pgdyno_core::results::{Floor, Look};

use super::{
    super::estimate::{mean, sum_of_squares},
    power::{half_width, smallest_effect},
};

/// A/A blocks differ if their interval at this level excludes 0.
const ALPHA: f64 = 0.01;

/// Computes the noise floor from the ln ratios of A/A blocks; `None` with fewer than two. The order within these blocks
/// follows that of the A/B blocks.
pub fn floor(ln_ratios: &[f64], last: Look) -> Option<Floor> {
    let count = ln_ratios.len();
    let middle = mean(ln_ratios)?;
    if count < 2 {
        return None;
    }
    // The true mean is 0, so only the spread is estimated.
    let between_runs = (ln_ratios.iter().map(|d| d * d).sum::<f64>() / count as f64).sqrt();
    let sd = (sum_of_squares(ln_ratios) / (count - 1) as f64).sqrt();
    Some(Floor {
        blocks: count as u32,
        between_runs,
        smallest_effect: smallest_effect(between_runs, last.blocks, last.alpha),
        shown_by_blocks: last.blocks,
        differs: count >= 3 && middle.abs() > half_width(sd, count as u32, ALPHA),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steady::tests::Normal;

    const LAST: Look = Look { blocks: 16, alpha: 0.025 };

    #[test]
    fn the_spread_is_about_zero() {
        let found = floor(&[0.03, -0.04], LAST).expect("two are enough");
        assert!((found.between_runs - 0.0025f64.sqrt() / 2f64.sqrt()).abs() < 1e-12);
        assert_eq!((found.blocks, found.shown_by_blocks, found.differs), (2, 16, false));
        assert_eq!(floor(&[0.03], LAST), None);
    }

    #[test]
    fn the_same_against_itself_differs_one_time_in_a_hundred() {
        let mut normal = Normal::seeded(11);
        let found = (0..4_000)
            .filter(|_| {
                let d: Vec<f64> = (0..4).map(|_| 0.02 * normal.draw()).collect();
                floor(&d, LAST).expect("four are enough").differs
            })
            .count();
        assert!((20..=62).contains(&found), "{found} of 4000");
        assert!(floor(&[0.05, 0.051, 0.049, 0.05], LAST).expect("four are enough").differs);
    }
}
