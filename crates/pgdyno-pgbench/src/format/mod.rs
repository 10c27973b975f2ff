//! Output in pgbench's formats, made from numbers alone: nothing here prints.

pub mod find_rate;
pub mod initialization;
pub mod log;
pub mod progress;
pub mod steps;
pub mod summary;

/// A share in percent; 0 where there is nothing to have a share of.
fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}

/// A number with so many digits, as C prints one that is none.
fn fixed(value: f64, digits: usize) -> String {
    if value.is_nan() { "nan".to_owned() } else { format!("{value:.digits$}") }
}
