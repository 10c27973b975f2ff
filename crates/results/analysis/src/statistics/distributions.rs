//! Quantiles and probabilities of the normal distribution, Student's t, chi-squared and F.

use statrs::distribution::{ChiSquared, Continuous, ContinuousCDF, FisherSnedecor, Normal, StudentsT};

/// Degrees of freedom from which on t is taken for normal: their quantiles differ by less than one in 10^5.
const NORMAL_FROM: f64 = 1e5;

/// Level below which the quantile is found by bisection: statrs inverts the incomplete beta function too roughly there.
const BISECTED_BELOW: f64 = 1e-5;

/// The two-sided quantile of Student's t: |t| exceeds it with probability `alpha`, above 0 and below 1. For 95 %
/// intervals `alpha` is 0.05. `degrees` are above 0 and need not be whole; infinite ones give the normal distribution.
///
/// # Panics
/// If `degrees` is not positive or `alpha` is not a probability.
pub fn two_sided(alpha: f64, degrees: f64) -> f64 {
    assert!(degrees > 0.0 && alpha > 0.0 && alpha < 1.0, "t at {alpha} with {degrees} degrees");
    // The lower tail keeps its precision where 1 − alpha would be 1.
    match () {
        () if degrees >= NORMAL_FROM => -standard().inverse_cdf(alpha / 2.0),
        () if alpha < BISECTED_BELOW => bisected(alpha, degrees),
        () => -student(degrees).inverse_cdf(alpha / 2.0),
    }
}

/// The quantile by bisection of its logarithm.
fn bisected(alpha: f64, degrees: f64) -> f64 {
    let (mut low, mut high) = (0.0_f64, 100.0_f64);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if two_sided_p(middle.exp(), degrees) > alpha { low = middle } else { high = middle }
    }
    f64::midpoint(low, high).exp()
}

/// The probability that |t| exceeds `t` (from 0) in magnitude, with `degrees` of freedom above 0.
pub fn two_sided_p(t: f64, degrees: f64) -> f64 {
    2.0 * if degrees >= NORMAL_FROM { normal(-t) } else { student(degrees).cdf(-t) }
}

/// The distribution function of the standard normal distribution.
pub fn normal(z: f64) -> f64 {
    standard().cdf(z)
}

/// The density of the standard normal distribution.
pub fn normal_density(z: f64) -> f64 {
    standard().pdf(z)
}

/// The value below which chi-squared with `degrees` of freedom (above 0) stays with this probability (above 0, below
/// 1).
pub fn chi_squared_quantile(probability: f64, degrees: f64) -> f64 {
    ChiSquared::new(degrees).expect("degrees are positive").inverse_cdf(probability)
}

/// The value below which F with these degrees of freedom (above 0) stays with this probability (above 0, below 1).
pub fn f_quantile(probability: f64, numerator: f64, denominator: f64) -> f64 {
    FisherSnedecor::new(numerator, denominator).expect("degrees are positive").inverse_cdf(probability)
}

fn standard() -> Normal {
    Normal::standard()
}

fn student(degrees: f64) -> StudentsT {
    StudentsT::new(0.0, 1.0, degrees).expect("degrees are positive")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Printed tables, three decimals (NIST/SEMATECH e-Handbook, 1.3.6.7.2).
    #[test]
    fn quantiles_of_t_are_those_of_the_tables() {
        for (confidence, degrees, t) in [
            (0.95, 1, 12.706),
            (0.95, 2, 4.303),
            (0.95, 3, 3.182),
            (0.95, 4, 2.776),
            (0.95, 5, 2.571),
            (0.95, 7, 2.365),
            (0.95, 10, 2.228),
            (0.95, 30, 2.042),
            (0.95, 100, 1.984),
            (0.90, 1, 6.314),
            (0.90, 20, 1.725),
            (0.99, 2, 9.925),
            (0.99, 15, 2.947),
            (0.998, 28, 3.408),
            (0.998, 1, 318.313),
        ] {
            let got = two_sided(1.0 - confidence, f64::from(degrees));
            assert!((got - t).abs() < 6e-4 * t.max(1.0), "{confidence} {degrees}: {got} is not {t}");
            assert!((two_sided_p(got, f64::from(degrees)) - (1.0 - confidence)).abs() < 1e-6);
        }
        for degrees in [f64::INFINITY, 1e7] {
            assert!((two_sided(0.05, degrees) - 1.959_964).abs() < 1e-4);
            assert!((two_sided_p(1.959_964, degrees) - 0.05).abs() < 1e-6);
        }
    }

    /// A first look of many has a level that 1 − alpha cannot express.
    #[test]
    fn the_smallest_levels_have_a_quantile() {
        for degrees in [1.0, 2.5, 5.0, 7.0, 15.0, 500.0, f64::INFINITY] {
            let mut last = 0.0;
            for alpha in [0.05, 1e-3, 1e-4, 1.1e-5, 1e-6, 1e-12, 1e-19] {
                let t = two_sided(alpha, degrees);
                assert!(t.is_finite() && t >= last, "{t} at {alpha} with {degrees} degrees");
                let p = two_sided_p(t, degrees);
                assert!(
                    alpha < 1e-15 || (p / alpha - 1.0).abs() < 1e-3,
                    "{p} is not {alpha}, {degrees} degrees"
                );
                last = t;
            }
        }
    }

    /// The finite series of Abramowitz and Stegun, "Handbook of Mathematical Functions", 26.7.3 and 26.7.4, for whole
    /// degrees: an independent computation.
    #[test]
    fn probabilities_of_t_are_those_of_the_finite_series() {
        for degrees in 1..40 {
            for t in [0.1, 0.7, 1.5, 2.6, 4.0, 9.0] {
                let (got, expected) = (two_sided_p(t, f64::from(degrees)), 1.0 - within(t, degrees));
                assert!((got - expected).abs() < 1e-9, "{t} {degrees}: {got} is not {expected}");
            }
        }
    }

    fn within(t: f64, degrees: u32) -> f64 {
        let theta = (t / f64::from(degrees).sqrt()).atan();
        let (sin, cos) = theta.sin_cos();
        let odd = degrees % 2 == 1;
        let (mut term, mut k, mut sum) = if odd { (cos, 2.0, 0.0) } else { (1.0, 1.0, 0.0) };
        for _ in 0..if odd { (degrees - 1) / 2 } else { degrees / 2 } {
            sum += term;
            term *= cos * cos * k / (k + 1.0);
            k += 2.0;
        }
        if odd { std::f64::consts::FRAC_2_PI * (theta + sin * sum) } else { sin * sum }
    }

    #[test]
    fn the_normal_distribution_is_that_of_the_tables() {
        for (z, p) in
            [(0.0, 0.5), (1.0, 0.841_344_7), (-1.0, 0.158_655_3), (1.959_964, 0.975), (3.0, 0.998_650_1)]
        {
            assert!((normal(z) - p).abs() < 1e-7, "{z}: {}", normal(z));
        }
        assert!((normal_density(1.0) - 0.241_970_7).abs() < 1e-7);
    }

    /// NIST/SEMATECH e-Handbook, 1.3.6.7.4.
    #[test]
    fn quantiles_of_chi_squared_are_those_of_the_tables() {
        for (probability, degrees, value) in
            [(0.95, 1.0, 3.841), (0.975, 7.0, 16.013), (0.025, 7.0, 1.690), (0.975, 15.0, 27.488)]
        {
            let got = chi_squared_quantile(probability, degrees);
            assert!((got - value).abs() < 6e-4, "{probability} {degrees}: {got} is not {value}");
        }
    }
}
