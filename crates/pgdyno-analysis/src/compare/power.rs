//! Statistical power: the effect that a number of blocks can show, and the blocks needed.

use super::super::student;

/// Power for "can show": an effect of that size is found four times in five.
pub const POWER: f64 = 0.8;

/// Most additional blocks that are proposed.
const MOST_BLOCKS: u32 = 10_000;

/// The probability that the t interval at 1 − `alpha` of this number of blocks (at least 2) excludes 0, if the true
/// mean of ln ratios is `effect_ln` and their standard deviation is `sd_ln`, above 0.
///
/// This is the tail of the noncentral t distribution (Johnson, Kotz and Balakrishnan, "Continuous Univariate
/// Distributions" 2, chapter 31), integrated over the sample's standard deviation.
pub fn power(effect_ln: f64, sd_ln: f64, blocks: u32, alpha: f64) -> f64 {
    let degrees = f64::from(blocks - 1);
    let t = student::two_sided(1.0 - alpha, blocks - 1);
    let shift = effect_ln / sd_ln * f64::from(blocks).sqrt();
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
    let (mut low, mut high) = (0.0, 1e3 * sd_ln);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if power(middle, sd_ln, blocks, alpha) < POWER { low = middle } else { high = middle }
    }
    f64::midpoint(low, high).exp_m1()
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
    student::two_sided(1.0 - alpha, blocks - 1) * sd_ln / f64::from(blocks).sqrt()
}

/// The distribution function of the standard normal distribution (Abramowitz and Stegun, 26.2.17; the error is below
/// 7.5e-8).
fn normal(z: f64) -> f64 {
    if z < 0.0 {
        return 1.0 - normal(-z);
    }
    let t = 1.0 / (1.0 + 0.231_641_9 * z);
    let poly = t
        * (0.319_381_530
            + t * (-0.356_563_782 + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
    1.0 - (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt() * poly
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_normal_distribution_is_that_of_the_tables() {
        for (z, p) in
            [(0.0, 0.5), (1.0, 0.841_344_7), (-1.0, 0.158_655_3), (1.959_964, 0.975), (3.0, 0.998_650_1)]
        {
            assert!((normal(z) - p).abs() < 2e-7, "{z}: {}", normal(z));
        }
    }

    /// Compared with another integration, in 200,000 steps with erfc to full precision and t of the tables. For 10 and
    /// 34 observations the values also agree with Cohen ("Statistical Power Analysis", 2nd edition): 0.80 and 0.81.
    #[test]
    fn power_is_that_of_an_independent_integration() {
        for (blocks, effect, expected) in
            [(10, 1.0, 0.80310), (16, 0.5, 0.46487), (34, 0.5, 0.80778), (8, 1.0, 0.68083)]
        {
            let got = power(effect, 1.0, blocks, 0.05);
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
            prop_assert!((power(effect, sd, blocks, 0.025) - POWER).abs() < 1e-6);
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
