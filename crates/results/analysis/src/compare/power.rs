//! Statistical power: the effect that a number of blocks can show, and the blocks needed.

use super::looks::{FIRST_LOOK, MIN_BLOCKS};
use crate::statistics::{normal, two_sided};

/// Power for "can show": an effect of that size is found four times in five.
pub const POWER: f64 = 0.8;

/// Power that independent blocks lose because those that resemble the one before need a larger effect: from simulations
/// of one look, the power of the formula above minus that found, where it is about [`POWER`].
fn lost_to_dependence(blocks: u32) -> f64 {
    if blocks < FIRST_LOOK { 0.0 } else { (2.4 / f64::from(blocks)).min(0.14) }
}

/// Most additional blocks that are proposed.
const MOST_BLOCKS: u32 = 10_000;

/// The probability that the plain t interval at 1 − `alpha` of this number of blocks (at least 2) excludes 0, if the
/// true mean of ln ratios is `effect_ln` and their standard deviation is `sd_ln`, above 0.
///
/// It is the tail of the noncentral t distribution (Johnson, Kotz and Balakrishnan, "Continuous Univariate
/// Distributions" 2, chapter 31), integrated over the sample's standard deviation.
pub fn power(effect_ln: f64, sd_ln: f64, blocks: u32, alpha: f64) -> f64 {
    noncentral(effect_ln / sd_ln * f64::from(blocks).sqrt(), degrees(blocks), alpha)
}

/// The probability that |t| with these degrees of freedom and this shift is significant at `alpha`.
fn noncentral(shift: f64, degrees: f64, alpha: f64) -> f64 {
    let t = two_sided(alpha, degrees);
    let beyond = |s: f64| normal(shift - t * s) + normal(-shift - t * s);
    // The density of s, a sample's standard deviation over the true one, up to a factor that cancels.
    let density = |s: f64| ((degrees - 1.0) * s.ln() - degrees * (s * s - 1.0) / 2.0).exp();
    let (mut sum, mut whole) = (0.0, 0.0);
    const STEPS: u32 = 400;
    let most = 1.0 + 8.0 / (2.0 * degrees).sqrt();
    for step in 0..STEPS {
        let s = most * (f64::from(step) + 0.5) / f64::from(STEPS);
        let weight = density(s);
        sum += weight * beyond(s);
        whole += weight;
    }
    sum / whole
}

/// The smallest effect, as a share, that a look after this number of blocks finds with [`POWER`].
pub fn smallest_effect(sd_ln: f64, blocks: u32, alpha: f64) -> f64 {
    if sd_ln <= 0.0 {
        return 0.0;
    }
    let least = POWER + lost_to_dependence(blocks);
    let (mut low, mut high) = (0.0, 1e3 * sd_ln);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if power(middle, sd_ln, blocks, alpha) < least { low = middle } else { high = middle }
    }
    f64::midpoint(low, high).exp_m1()
}

/// The number of blocks after which a look at this level finds this effect (above 0) with [`POWER`]; `None` above
/// [`MOST_BLOCKS`].
pub fn blocks_for(effect_ln: f64, sd_ln: f64, alpha: f64) -> Option<u32> {
    let suffices = |blocks: u32| {
        sd_ln <= 0.0 || power(effect_ln, sd_ln, blocks, alpha) >= POWER + lost_to_dependence(blocks)
    };
    // Of fewer than eight blocks none is lost to dependence, so seven may suffice where eight do not.
    if let Some(few) = (MIN_BLOCKS..FIRST_LOOK).find(|blocks| suffices(*blocks)) {
        return Some(few);
    }
    let (mut low, mut high) = (FIRST_LOOK - 1, FIRST_LOOK);
    while !suffices(high) {
        if high >= MOST_BLOCKS {
            return None;
        }
        (low, high) = (high, (2 * high).min(MOST_BLOCKS));
    }
    while low + 1 < high {
        let middle = low + (high - low) / 2;
        if suffices(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

/// Degrees of freedom of the mean of this number of blocks.
fn degrees(blocks: u32) -> f64 {
    f64::from(blocks - 1)
}

/// Estimated number of additional blocks until an interval at 1 − `alpha` lies within the margin or excludes 0, if mean
/// and spread do not change. `None` if that is impracticable.
pub fn more_blocks(mean_ln: f64, sd_ln: f64, have: u32, alpha: f64, margin_ln: f64) -> Option<u32> {
    let reach = mean_ln.abs().max(margin_ln - mean_ln.abs());
    let suffices = |blocks: u32| half_width(sd_ln, blocks, alpha) <= reach;
    // The half-width decreases with every block. Doubles first, because most answers are small and large numbers cost
    // time.
    let (mut low, mut high) = (have, have + 1);
    while !suffices(high) {
        if high >= MOST_BLOCKS {
            return None;
        }
        (low, high) = (high, (2 * high).min(MOST_BLOCKS));
    }
    while low + 1 < high {
        let middle = low + (high - low) / 2;
        if suffices(middle) { high = middle } else { low = middle }
    }
    Some(high - have)
}

/// Half-width of the t interval at 1 − `alpha` of the mean of this number of blocks (at least 2).
pub(super) fn half_width(sd_ln: f64, blocks: u32, alpha: f64) -> f64 {
    two_sided(alpha, degrees(blocks)) * sd_ln / f64::from(blocks).sqrt()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Compared with another integration, in 200,000 steps with erfc to full precision and t of the tables. For 10 and
    /// 34 observations the values also agree with Cohen ("Statistical Power Analysis", 2nd edition): 0.80 and 0.81.
    #[test]
    fn power_is_that_of_an_independent_integration() {
        for (blocks, effect, expected) in
            [(10, 1.0, 0.80310), (16, 0.5, 0.46487), (34, 0.5, 0.80778), (8, 1.0, 0.68083)]
        {
            let blocks = f64::from(blocks);
            let got = noncentral(effect * blocks.sqrt(), blocks - 1.0, 0.05);
            assert!((got - expected).abs() < 2e-4, "{blocks} {effect}: {got} is not {expected}");
        }
    }

    #[test]
    fn without_an_effect_power_is_alpha() {
        for (blocks, alpha) in [(8, 0.010), (12, 0.015), (16, 0.025), (3, 0.05)] {
            let got = power(0.0, 0.02, blocks, alpha);
            assert!((got - alpha).abs() < 1e-3, "{blocks}: {got} is not {alpha}");
        }
    }

    proptest! {
        #[test]
        fn the_smallest_effect_has_the_power(sd in 0.001f64..0.2, blocks in 4u32..40) {
            let effect = smallest_effect(sd, blocks, 0.025).ln_1p();
            let expected = POWER + lost_to_dependence(blocks);
            prop_assert!((power(effect, sd, blocks, 0.025) - expected).abs() < 1e-6);
        }

        #[test]
        fn the_last_block_proposed_is_the_one_that_decides(
            mean in -0.1f64..0.1, sd in 0.001f64..0.2, have in 8u32..40,
        ) {
            let margin = 0.02f64.ln_1p();
            let reach = mean.abs().max(margin - mean.abs());
            if let Some(more) = more_blocks(mean, sd, have, 0.025, margin) {
                prop_assert!(half_width(sd, have + more, 0.025) <= reach);
                prop_assert!(more == 1 || half_width(sd, have + more - 1, 0.025) > reach);
            } else {
                prop_assert!(half_width(sd, MOST_BLOCKS, 0.025) > reach);
            }
        }
    }
}
