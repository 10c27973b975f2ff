//! Student's t distribution.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

/// The probability that |t| is below `t` with `degrees` of freedom, exactly: the finite series of
/// Abramowitz and Stegun, "Handbook of Mathematical Functions", 26.7.3 and 26.7.4. `t` from 0; `degrees`
/// from 1.
fn within(t: f64, degrees: u32) -> f64 {
    let theta = (t / f64::from(degrees).sqrt()).atan();
    let (sin, cos) = theta.sin_cos();
    let cos2 = cos * cos;
    let odd = degrees % 2 == 1;
    // Terms c, 2/3 c³, 2·4/(3·5) c⁵ … for odd degrees; 1, 1/2 c², 1·3/(2·4) c⁴ … for even ones.
    let (mut term, mut sum) = if odd { (cos, 0.0) } else { (1.0, 0.0) };
    let mut k = if odd { 2.0 } else { 1.0 };
    for _ in 0..if odd { (degrees - 1) / 2 } else { degrees / 2 } {
        sum += term;
        term *= cos2 * k / (k + 1.0);
        k += 2.0;
    }
    if odd { FRAC_2_PI * (theta + sin * sum) } else { sin * sum }
}

/// The two-sided quantile: |t| stays below it with probability `confidence` (above 0, below 1). For 95 %
/// intervals `confidence` is 0.95.
///
/// # Panics
/// If `degrees` is 0 or `confidence` is not a probability.
pub fn two_sided(confidence: f64, degrees: u32) -> f64 {
    assert!(degrees > 0 && confidence > 0.0 && confidence < 1.0, "t at {confidence} with {degrees} degrees");
    // Beyond this the quantile differs from the limit by less than one in 10^4, and the series gets long.
    let degrees = degrees.min(5_000);
    // Bisection on the angle, which is bounded, unlike t.
    let root = f64::from(degrees).sqrt();
    let (mut low, mut high) = (0.0, FRAC_PI_2);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        match within(middle.tan() * root, degrees) < confidence {
            true => low = middle,
            false => high = middle,
        }
    }
    f64::midpoint(low, high).tan() * root
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Printed tables, three decimals (NIST/SEMATECH e-Handbook, 1.3.6.7.2).
    #[test]
    fn quantiles_are_those_of_the_tables() {
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
            let got = two_sided(confidence, degrees);
            assert!((got - t).abs() < 6e-4 * t.max(1.0), "{confidence} {degrees}: {got} is not {t}");
        }
        assert!((two_sided(0.95, u32::MAX) - 1.960).abs() < 1e-3);
    }
}
