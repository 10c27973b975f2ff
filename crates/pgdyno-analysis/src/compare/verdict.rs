//! The verdict of a comparison in blocks.

use pgdyno_core::results::{Comparison, Look, Verdict};

use super::{
    super::estimate::{mean, sum_of_squares},
    hodges_lehmann,
    looks::EARLY_LOOKS,
    power::{half_width, more_blocks},
    sign_flip,
};

/// Fewest blocks for which the sign-flip test can reach the level of the last look: 2/2^7 is 0.016.
const SIGN_FLIP_FROM: u32 = EARLY_LOOKS[0].blocks - 1;

/// Judges the blocks so far, given as ln B − ln A, at the last look that they reach; later blocks count at the next
/// look. `margin` is a positive share. `None` with fewer than two blocks.
///
/// Margin and interval are compared as logarithms, ln(1 + margin) on either side, so that A and B are interchangeable.
pub fn judge(ln_ratios: &[f64], looks: &[Look], margin: f64) -> Option<Comparison> {
    let made = ln_ratios.len() as u32;
    let reached = looks.iter().rposition(|look| look.blocks <= made);
    let next = looks.get(reached.map_or(0, |at| at + 1));
    let at = reached.map_or(*looks.first()?, |at| looks[at]);
    let used = &ln_ratios[..at.blocks.min(made) as usize];
    if used.len() < 2 {
        return None;
    }
    let interval = Interval::new(used, at.alpha);
    let verdict = match reached {
        None => Verdict::CannotTell { more_blocks: Some(at.blocks - made) },
        Some(_) => match (interval.answer(next.unwrap_or(&at).alpha, margin.ln_1p()), next) {
            // Blocks after a look are not used before the next one.
            (Verdict::CannotTell { more_blocks }, Some(next)) => {
                Verdict::CannotTell { more_blocks: more_blocks.map(|more| more.max(next.blocks - made)) }
            }
            (verdict, _) => verdict,
        },
    };
    Some(Comparison { look: reached.map_or(0, |at| at as u32 + 1), verdict, ..interval.described(used, at) })
}

/// The t interval of a mean of logarithms.
#[derive(Debug, Clone, Copy)]
struct Interval {
    blocks: u32,
    mean: f64,
    sd: f64,
    half: f64,
}

impl Interval {
    fn new(used: &[f64], alpha: f64) -> Self {
        let blocks = used.len() as u32;
        let sd = (sum_of_squares(used) / (used.len() - 1) as f64).sqrt();
        Self { blocks, mean: mean(used).unwrap_or(0.0), sd, half: half_width(sd, blocks, alpha) }
    }

    /// `next_alpha` is the level of the next look.
    fn answer(self, next_alpha: f64, margin_ln: f64) -> Verdict {
        let Self { blocks, mean, sd, half } = self;
        match () {
            () if mean.abs() + half <= margin_ln => Verdict::NoDifference,
            () if mean - half > 0.0 => Verdict::Faster,
            () if mean + half < 0.0 => Verdict::Slower,
            () => Verdict::CannotTell { more_blocks: more_blocks(mean, sd, blocks, next_alpha, margin_ln) },
        }
    }

    /// The interval as shares, with the nonparametric tests, and without a verdict.
    fn described(self, used: &[f64], look: Look) -> Comparison {
        let Self { blocks, mean, sd, half } = self;
        let robust = hodges_lehmann(used).unwrap_or(mean);
        let sign_flip_p = sign_flip(used);
        let flip_disagrees =
            blocks >= SIGN_FLIP_FROM && sign_flip_p.is_some_and(|p| (p <= look.alpha) != (mean.abs() > half));
        Comparison {
            blocks,
            look: 0,
            alpha: look.alpha,
            effect: mean.exp_m1(),
            low: (mean - half).exp_m1(),
            high: (mean + half).exp_m1(),
            hodges_lehmann: robust.exp_m1(),
            sign_flip_p,
            between_blocks: sd,
            tests_disagree: flip_disagrees || (robust - mean).abs() > half + 1e-12,
            verdict: Verdict::CannotTell { more_blocks: None },
        }
    }
}

#[cfg(test)]
mod tests {
    use pgdyno_core::results::FEWEST_COMMITS;
    use proptest::prelude::*;

    use super::{
        super::{looks, power},
        *,
    };
    use crate::steady::tests::Normal;

    const MARGIN: f64 = 0.02;

    /// Eight blocks of this mean and standard deviation.
    fn eight(mean: f64, sd: f64) -> Vec<f64> {
        // ±1 four times each: the sum of squares is 8, so the sample's deviation is √(8/7).
        let unit = (7f64 / 8.0).sqrt();
        [1.0, -1.0, -1.0, 1.0, -1.0, 1.0, 1.0, -1.0].map(|sign| mean + sd * unit * sign).to_vec()
    }

    /// Mean and standard deviation in per cent of ln, and the answer. t(1 − 0.05, 7) is 2.365: the half-width is 0.836
    /// standard deviations.
    #[test]
    fn the_table_of_verdicts() {
        use Verdict::{CannotTell, Faster, NoDifference, Slower};
        for (mean, sd, expected) in [
            (0.0, 1.0, NoDifference),
            (0.0, 2.3, NoDifference),
            (1.0, 1.0, NoDifference),
            // Above 0, but within the margin: no difference that matters.
            (1.0, 0.2, NoDifference),
            (-1.0, 0.2, NoDifference),
            (1.9, 0.5, Faster),
            (5.0, 2.0, Faster),
            (5.0, 5.9, Faster),
            (-5.0, 2.0, Slower),
            (-5.0, 5.9, Slower),
            (100.0, 1.0, Faster),
            (0.0, 2.5, CannotTell { more_blocks: Some(1) }),
            (5.0, 6.1, CannotTell { more_blocks: Some(1) }),
            (-5.0, 10.0, CannotTell { more_blocks: Some(10) }),
            (0.9, 200.0, CannotTell { more_blocks: None }),
            // Without scatter the interval is a point.
            (0.0, 0.0, NoDifference),
            (2.5, 0.0, Faster),
        ] {
            let blocks = eight(mean / 100.0, sd / 100.0);
            let found = judge(&blocks, &looks(8), MARGIN).expect("eight blocks");
            assert_eq!(found.verdict, expected, "{mean} ± {sd}: {found:?}");
        }
    }

    #[test]
    fn figures_are_those_of_a_calculation_by_hand() {
        let found = judge(&eight(0.05, 0.02), &looks(8), MARGIN).expect("eight blocks");
        let half = 2.364_624 * 0.02 / 8f64.sqrt();
        assert!((found.effect - 0.05f64.exp_m1()).abs() < 1e-12);
        assert!((found.low - (0.05 - half).exp_m1()).abs() < 1e-6);
        assert!((found.high - (0.05 + half).exp_m1()).abs() < 1e-6);
        assert!((found.between_blocks - 0.02).abs() < 1e-12);
        assert!((found.hodges_lehmann - 0.05f64.exp_m1()).abs() < 1e-12);
        assert_eq!((found.sign_flip_p, found.tests_disagree, found.look), (Some(2.0 / 256.0), false, 1));
    }

    #[test]
    fn before_the_first_look_there_is_no_answer_and_between_two_that_of_the_last() {
        let looks = looks(16);
        let five = judge(&[0.05; 5], &looks, MARGIN).expect("five blocks");
        assert_eq!((five.look, five.verdict), (0, Verdict::CannotTell { more_blocks: Some(3) }));
        assert_eq!(judge(&[0.05], &looks, MARGIN), None);
        let noisy: Vec<f64> = eight(0.03, 0.06).into_iter().chain([9.0, 9.0]).collect();
        let ten = judge(&noisy, &looks, MARGIN).expect("ten blocks");
        assert_eq!((ten.look, ten.blocks), (1, 8));
        assert!(ten.effect < 0.04 && !ten.is_settled());
        let nearly = judge(&eight(0.03, 0.0275), &looks, MARGIN).expect("eight blocks");
        assert_eq!(nearly.verdict, Verdict::CannotTell { more_blocks: Some(4) }, "the next look is after 12");
    }

    #[test]
    fn few_commits_give_no_answer() {
        let found = judge(&[0.05; 8], &looks(8), MARGIN).expect("eight blocks");
        assert_eq!(found.verdict, Verdict::Faster);
        let resting = |fewest| found.clone().resting_on(fewest);
        assert_eq!(resting(None), found);
        assert_eq!(resting(Some(FEWEST_COMMITS)), found);
        let few = resting(Some(FEWEST_COMMITS - 1));
        assert_eq!(few.verdict, Verdict::CannotTell { more_blocks: None });
        assert_eq!((few.low, few.high), (found.low, found.high));
    }

    #[test]
    fn one_outlier_makes_the_tests_disagree() {
        let mut blocks = vec![0.05, 0.051, 0.049, 0.052, 0.05, 0.048, 0.05, 0.051];
        assert!(!judge(&blocks, &looks(8), MARGIN).expect("eight blocks").tests_disagree);
        blocks[3] = 0.9;
        let found = judge(&blocks, &looks(8), MARGIN).expect("eight blocks");
        assert!(matches!(found.verdict, Verdict::CannotTell { .. }), "{found:?}");
        assert!(found.tests_disagree, "{found:?}");
    }

    /// How often a comparison of at most 16 blocks says faster or slower, with the looks of `ab`.
    fn alarms(effect: f64, sd: f64, blocks: u32, times: u32, seed: u64) -> f64 {
        let mut normal = Normal::seeded(seed);
        let looks = looks(blocks);
        let found = (0..times)
            .filter(|_| {
                let all: Vec<f64> = (0..blocks).map(|_| effect.ln_1p() + sd * normal.draw()).collect();
                let mut seen =
                    looks.iter().filter_map(|look| judge(&all[..look.blocks as usize], &looks, MARGIN));
                let last =
                    seen.find(|found| found.is_settled() || found.blocks == blocks).expect("a last look");
                matches!(last.verdict, Verdict::Faster | Verdict::Slower)
            })
            .count();
        found as f64 / f64::from(times)
    }

    /// A/A: over all looks together at most one false alarm in twenty, from low to high noise. Noise of the size of the
    /// margin is the worst case.
    #[test]
    fn equal_arms_raise_at_most_the_nominal_false_alarms() {
        for (seed, sd) in [0.005, 0.02, 0.05, 0.2].into_iter().enumerate() {
            let found = alarms(0.0, sd, 16, 2_000, seed as u64 + 1);
            assert!(found <= 0.05, "{:.2} % false alarms at a noise of {sd}", found * 100.0);
        }
        let worst = alarms(0.0, 0.2, 16, 2_000, 4);
        assert!(worst > 0.02, "a test without any false alarm finds nothing either: {worst}");
    }

    /// With one look, a true effect of 5 % is found as often as [`power`] predicts.
    #[test]
    fn a_true_effect_is_found_with_the_power_of_the_formula() {
        const TIMES: u32 = 2_000;
        for (seed, (blocks, sd)) in [(8, 0.04), (8, 0.07), (5, 0.04), (8, 0.025)].into_iter().enumerate() {
            let expected = power(0.05f64.ln_1p(), sd, blocks, 0.05);
            let found = alarms(0.05, sd, blocks, TIMES, 20 + seed as u64);
            let error = (expected * (1.0 - expected) / f64::from(TIMES)).sqrt();
            assert!(
                (found - expected).abs() < 4.0 * error + 2e-3,
                "{blocks} blocks, {sd}: {found}, not {expected}"
            );
        }
    }

    /// With three looks it is found at least as often as by the last one alone, and at most as often as all allow.
    #[test]
    fn looks_in_turn_find_at_least_what_the_last_finds() {
        let last = power(0.05f64.ln_1p(), 0.06, 16, 0.025);
        let found = alarms(0.05, 0.06, 16, 2_000, 31);
        assert!(found > last - 0.03 && found < last + 0.1, "{found}, the last alone {last}");
    }

    proptest! {
        #[test]
        fn arms_may_change_places(blocks in prop::collection::vec(-0.2f64..0.2, 2..20), margin in 0.001f64..0.2) {
            let looks = looks(16);
            let one = judge(&blocks, &looks, margin).expect("two blocks");
            let turned: Vec<f64> = blocks.iter().map(|d| -d).collect();
            let other = judge(&turned, &looks, margin).expect("two blocks");
            let expected = match one.verdict {
                Verdict::Faster => Verdict::Slower,
                Verdict::Slower => Verdict::Faster,
                same => same,
            };
            prop_assert_eq!(other.verdict, expected);
            prop_assert!(((1.0 + one.low) * (1.0 + other.high) - 1.0).abs() < 1e-9);
            prop_assert!(one.low <= one.effect && one.effect <= one.high);
        }

        /// A wider margin never turns no difference into a difference.
        #[test]
        fn a_wider_margin_never_settles_less(blocks in prop::collection::vec(-0.1f64..0.1, 8..9)) {
            let narrow = judge(&blocks, &looks(8), 0.01).expect("eight blocks");
            let wide = judge(&blocks, &looks(8), 0.05).expect("eight blocks");
            prop_assert!(wide.verdict == Verdict::NoDifference || narrow.verdict != Verdict::NoDifference);
            prop_assert_eq!((wide.low, wide.high), (narrow.low, narrow.high));
        }
    }
}
