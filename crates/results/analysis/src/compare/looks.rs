//! The looks at the result of a comparison, and the share of false alarms that each may spend.

use pgdyno_core::results::Look;

use crate::statistics::{normal, normal_density, two_sided};

/// Largest false alarm rate of the planned looks of a comparison together.
pub const FALSE_ALARMS: f64 = 0.05;
/// Share of it that several looks spend by the arithmetic of a normal distribution. By t, and with intervals widened by
/// the correlation of their blocks, looks agree less with each other: equal arms are then called different by 4.7 to
/// 5.2 % of all comparisons of 12 to 48 blocks.
const OF_SEVERAL: f64 = 0.89;
/// Largest false alarm rate of a comparison with all its continuations, of which each may spend half of what the looks
/// before it left.
pub const CONTINUED_ALARMS: f64 = 0.075;
/// About the level of the last look of a comparison that is continued once to twice its blocks, which costs fewer steps
/// than to compute it. The last of later ones are stricter.
pub const CONTINUED_LEVEL: f64 = 0.0176;
/// Fewest blocks: the interval of two observations is useless.
pub const MIN_BLOCKS: u32 = 3;
/// Most blocks.
pub const MAX_BLOCKS: u32 = 200;
/// Blocks before the first look; after it there is one every [`EVERY`] blocks.
pub const FIRST_LOOK: u32 = 8;
/// Blocks from one look to the next.
const EVERY: u32 = 4;
/// Exponent of the share of blocks made with which the spending rises. With 48 blocks a true 3 % at a noise of 5 % is
/// then found after 30.6 of them, by O'Brien and Fleming's type after 31.3 and with at most a point more power.
/// Dependent blocks, which early looks take for different most, allow no lower exponent.
const RISING: f64 = 3.5;
/// Level below which a look is left out: an interval of that confidence answers nothing.
const SMALLEST_LEVEL: f64 = 1e-5;
/// Points of the integration over results that have not ended a comparison. Odd, for Simpson's rule. Twice as many
/// change no level by more than one in 10^5.
const POINTS: usize = 101;

/// The looks of a comparison with at most this number of blocks (at least 1): after 8 blocks, then every 4, and after
/// the last; without those less than 4 before the last, and those that come so early that they could not answer. All
/// together spend [`FALSE_ALARMS`].
///
/// Each spends what a power of the share of blocks allows (Kim and DeMets, "Design and Analysis of Group Sequential
/// Tests Based on the Type I Error Spending Rate Function", Biometrika 74, 1987, 149-154): little at first, most at the
/// end, so that looking early costs little power. The levels follow from the joint distribution of the looks, by the
/// recursion of Armitage, McPherson and Rowe (Journal of the Royal Statistical Society A 132, 1969, 235-244). They are
/// those of a normal distribution and are used for t, as Jennison and Turnbull describe ("Group Sequential Methods with
/// Applications to Clinical Trials", 2000, section 4.4).
pub fn looks(blocks: u32) -> Vec<Look> {
    let planned: Vec<u32> = until(FIRST_LOOK, blocks).collect();
    let whole = if planned.len() > 1 { OF_SEVERAL * FALSE_ALARMS } else { FALSE_ALARMS };
    Going::start().levels(&planned, |share| spending(share, whole))
}

/// The only look of a comparison that measures all its blocks (at least 1) whatever they show: after the last, with all
/// of [`FALSE_ALARMS`].
pub fn only_look(blocks: u32) -> Vec<Look> {
    vec![Look { blocks, alpha: FALSE_ALARMS }]
}

/// Looks from this one on, every few blocks, and after the last.
fn until(first: u32, last: u32) -> impl Iterator<Item = u32> {
    (first..).step_by(EVERY as usize).take_while(move |look| look + EVERY <= last).chain([last])
}

/// The looks of a comparison that ended without an answer and is continued to this number of blocks: those that it had,
/// then one every 4 blocks, and one after the last. Those that are added spend half of what the others left of
/// [`CONTINUED_ALARMS`], so that equal arms are called different in at most 7.5 of 100 comparisons, however often they
/// are continued: more blocks until the answer pleases would otherwise produce one. `None` if there are no more blocks,
/// or if nothing is left to spend.
pub fn continued(looks: &[Look], blocks: u32) -> Option<Vec<Look>> {
    let made = looks.last()?.blocks;
    let mut going = Going::start();
    let spent: f64 = looks.iter().map(|look| going.repeat(*look)).sum();
    // One look alone spends all of its level by t itself.
    let spent = if looks.len() == 1 { OF_SEVERAL * spent } else { spent };
    let may_spend = (OF_SEVERAL * CONTINUED_ALARMS - spent) / 2.0;
    if blocks <= made || may_spend < SMALLEST_LEVEL {
        return None;
    }
    let more: Vec<u32> = until(made + EVERY, blocks).collect();
    let added = going.levels(&more, |share| spending(share, may_spend));
    Some(looks.iter().copied().chain(added).collect())
}

/// What may be spent when this share of the observations (above 0, up to 1) is made, of this share of false alarms.
fn spending(share: f64, whole: f64) -> f64 {
    whole * share.powf(RISING)
}

/// The density of the sum of the observations in comparisons of equal arms that no look has ended, at evenly spaced
/// points from `-end` to `end`. Observations have the standard deviation 1.
struct Going {
    observations: f64,
    end: f64,
    density: Vec<f64>,
}

impl Going {
    /// Before the first observation the sum is 0.
    fn start() -> Self {
        Self { observations: 0.0, end: 0.0, density: Vec::new() }
    }

    /// Continues to looks after these numbers of observations, and returns them with their levels. `spending` is the
    /// share of all comparisons that they may end by the time when a share of the observations is made.
    fn levels(&mut self, observations: &[u32], spending: impl Fn(f64) -> f64) -> Vec<Look> {
        let before = self.observations;
        let all = observations.last().copied().map_or(1.0, f64::from) - before;
        let mut spent = 0.0;
        let mut looks = Vec::new();
        for blocks in observations {
            let may_spend = spending((f64::from(*blocks) - before) / all);
            if may_spend - spent < SMALLEST_LEVEL {
                continue;
            }
            let alpha = self.pass(f64::from(*blocks), may_spend - spent);
            spent = may_spend;
            looks.push(Look { blocks: *blocks, alpha });
        }
        looks
    }

    /// Continues to a look with a known level, and returns the share of all comparisons that it ends.
    fn repeat(&mut self, look: Look) -> f64 {
        let observations = f64::from(look.blocks);
        let limit = two_sided(look.alpha, f64::INFINITY);
        let share = self.ended(limit * observations.sqrt(), (observations - self.observations).sqrt());
        self.go(observations, limit);
        share
    }

    /// Continues to a look that may end this share of all comparisons, and returns its two-sided level.
    fn pass(&mut self, observations: f64, share: f64) -> f64 {
        let added = (observations - self.observations).sqrt();
        // Bisection on the limit of the standardised sum; 9 is beyond any share.
        let (mut low, mut high) = (0.0, 9.0);
        for _ in 0..32 {
            let middle = f64::midpoint(low, high);
            if self.ended(middle * observations.sqrt(), added) > share { low = middle } else { high = middle }
        }
        let limit = f64::midpoint(low, high);
        self.go(observations, limit);
        2.0 * normal(-limit)
    }

    /// Continues to a look that ends the comparisons whose standardised sum is beyond this limit.
    fn go(&mut self, observations: f64, limit: f64) {
        let added = (observations - self.observations).sqrt();
        let end = limit * observations.sqrt();
        let density = points(end).map(|(sum, _)| self.density_at(sum, added)).collect();
        *self = Self { observations, end, density };
    }

    /// Share of all comparisons that a look ends if it does so beyond `end` in either direction.
    fn ended(&self, end: f64, added: f64) -> f64 {
        let beyond = |from: f64| normal((from - end) / added) + normal((-from - end) / added);
        self.integral(beyond)
    }

    fn density_at(&self, sum: f64, added: f64) -> f64 {
        self.integral(|from| normal_density((sum - from) / added) / added)
    }

    /// The integral of a function of the sum over the comparisons that continue.
    fn integral(&self, of: impl Fn(f64) -> f64) -> f64 {
        match self.density.is_empty() {
            true => of(0.0),
            false => points(self.end)
                .zip(&self.density)
                .map(|((sum, weight), density)| weight * density * of(sum))
                .sum(),
        }
    }
}

/// Points from `-end` to `end` with their weights by Simpson's rule.
fn points(end: f64) -> impl Iterator<Item = (f64, f64)> {
    let step = 2.0 * end / (POINTS - 1) as f64;
    (0..POINTS).map(move |at| {
        let weight = match at {
            0 => 1.0,
            at if at == POINTS - 1 => 1.0,
            at if at % 2 == 1 => 4.0,
            _ => 2.0,
        };
        (-end + step * at as f64, weight * step / 3.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steady::tests::Normal;

    #[test]
    fn looks_are_those_of_the_method() {
        let blocks = |most| looks(most).iter().map(|look| look.blocks).collect::<Vec<_>>();
        assert_eq!(blocks(16), [8, 12, 16]);
        assert_eq!((blocks(3), blocks(8), blocks(11)), (vec![3], vec![8], vec![11]));
        assert_eq!(blocks(30), [8, 12, 16, 20, 24, 30]);
        assert_eq!(blocks(48), [8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48]);
        assert_eq!(blocks(MAX_BLOCKS)[0], 20, "ones before could answer nothing");
    }

    #[test]
    fn one_look_spends_all() {
        for blocks in [1, 3, 8] {
            let [only] = looks(blocks)[..] else { panic!("{blocks} blocks have one look") };
            assert!((only.alpha - FALSE_ALARMS).abs() < 1e-9, "{only:?}");
            assert_eq!((only.blocks, only_look(blocks)[0].blocks), (blocks, blocks));
        }
        assert_eq!(only_look(200), [Look { blocks: 200, alpha: FALSE_ALARMS }]);
    }

    /// Five equally spaced looks: the limits of z printed for O'Brien and Fleming's type of spending by Reboussin,
    /// DeMets, Kim and Lan, "Computations for Group Sequential Boundaries Using the Lan-DeMets Spending Function
    /// Method", Controlled Clinical Trials 21 (2000), 190-207.
    #[test]
    fn levels_are_those_of_a_printed_table() {
        let obrien_fleming =
            |share: f64| 4.0 * normal(-two_sided(FALSE_ALARMS / 2.0, f64::INFINITY) / share.sqrt());
        // The first, 4.877, is so unlikely that it is left out.
        let found = Going::start().levels(&[10, 20, 30, 40, 50], obrien_fleming);
        assert_eq!(found.len(), 4);
        for (look, z) in found.iter().zip([3.357, 2.680, 2.290, 2.031]) {
            let got = two_sided(look.alpha, f64::INFINITY);
            assert!((got - z).abs() < 2e-3, "{look:?}: {got} is not {z}");
        }
    }

    #[test]
    fn every_number_of_blocks_has_levels_that_rise() {
        for blocks in (1..=40).chain([41, 63, 64, 65, 100, 193, MAX_BLOCKS]) {
            let looks = looks(blocks);
            assert!(
                looks.iter().all(|look| look.alpha > 0.0 && look.alpha <= FALSE_ALARMS + 1e-9),
                "{looks:?}"
            );
            assert!(looks.windows(2).all(|two| two[0].blocks < two[1].blocks));
            assert_eq!(looks.last().map(|look| look.blocks), Some(blocks));
        }
    }

    #[test]
    fn a_continued_comparison_has_the_looks_of_the_first_and_stricter_ones() {
        let first = looks(16);
        let once = continued(&first, 32).expect("there is something left");
        let blocks: Vec<_> = once.iter().map(|look| look.blocks).collect();
        assert_eq!((blocks, &once[..3]), (vec![8, 12, 16, 20, 24, 28, 32], &first[..]));
        let last = once[6].alpha;
        assert!((last / CONTINUED_LEVEL - 1.0).abs() < 0.02, "{last}");
        let twice = continued(&once, 40).expect("there is something left");
        assert!(twice[8].alpha < last, "{twice:?}");
        let spent = Going::start().levels(&[8, 16], |share| CONTINUED_ALARMS * share);
        assert_eq!((continued(&first, 16), continued(&spent, 32)), (None, None));
    }

    /// What the integration promises, in random walks: the looks of a comparison of equal arms and of three
    /// continuations, each begun whenever there is no answer yet.
    #[test]
    fn however_often_a_comparison_is_continued_false_alarms_are_bounded() {
        let plans = [24, 32, 64].into_iter().fold(vec![looks(16)], |mut plans, blocks| {
            plans.extend(continued(&plans[plans.len() - 1], blocks));
            plans
        });
        let all = plans.last().expect("there is one");
        const WALKS: u32 = 20_000;
        let mut normal = Normal::seeded(91);
        let mut alarms = vec![0; all.len()];
        for _ in 0..WALKS {
            let mut sum = 0.0;
            let mut made = 0;
            for (at, look) in all.iter().enumerate() {
                sum += (made..look.blocks).map(|_| normal.draw()).sum::<f64>();
                made = look.blocks;
                if sum.abs() / f64::from(made).sqrt() > two_sided(look.alpha, f64::INFINITY) {
                    alarms[at] += 1;
                    break;
                }
            }
        }
        let share = |alarms: &[u32]| f64::from(alarms.iter().sum::<u32>()) / f64::from(WALKS);
        let planned = share(&alarms[..plans[0].len()]);
        assert!((planned - OF_SEVERAL * FALSE_ALARMS).abs() < 0.004, "{planned}");
        let (all, added) = (share(&alarms), share(&alarms[plans[0].len()..]));
        assert!(
            all < OF_SEVERAL * CONTINUED_ALARMS + 0.004 && added > 0.015,
            "{all}, of which {added} when continued"
        );
    }
}
