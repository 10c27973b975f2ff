//! Comparisons over several starts of the servers: the unit is the start.
//!
//! What a start decides (where memory lies, what was loaded first) is in all its blocks. Blocks of one start are one
//! observation of it, however many they are.

use pgdyno_core::results::{Comparison, Floor, Look, StartScatter};

use super::{floor, verdict::judge};
use crate::statistics::{f_quantile, mean, sum_of_squares};

/// Blocks from one start to the next: AB and BA.
pub const BLOCKS_PER_START: u32 = 2;

/// The mean of each whole start with this number of blocks (at least 1).
fn means(ln_ratios: &[f64], blocks: u32) -> Vec<f64> {
    ln_ratios.chunks_exact(blocks as usize).filter_map(mean).collect()
}

/// The looks in starts. Those of a comparison are after whole starts.
fn in_starts(looks: &[Look], blocks: u32) -> Vec<Look> {
    looks.iter().map(|look| Look { blocks: look.blocks / blocks, ..*look }).collect()
}

/// Judges the blocks of a comparison whose servers are restarted after this number of them (at least 1), as
/// [`judge`] does: over the means of the starts. Looks are after whole starts.
pub fn judge_starts(ln_ratios: &[f64], blocks: u32, looks: &[Look], margin: f64) -> Option<Comparison> {
    let found = judge(&means(ln_ratios, blocks), &in_starts(looks, blocks), margin)?;
    Some(found.of_starts(blocks))
}

/// The noise floor over starts; see [`floor`].
pub fn floor_of_starts(ln_ratios: &[f64], blocks: u32, last: Look, effect: f64) -> Option<Floor> {
    let last = Look { blocks: last.blocks / blocks, ..last };
    Some(floor(&means(ln_ratios, blocks), last, effect)?.of_starts(blocks))
}

/// The scatter within and between starts of this number of blocks, by a one-way analysis of variance with random
/// effects. `None` with fewer than two blocks in a start, or fewer than two whole starts.
///
/// The upper end is that of Williams ("A Confidence Interval for Variance Components", Biometrika 49, 1962, 278-281),
/// without its correction for what is known of the variance within.
pub fn scatter_of_starts(ln_ratios: &[f64], blocks: u32) -> Option<StartScatter> {
    let means = means(ln_ratios, blocks);
    let (starts, of_start) = (means.len() as f64, f64::from(blocks));
    if blocks < 2 || means.len() < 2 {
        return None;
    }
    let squares: f64 = ln_ratios.chunks_exact(blocks as usize).map(sum_of_squares).sum();
    let (degrees_within, degrees_between) = (starts * (of_start - 1.0), starts - 1.0);
    let within = squares / degrees_within;
    let of_means = of_start * sum_of_squares(&means) / degrees_between;
    let beyond = |variance: f64| (variance.max(0.0) / of_start).sqrt();
    let least_f = f_quantile(0.025, degrees_between, degrees_within);
    Some(StartScatter {
        starts: means.len() as u32,
        within: within.sqrt(),
        between: beyond(of_means - within),
        between_high: beyond(of_means / least_f - within),
    })
}

#[cfg(test)]
mod tests {
    use super::{super::looks, *};
    use crate::{compare::Verdict, steady::tests::Normal};

    const MARGIN: f64 = 0.02;

    /// Comparisons of this number of blocks in starts of this number, of which each start has a difference of its own
    /// with the standard deviation `tau`; the share that says faster or slower.
    fn decided([blocks, of_start]: [u32; 2], effect: f64, tau: f64, sigma: f64, normal: &mut Normal) -> f64 {
        const TIMES: u32 = 1_000;
        let (looks, starts) = (looks(blocks), blocks / of_start);
        let mut one = || {
            let mut blocks = Vec::new();
            for _ in 0..starts {
                let start = effect.ln_1p() + tau * normal.draw();
                blocks.extend((0..of_start).map(|_| start + sigma * normal.draw()));
            }
            let at = |look: &Look| judge_starts(&blocks[..look.blocks as usize], of_start, &looks, MARGIN);
            looks.iter().filter_map(at).find(Comparison::is_settled).is_some_and(|one| one.is_decided())
        };
        f64::from((0..TIMES).filter(|_| one()).count() as u32) / f64::from(TIMES)
    }

    /// Differences of a start are noise of one observation, whatever their size. With one start they are in all blocks
    /// alike: 47 and 72 of 100 are alarms.
    #[test]
    fn starts_that_differ_raise_no_alarms() {
        let mut normal = Normal::seeded(81);
        // Runs, and slots.
        for blocks in [[16, 2], [32, 4]] {
            for tau in [0.0, 0.01, 0.02] {
                let alarms = decided(blocks, 0.0, tau * 2f64.sqrt(), 0.01 * 2f64.sqrt(), &mut normal);
                assert!(alarms <= 0.066, "{alarms} at {tau} in {blocks:?}");
            }
        }
    }

    #[test]
    fn equal_starts_cost_hardly_any_power() {
        let mut normal = Normal::seeded(82);
        let [in_starts, in_blocks] =
            [2, 1].map(|of_start| decided([16, of_start], 0.03, 0.0, 0.03, &mut normal));
        assert!(in_starts > in_blocks - 0.04, "{in_starts} against {in_blocks}");
    }

    #[test]
    fn scatter_is_that_of_a_calculation_by_hand() {
        // Means 2, 4, 6 with variance 4; within each start 0.5.
        let found = scatter_of_starts(&[1.5, 2.5, 3.5, 4.5, 5.5, 6.5], 2).expect("three starts");
        assert_eq!((found.starts, found.within), (3, 0.5f64.sqrt()));
        assert!((found.between - (4.0f64 - 0.25).sqrt()).abs() < 1e-12, "{found:?}");
        // F(2, 3) stays below 0.02553 one time in forty.
        assert!((found.between_high - ((8.0f64 / 0.025_53 - 0.5) / 2.0).sqrt()).abs() < 0.02, "{found:?}");
        let flat = scatter_of_starts(&[1.0, 2.0, 2.0, 1.0], 2).expect("two starts");
        assert_eq!(flat.between, 0.0);
        assert_eq!((scatter_of_starts(&[1.0, 2.0, 3.0], 2), scatter_of_starts(&[1.0; 4], 1)), (None, None));
    }

    #[test]
    fn scatter_is_what_the_starts_were_made_with() {
        let mut normal = Normal::seeded(83);
        let mut covered = 0;
        let mut sum = 0.0;
        for _ in 0..400 {
            let mut blocks = Vec::new();
            for _ in 0..12 {
                let start = 0.02 * normal.draw();
                blocks.extend((0..4).map(|_| start + 0.01 * normal.draw()));
            }
            let found = scatter_of_starts(&blocks, 4).expect("twelve starts");
            sum += found.between * found.between;
            covered += u32::from(found.between_high >= 0.02);
        }
        assert!((380..=400).contains(&covered), "{covered}");
        assert!(((sum / 400.0).sqrt() / 0.02 - 1.0).abs() < 0.08, "{}", (sum / 400.0).sqrt());
    }

    #[test]
    fn a_start_that_is_not_whole_waits() {
        let looks = looks(16);
        let nine = judge_starts(&[0.05; 9], 2, &looks, MARGIN).expect("four starts");
        assert_eq!((nine.blocks, nine.look, nine.verdict), (8, 1, Verdict::Faster));
        let three = judge_starts(&[0.01, 0.09, 0.05, 0.0], 2, &looks, MARGIN).expect("two starts");
        assert_eq!((three.blocks, three.verdict), (4, Verdict::CannotTell { more_blocks: Some(4) }));
    }
}
