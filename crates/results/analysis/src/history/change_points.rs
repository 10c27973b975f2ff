//! Change points of a series of sessions.
//!
//! Circular binary segmentation (Olshen, Venkatraman, Lucito and Wigler, "Circular Binary Segmentation for the Analysis
//! of Array-Based DNA Copy Number Data", Biostatistics 5, 2004, 557-572): the stretch whose mean differs most from that
//! of the rest is taken if series without a change rarely have one as clear, and its parts are searched again. A single
//! split would miss a change that was undone. E-divisive (Matteson and James, Journal of the American Statistical
//! Association 109, 2014, 334-345) compares with permutations of the series itself, of which six sessions have too few
//! to be significant at 1 %; here the series to compare with are drawn from a normal distribution.

use pgdyno_core::random::Random;

use crate::statistics::{mean, sum_of_squares, two_sided};

/// Level of a change point. Histories are read again and again: one in a hundred finds what is not there.
pub const LEVEL: f64 = 0.01;
/// Fewest sessions on each side: one that is wild is no change.
pub const FEWEST_ON_A_SIDE: usize = 2;
/// Most series without a change that are drawn to see how clear a stretch they have, and fewest.
const DRAWN: (u64, u64) = (2_000, 300);
/// Stretches that are tried in all of them together: long histories have many, and are compared with fewer series.
const LOOKED_AT: u64 = 40_000_000;

/// A change of the mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// Index of the first observation after it.
    pub at: usize,
    /// Share of series without a change with a split at least as clear.
    pub p: f64,
}

/// The change points of a series, ascending. Deterministic.
pub fn change_points(series: &[f64]) -> Vec<Change> {
    let mut found = Vec::new();
    search(series, 0, &mut found);
    found.sort_by_key(|change| change.at);
    found
}

fn search(series: &[f64], offset: usize, found: &mut Vec<Change>) {
    let Some(Stretch { begin, end, t }) = clearest(series) else { return };
    let p = share_as_clear(series.len(), t);
    if p > LEVEL {
        return;
    }
    let edges: Vec<usize> = [begin, end].into_iter().filter(|at| *at > 0 && *at < series.len()).collect();
    found.extend(edges.iter().map(|at| Change { at: offset + at, p }));
    let mut from = 0;
    for to in edges.into_iter().chain([series.len()]) {
        search(&series[from..to], offset + from, found);
        from = to;
    }
}

/// A stretch of a series, and how clearly it differs from the rest.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Stretch {
    begin: usize,
    end: usize,
    /// |t| between the stretch and the rest, with a pooled variance.
    t: f64,
}

/// The clearest stretch, which leaves parts of at least [`FEWEST_ON_A_SIDE`]. `None` if the series is too short, or all
/// observations are equal.
fn clearest(series: &[f64]) -> Option<Stretch> {
    let count = series.len();
    let middle = mean(series).filter(|_| count >= 2 * FEWEST_ON_A_SIDE)?;
    // Sums up to each place of the centred series: a stretch differs by its sum.
    let mut sums = vec![0.0];
    series.iter().for_each(|one| sums.push(sums[sums.len() - 1] + one - middle));
    let is_long = |length: usize| length == 0 || length >= FEWEST_ON_A_SIDE;
    let mut best = (0, 0, 0.0);
    for begin in (0..count).filter(|begin| is_long(*begin)) {
        // A stretch up to the end is the same as the one before it.
        let last = if begin == 0 { count - FEWEST_ON_A_SIDE } else { count };
        for end in (begin + FEWEST_ON_A_SIDE..=last).filter(|end| is_long(count - end)) {
            let length = (end - begin) as f64;
            let sum = sums[end] - sums[begin];
            let between = sum * sum * count as f64 / (length * (count as f64 - length));
            if between > best.2 {
                best = (begin, end, between);
            }
        }
    }
    let (begin, end, between) = best;
    let rest = (sum_of_squares(series) - between).max(0.0);
    // Rounding leaves something of squares that cancel.
    let t = match rest > 1e-12 * between {
        true => (between * (count as f64 - 2.0) / rest).sqrt(),
        false => f64::INFINITY,
    };
    (between > 0.0).then_some(Stretch { begin, end, t })
}

/// Share of normal series of this length without a change whose clearest stretch has at least this t.
fn share_as_clear(length: usize, t: f64) -> f64 {
    let stretches = (length * length / 2).max(1) as u64;
    let drawn = (LOOKED_AT / stretches).clamp(DRAWN.1, DRAWN.0);
    let mut random = Random::seeded(length as u64);
    // By the method of Box and Muller; the first number is above 0.
    let mut normal = || {
        let (radius, angle) = (1.0 - random.unit(), std::f64::consts::TAU * random.unit());
        (-2.0 * radius.ln()).sqrt() * angle.cos()
    };
    let as_clear = (0..drawn)
        .filter(|_| {
            let series: Vec<f64> = (0..length).map(|_| normal()).collect();
            clearest(&series).is_some_and(|found| found.t >= t)
        })
        .count();
    (as_clear + 1) as f64 / (drawn + 1) as f64
}

/// The difference of the means of two groups with its 95 % interval and two-sided p value, by Student's t with a pooled
/// variance. `None` if a group is empty or both have one observation.
pub fn difference(before: &[f64], after: &[f64]) -> Option<Difference> {
    let degrees = (before.len() + after.len()).checked_sub(2).filter(|degrees| *degrees > 0)? as f64;
    let step = mean(after)? - mean(before)?;
    let variance = (sum_of_squares(before) + sum_of_squares(after)) / degrees;
    let error = (variance * (1.0 / before.len() as f64 + 1.0 / after.len() as f64)).sqrt();
    let half = two_sided(0.05, degrees) * error;
    let p = match error > 0.0 {
        true => crate::statistics::two_sided_p(step.abs() / error, degrees),
        false => f64::from(u8::from(step == 0.0)),
    };
    Some(Difference { step, low: step - half, high: step + half, p })
}

/// A difference of logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// After less before.
    pub step: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Two-sided p value.
    pub p: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steady::tests::Normal;

    fn at(series: &[f64]) -> Vec<usize> {
        change_points(series).iter().map(|change| change.at).collect()
    }

    #[test]
    fn two_steps_are_found_where_they_are() {
        let mut normal = Normal::seeded(1);
        let level = |session: usize| if (10..22).contains(&session) { 0.05 } else { 0.0 };
        let series: Vec<f64> = (0..30).map(|session| level(session) + 0.005 * normal.draw()).collect();
        assert_eq!(at(&series), [10, 22]);
        let found = difference(&series[..10], &series[10..22]).expect("there are many");
        assert!(found.low < 0.05 && 0.05 < found.high && found.p < 1e-6, "{found:?}");
    }

    #[test]
    fn few_sessions_suffice_for_a_clear_change() {
        assert_eq!(at(&[0.0, 0.001, -0.001, 0.1, 0.101, 0.099]), [3]);
        assert_eq!(at(&[0.0, 0.0, 0.1, 0.1]), [2], "without scatter");
        assert_eq!((at(&[0.0, 0.001, 0.1]), at(&[0.0; 9]), at(&[])), (vec![], vec![], vec![]));
    }

    #[test]
    fn one_wild_session_is_no_change() {
        let mut series = vec![0.001, -0.001, 0.002, 0.0, -0.002, 0.001, 0.0, 0.001];
        series[4] = 0.3;
        assert_eq!(at(&series), Vec::<usize>::new());
    }

    /// One history in a hundred has a change that is not there.
    #[test]
    fn noise_alone_seldom_changes() {
        let mut normal = Normal::seeded(2);
        for length in [6, 12, 30] {
            let (mut found, limit) = (0, quantile(length));
            for _ in 0..300 {
                let series: Vec<f64> = (0..length).map(|_| normal.draw()).collect();
                found += u32::from(clearest(&series).is_some_and(|found| found.t >= limit));
            }
            assert!(found <= 9, "{found} of 300 with {length} sessions");
        }
    }

    /// The t that one series in a hundred exceeds, by bisection on its share.
    fn quantile(length: usize) -> f64 {
        let (mut low, mut high) = (2.0, 60.0);
        for _ in 0..12 {
            let middle = f64::midpoint(low, high);
            if share_as_clear(length, middle) > LEVEL { low = middle } else { high = middle }
        }
        high
    }

    #[test]
    fn a_change_of_three_deviations_is_found() {
        let mut normal = Normal::seeded(3);
        let limit = quantile(16);
        let found = (0..200)
            .filter(|_| {
                let series: Vec<f64> =
                    (0..16).map(|session| if session < 8 { 0.0 } else { 3.0 } + normal.draw()).collect();
                clearest(&series).is_some_and(|found| found.t >= limit)
            })
            .count();
        assert!(found >= 160, "{found} of 200");
    }
}
