//! Distributions, moderated variances and corrections for many tests: what several analyses share.

mod distributions;
mod family;
mod moderated;
mod moments;

pub use distributions::{chi_squared_quantile, f_quantile, normal, normal_density, two_sided, two_sided_p};
pub use family::holm;
pub use moderated::{Prior, Scatter};
pub use moments::{mean, sum_of_squares};
