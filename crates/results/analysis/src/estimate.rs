//! The mean of a few runs, with its spread.

use pgdyno_core::measure::Estimate;

use crate::statistics::{Prior, Scatter, mean, sum_of_squares, two_sided};

/// A cell is noisy if the half-width of its interval exceeds this share of its mean.
pub const MAX_HALF_WIDTH: f64 = 0.10;

/// Mean, extremes and 95 % interval of independent observations (runs, never transactions); `None` without
/// observations. The half-width is Student's t at 95 % times the standard error, absent with fewer than three
/// observations: with two, an interval of ± 12.7 standard errors would be useless.
pub fn estimate(values: &[f64], unit: &str) -> Option<Estimate> {
    let count = values.len();
    let value = mean(values)?;
    let half_width = (count >= 3).then(|| {
        let error = (sum_of_squares(values) / (count - 1) as f64 / count as f64).sqrt();
        two_sided(0.05, (count - 1) as f64) * error
    });
    Some(Estimate {
        value,
        unit: unit.to_owned(),
        count: count as u64,
        min: values.iter().copied().fold(f64::INFINITY, f64::min),
        max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        half_width,
    })
}

/// Fewest observations whose interval may be narrower than that of the typical variance of their family: with fewer, a
/// small variance is luck.
const ENOUGH: usize = 5;

/// [`estimate`] of each member of a family, such as the rates of the cells of one script: how much their logarithms
/// scatter is moderated over the family. With three observations each, the interval of the member that happens to
/// scatter least would otherwise miss the truth one time in five. A member without scatter of its own (fewer than two
/// observations, or one that is not above 0) is estimated by itself, and so is an only one.
pub fn of_family(family: &[Vec<f64>], unit: &str) -> Vec<Option<Estimate>> {
    let own: Vec<_> = family.iter().map(|values| Scatter::of(&logarithms(values)?)).collect();
    let prior = Prior::fit(&own.iter().copied().flatten().collect::<Vec<_>>());
    let one = |(values, own): (&Vec<f64>, &Option<Scatter>)| {
        let alone = estimate(values, unit)?;
        let Some((prior, own)) = prior.zip(*own) else { return Some(alone) };
        let mut scatter = prior.moderate(own);
        if values.len() < ENOUGH {
            scatter.variance = scatter.variance.max(prior.typical());
        }
        let error = (scatter.variance / values.len() as f64).sqrt();
        let half_width = alone.value * (two_sided(0.05, scatter.degrees) * error).exp_m1();
        Some(Estimate { half_width: alone.half_width.map(|_| half_width), ..alone })
    };
    family.iter().zip(&own).map(one).collect()
}

/// The logarithms; `None` if a value has none.
fn logarithms(values: &[f64]) -> Option<Vec<f64>> {
    values.iter().map(|value| (*value > 0.0).then(|| value.ln())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steady::tests::Normal;

    #[test]
    fn the_interval_of_five_runs() {
        // s = 1.5811, standard error 0.70711, t(4) = 2.7764
        let five = estimate(&[1.0, 2.0, 3.0, 4.0, 5.0], "1/s").expect("there are values");
        assert_eq!((five.value, five.min, five.max, five.count), (3.0, 1.0, 5.0, 5));
        assert!((five.half_width.expect("five are enough") - 1.9632).abs() < 1e-4);
    }

    /// Six cells of three runs that scatter alike: how often the interval of the one with the narrowest own scatter
    /// covers its true mean, for all by themselves and for the family.
    #[test]
    fn the_narrowest_of_a_family_covers_the_truth() {
        const TIMES: u32 = 1_000;
        let mut normal = Normal::seeded(17);
        let (mut alone, mut together) = (0, 0);
        for _ in 0..TIMES {
            let draw = |normal: &mut Normal| (0.03 * normal.draw()).exp();
            let cells: Vec<Vec<f64>> =
                (0..6).map(|_| (0..3).map(|_| 1_000.0 * draw(&mut normal)).collect()).collect();
            let half = |of: &Estimate| of.half_width.expect("three runs");
            let each = cells.iter().filter_map(|rates| estimate(rates, "1/s"));
            let (at, one) =
                each.enumerate().min_by(|(_, a), (_, b)| half(a).total_cmp(&half(b))).expect("there are six");
            let covers = |of: &Estimate| (of.value - 1_000.0).abs() <= half(of);
            alone += u32::from(covers(&one));
            together += u32::from(covers(of_family(&cells, "1/s")[at].as_ref().expect("it ran")));
        }
        assert!(together >= TIMES * 93 / 100, "{together} of {TIMES}");
        assert!(alone < TIMES * 85 / 100, "the test must see the fault that it is for: {alone}");
    }

    /// A cell whose scatter is truly another keeps a wide interval, and the others a narrow one.
    #[test]
    fn a_stranger_in_a_family_does_not_hide() {
        let mut normal = Normal::seeded(19);
        let mut cell = |sd: f64| (0..6).map(|_| 1_000.0 * (sd * normal.draw()).exp()).collect::<Vec<_>>();
        let cells: Vec<_> = [0.01, 0.01, 0.01, 0.01, 0.01, 0.2].into_iter().map(&mut cell).collect();
        let found: Vec<_> = of_family(&cells, "1/s").into_iter().flatten().collect();
        let shares: Vec<_> = found.iter().filter_map(Estimate::relative_half_width).collect();
        assert!(shares[5] > 0.1 && shares[..5].iter().all(|share| *share < 0.05), "{shares:?}");
    }

    #[test]
    fn a_member_without_scatter_is_estimated_alone() {
        let cells = [vec![1.0, 2.0, 3.0], vec![0.0, 0.0, 0.0], vec![5.0], vec![]];
        let found = of_family(&cells, "1/s");
        assert_eq!(found[0], estimate(&cells[0], "1/s"), "it is the only one that scatters");
        assert_eq!(found[1].as_ref().and_then(|zero| zero.half_width), Some(0.0));
        assert_eq!((found[2].as_ref().and_then(|one| one.half_width), &found[3]), (None, &None));
    }

    #[test]
    fn two_runs_have_no_interval_and_none_no_estimate() {
        assert_eq!(estimate(&[1.0, 2.0], "1/s").expect("there are values").half_width, None);
        assert_eq!(estimate(&[], "1/s"), None);
    }
}
