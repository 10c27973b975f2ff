//! Moderated variances: those of few observations are drawn toward what is typical of their family.
//!
//! The method of Smyth, "Linear Models and Empirical Bayes Methods for Assessing Differential Expression in Microarray
//! Experiments", Statistical Applications in Genetics and Molecular Biology 3 (2004), article 3, section 6.2. The
//! variances of a family are taken to scatter about a typical one, as if that had been seen with so many degrees of
//! freedom; both follow from the moments of their logarithms. A family that scatters no more than chance would have it
//! is pooled; one that scatters widely keeps the variance of each member.

use statrs::function::gamma::digamma;

use super::{mean, sum_of_squares};

/// Share of the family's median below which a variance counts as this: a variance of 0 has no logarithm.
const SMALLEST: f64 = 1e-5;

/// A variance and its degrees of freedom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scatter {
    /// The variance.
    pub variance: f64,
    /// Its degrees of freedom, above 0, not necessarily whole.
    pub degrees: f64,
}

/// What is typical of a family of variances.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prior {
    /// The typical variance, with the degrees of freedom with which it counts: infinite if the family is pooled.
    typical: Scatter,
    /// Degrees of freedom of the whole family: no member knows more.
    all_degrees: f64,
}

impl Scatter {
    /// The variance of observations; `None` with fewer than two.
    pub fn of(observations: &[f64]) -> Option<Self> {
        let degrees = observations.len().checked_sub(1).filter(|degrees| *degrees > 0)? as f64;
        Some(Self { variance: sum_of_squares(observations) / degrees, degrees })
    }
}

impl Prior {
    /// Fits a family; `None` with fewer than two members, or if none of them scatters.
    pub fn fit(family: &[Scatter]) -> Option<Self> {
        let least = SMALLEST * median(family)?;
        if family.len() < 2 || least <= 0.0 {
            return None;
        }
        let logs: Vec<f64> =
            family.iter().map(|one| centred_log(one.variance.max(least), one.degrees)).collect();
        let by_chance = mean(&family.iter().map(|one| trigamma(one.degrees / 2.0)).collect::<Vec<_>>())?;
        let beyond = sum_of_squares(&logs) / (logs.len() - 1) as f64 - by_chance;
        let middle = mean(&logs)?;
        let typical = match beyond > 0.0 {
            true => {
                let half = inverse_trigamma(beyond);
                Scatter { variance: (middle + digamma(half) - half.ln()).exp(), degrees: 2.0 * half }
            }
            false => Scatter { variance: pooled(family), degrees: f64::INFINITY },
        };
        Some(Self { typical, all_degrees: family.iter().map(|one| one.degrees).sum() })
    }

    /// The typical variance.
    pub fn typical(&self) -> f64 {
        self.typical.variance
    }

    /// A member's variance, drawn toward the typical one.
    pub fn moderate(&self, own: Scatter) -> Scatter {
        let typical = self.typical;
        let variance = match typical.degrees.is_finite() {
            true => {
                let sum = typical.degrees * typical.variance + own.degrees * own.variance;
                sum / (typical.degrees + own.degrees)
            }
            false => typical.variance,
        };
        Scatter { variance, degrees: (typical.degrees + own.degrees).min(self.all_degrees) }
    }
}

fn pooled(family: &[Scatter]) -> f64 {
    let degrees: f64 = family.iter().map(|one| one.degrees).sum();
    family.iter().map(|one| one.degrees * one.variance).sum::<f64>() / degrees
}

/// The logarithm of a variance, less what it is off by on average because its degrees are few.
fn centred_log(variance: f64, degrees: f64) -> f64 {
    let half = degrees / 2.0;
    variance.ln() - digamma(half) + half.ln()
}

/// The median of those variances that are not 0.
fn median(family: &[Scatter]) -> Option<f64> {
    let mut variances: Vec<f64> = family.iter().map(|one| one.variance).filter(|v| *v > 0.0).collect();
    variances.sort_unstable_by(f64::total_cmp);
    variances.get(variances.len() / 2).copied()
}

/// The second derivative of ln Γ, for `x` above 0: the recurrence up to 10, then the asymptotic series (Abramowitz and
/// Stegun, 6.4.6 and 6.4.12).
fn trigamma(x: f64) -> f64 {
    let mut x = x;
    let mut sum = 0.0;
    while x < 10.0 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let series = 1.0 / 6.0 - square * (1.0 / 30.0 - square * (1.0 / 42.0 - square / 30.0));
    sum + 1.0 / x + square / 2.0 + square / x * series
}

/// The `x` above 0 with this trigamma, which falls from infinity to 0: bisection on the logarithm.
fn inverse_trigamma(value: f64) -> f64 {
    let (mut low, mut high) = (-20.0_f64, 20.0_f64);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if trigamma(middle.exp()) > value { low = middle } else { high = middle }
    }
    f64::midpoint(low, high).exp()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::steady::tests::Normal;

    fn family(variances: &[f64], degrees: f64) -> Vec<Scatter> {
        variances.iter().map(|variance| Scatter { variance: *variance, degrees }).collect()
    }

    #[test]
    fn trigamma_is_that_of_known_values() {
        use std::f64::consts::PI;
        assert!((trigamma(1.0) - PI * PI / 6.0).abs() < 1e-12);
        assert!((trigamma(0.5) - PI * PI / 2.0).abs() < 1e-12);
        assert!((trigamma(100.0) - 0.010_050_166_663_333_5).abs() < 1e-14);
        for x in [0.01, 0.5, 1.0, 7.3, 400.0] {
            assert!((inverse_trigamma(trigamma(x)) / x - 1.0).abs() < 1e-9, "{x}");
        }
    }

    /// Equal variances scatter no more than chance has it: all of them have the pooled one, with all degrees.
    #[test]
    fn a_family_of_equals_is_pooled() {
        let family = family(&[1.0, 1.0, 1.0, 5.0], 2.0);
        let prior = Prior::fit(&family).expect("there are four");
        assert_eq!(prior.moderate(family[0]), Scatter { variance: 2.0, degrees: 8.0 });
    }

    /// Variances from 1 to 10^6 with many degrees are hardly moved.
    #[test]
    fn a_family_of_strangers_keeps_its_own() {
        let family = family(&[1.0, 1e2, 1e4, 1e6], 30.0);
        let prior = Prior::fit(&family).expect("there are four");
        for own in &family {
            let moved = prior.moderate(*own);
            assert!((moved.variance / own.variance).ln().abs() < 0.5, "{own:?} {moved:?}");
            assert!(moved.degrees > 30.0 && moved.degrees < 31.0, "{moved:?}");
        }
    }

    #[test]
    fn too_little_has_no_prior() {
        assert_eq!(Prior::fit(&family(&[1.0], 2.0)), None);
        assert_eq!(Prior::fit(&family(&[0.0, 0.0], 2.0)), None);
        assert!(Prior::fit(&family(&[0.0, 1.0], 2.0)).is_some());
        assert_eq!(Scatter::of(&[1.0]), None);
        assert_eq!(Scatter::of(&[1.0, 3.0]), Some(Scatter { variance: 2.0, degrees: 1.0 }));
    }

    /// Drawn from the model itself, the fit finds its two figures.
    #[test]
    fn the_fit_finds_what_was_planted() {
        const DEGREES: u32 = 4;
        let mut normal = Normal::seeded(3);
        let mut chi_squared = |degrees: u32| (0..degrees).map(|_| normal.draw().powi(2)).sum::<f64>();
        let family: Vec<_> = (0..4_000)
            .map(|_| {
                let truth = 2.5 * 10.0 / chi_squared(10);
                Scatter { variance: truth * chi_squared(DEGREES) / 4.0, degrees: DEGREES.into() }
            })
            .collect();
        let prior = Prior::fit(&family).expect("there are many");
        assert!((prior.typical.variance - 2.5).abs() < 0.15, "{prior:?}");
        assert!((prior.typical.degrees - 10.0).abs() < 2.0, "{prior:?}");
    }

    proptest! {
        #[test]
        fn a_moderated_variance_lies_between_its_own_and_the_typical(
            variances in prop::collection::vec(1e-4f64..1.0, 2..20), degrees in 1.0f64..30.0,
        ) {
            let family = family(&variances, degrees);
            let prior = Prior::fit(&family).expect("at least two");
            for own in &family {
                let moved = prior.moderate(*own);
                let (low, high) = (own.variance.min(prior.typical()), own.variance.max(prior.typical()));
                prop_assert!(moved.variance >= low * (1.0 - 1e-9) && moved.variance <= high * (1.0 + 1e-9));
                prop_assert!(moved.degrees >= own.degrees);
            }
        }
    }
}
