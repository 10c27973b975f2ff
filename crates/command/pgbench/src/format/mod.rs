//! Output in pgbench's formats, made from numbers alone: nothing here prints.

pub mod find_rate;
pub mod initialization;
pub mod log;
pub mod progress;
pub mod steps;
pub mod summary;

/// A share in per cent; 0 if the whole is 0.
fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}

/// A number with this many decimals; NaN as C prints it.
fn fixed(value: f64, digits: usize) -> String {
    if value.is_nan() { "nan".to_owned() } else { format!("{value:.digits$}") }
}
