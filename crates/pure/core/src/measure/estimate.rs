//! A mean with its unit, sample size and spread.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A mean with its unit, the number of observations, and their spread (invariant 10).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// Mean of the observations.
    pub value: f64,
    /// Unit, for example `1/s`.
    pub unit: String,
    /// Number of observations (runs, not transactions).
    pub count: u64,
    /// Smallest observation.
    pub min: f64,
    /// Largest observation.
    pub max: f64,
    /// Half-width of the 95 % confidence interval of the mean (Student's t, with a variance moderated over the cells of
    /// a script), in the same unit; `None` with fewer than three observations.
    pub half_width: Option<f64>,
}

impl Estimate {
    /// Converts to another unit: multiplies everything by a positive factor.
    #[must_use]
    pub fn times(&self, factor: f64, unit: &str) -> Self {
        Self {
            value: self.value * factor,
            unit: unit.to_owned(),
            count: self.count,
            min: self.min * factor,
            max: self.max * factor,
            half_width: self.half_width.map(|half| half * factor),
        }
    }

    /// Half-width over mean, if there is an interval and the mean is above 0.
    pub fn relative_half_width(&self) -> Option<f64> {
        self.half_width.filter(|_| self.value > 0.0).map(|half| half / self.value)
    }
}
