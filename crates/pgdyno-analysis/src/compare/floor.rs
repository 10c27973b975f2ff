//! What the machine shows where there is nothing to see: A against A.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    super::estimate::{mean, sum_of_squares},
    looks::Look,
    power::{half_width, smallest_effect},
};

/// Blocks of A against A find a difference where their interval at this level excludes 0.
const ALPHA: f64 = 0.01;

/// The noise floor by blocks of two runs of A.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Floor {
    /// Blocks of A against A.
    pub blocks: u32,
    /// Root mean square of ln of the second A over the first: what two equal things differ by, as a share for small
    /// values.
    pub between_runs: f64,
    /// The smallest effect, as a share, that `shown_by_blocks` blocks of such noise find four times in five.
    pub smallest_effect: f64,
    /// The number of blocks of the last look.
    pub shown_by_blocks: u32,
    /// Whether A seems to differ from A: the interval of the mean at 99 % excludes 0.
    pub differs: bool,
}

impl Floor {
    /// From ln ratios of two runs of A each; `None` below two of them. Which of the two counts as the first follows the
    /// order of the other blocks.
    pub fn of(ln_ratios: &[f64], last: Look) -> Option<Self> {
        let count = ln_ratios.len();
        let middle = mean(ln_ratios)?;
        if count < 2 {
            return None;
        }
        // The true mean is 0: nothing is estimated but the spread.
        let between_runs = (ln_ratios.iter().map(|d| d * d).sum::<f64>() / count as f64).sqrt();
        let sd = (sum_of_squares(ln_ratios) / (count - 1) as f64).sqrt();
        Some(Self {
            blocks: count as u32,
            between_runs,
            smallest_effect: smallest_effect(between_runs, last.blocks, last.alpha),
            shown_by_blocks: last.blocks,
            differs: count >= 3 && middle.abs() > half_width(sd, count as u32, ALPHA),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steady::tests::Normal;

    const LAST: Look = Look { blocks: 16, alpha: 0.025 };

    #[test]
    fn the_spread_is_about_zero() {
        let floor = Floor::of(&[0.03, -0.04], LAST).expect("two are enough");
        assert!((floor.between_runs - 0.0025f64.sqrt() / 2f64.sqrt()).abs() < 1e-12);
        assert_eq!((floor.blocks, floor.shown_by_blocks, floor.differs), (2, 16, false));
        assert_eq!(Floor::of(&[0.03], LAST), None);
    }

    #[test]
    fn the_same_against_itself_differs_one_time_in_a_hundred() {
        let mut normal = Normal::seeded(11);
        let found = (0..4_000)
            .filter(|_| {
                let d: Vec<f64> = (0..4).map(|_| 0.02 * normal.draw()).collect();
                Floor::of(&d, LAST).expect("four are enough").differs
            })
            .count();
        assert!((20..=62).contains(&found), "{found} of 4000");
        assert!(Floor::of(&[0.05, 0.051, 0.049, 0.05], LAST).expect("four are enough").differs);
    }
}
