//! The noise floor of a comparison, from the scatter of its own blocks.

use pgdyno_core::results::{Floor, Look};

use super::{
    power::{blocks_for, smallest_effect},
    trimmed::Trimmed,
};
use crate::statistics::{Scatter, chi_squared_quantile};

/// Fewest blocks with a noise floor: with fewer, its interval spans more than a factor of six.
const MIN_BLOCKS: usize = 3;

/// Computes the noise floor from the ln ratios of the blocks; `None` with fewer than three. `last` is the last look,
/// and `effect` a share, above 0, for which the necessary number of blocks is computed.
pub fn floor(ln_ratios: &[f64], last: Look, effect: f64) -> Option<Floor> {
    let Scatter { variance, degrees } = Scatter::of(ln_ratios).filter(|_| ln_ratios.len() >= MIN_BLOCKS)?;
    let sd = variance.sqrt();
    let of_mean = Trimmed::of(ln_ratios)?.scatter.variance.sqrt();
    // The interval of a standard deviation by chi-squared; its lower end comes from the upper quantile.
    let end = |probability| sd * (degrees / chi_squared_quantile(probability, degrees)).sqrt();
    Some(Floor {
        blocks: ln_ratios.len() as u32,
        between_blocks: sd,
        low: end(0.975),
        high: end(0.025),
        smallest_effect: smallest_effect(of_mean, last.blocks, last.alpha),
        shown_by_blocks: last.blocks,
        effect,
        blocks_for_effect: blocks_for(effect.ln_1p(), of_mean, last.alpha),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steady::tests::Normal;

    const LAST: Look = Look { blocks: 16, alpha: 0.045 };

    fn of(ln_ratios: &[f64]) -> Option<Floor> {
        floor(ln_ratios, LAST, 0.03)
    }

    #[test]
    fn the_spread_is_about_the_mean_of_the_blocks() {
        let found = of(&[0.99, 1.0, 1.01, 1.0]).expect("four are enough");
        assert!((found.between_blocks - (2e-4_f64 / 3.0).sqrt()).abs() < 1e-12);
        // Chi-squared with 3 degrees: 9.348 and 0.2158.
        assert!((found.low / found.between_blocks - (3.0_f64 / 9.348).sqrt()).abs() < 1e-3);
        assert!((found.high / found.between_blocks - (3.0_f64 / 0.2158).sqrt()).abs() < 1e-2);
        assert_eq!((found.blocks, found.shown_by_blocks), (4, 16));
        assert_eq!(of(&[0.03, 0.01]), None);
    }

    /// 3 % at 5 % between blocks take 25 blocks by the plain mean with one look; some more by a trimmed one with
    /// several.
    #[test]
    fn the_number_of_blocks_for_an_effect_is_that_of_its_power() {
        let mut normal = Normal::seeded(5);
        let noise: Vec<f64> = (0..4_000).map(|_| 0.05 * normal.draw()).collect();
        let found = of(&noise).expect("they are many").blocks_for_effect.expect("it can be shown");
        assert!((30..=36).contains(&found), "{found}");
        assert_eq!(of(&[0.0; 8]).expect("eight").blocks_for_effect, Some(3), "nothing scatters");
    }

    #[test]
    fn the_interval_covers_the_truth_19_times_in_20() {
        let mut normal = Normal::seeded(11);
        let covered = (0..2_000)
            .filter(|_| {
                let d: Vec<f64> = (0..8).map(|_| 0.02 * normal.draw()).collect();
                let found = of(&d).expect("eight are enough");
                (found.low..=found.high).contains(&0.02)
            })
            .count();
        assert!((1_870..=1_930).contains(&covered), "{covered} of 2000");
    }
}
