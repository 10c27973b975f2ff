//! The mean of a few runs, with its spread.

use pgdyno_core::measure::Estimate;

use super::student;

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
        student::two_sided(0.95, count as u32 - 1) * error
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

/// The mean; `None` without a value.
pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The sum of squared deviations from the mean, in two passes to avoid cancellation.
pub(super) fn sum_of_squares(values: &[f64]) -> f64 {
    let mean = mean(values).unwrap_or(0.0);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_five_runs() {
        // s = 1.5811, standard error 0.70711, t(4) = 2.7764
        let five = estimate(&[1.0, 2.0, 3.0, 4.0, 5.0], "1/s").expect("there are values");
        assert_eq!((five.value, five.min, five.max, five.count), (3.0, 1.0, 5.0, 5));
        assert!((five.half_width.expect("five are enough") - 1.9632).abs() < 1e-4);
    }

    #[test]
    fn two_runs_have_no_interval_and_none_no_estimate() {
        assert_eq!(estimate(&[1.0, 2.0], "1/s").expect("there are values").half_width, None);
        assert_eq!(estimate(&[], "1/s"), None);
    }
}
