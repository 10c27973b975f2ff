//! Generates rows of the benchmark tables: any part of any table, on any host, always the same rows.
//!
//! A table is an iterator over (scale, seed, part k of n). Rows are small `Copy` structs computed from their
//! number alone, so a trillion rows need no memory, many hosts can generate parts at once, and a lost part can
//! be generated again. [`RowGenerator`] formats a part as text for COPY and sums it; sending it is up to the caller.

mod generator;
pub mod load;
pub mod scaleup;
mod size;
mod sums;
mod text;
pub mod tpcb;
pub mod tpcc;

pub use generator::RowGenerator;
pub use size::{BtreeSize, PAGE_BYTES, RelationSize, TableSize};
pub use sums::{Check, Column, Kind, Sums, mix};

/// Seed and timestamp that determine the rows of a load.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Population {
    /// Seed of all random values.
    pub seed: u64,
    /// Timestamp of the initial population in microseconds since 1970, used for all dates.
    pub at_us: i64,
}

/// A table whose rows are computed from their numbers.
pub trait TableRows {
    /// One row of the table.
    type Row: Copy;

    /// Name of the table.
    const NAME: &'static str;

    /// Number of rows at a scale.
    fn total(scale: u64) -> u64;

    /// The row with this number, from 0 and below [`TableRows::total`].
    fn row(number: u64) -> Self::Row;
}

/// A contiguous range of a table's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// First row number.
    pub first: u64,
    /// One past the last row number.
    pub end: u64,
}

impl Part {
    /// Part `k` (from 0) of `n` parts of `total` rows. Parts are disjoint, together cover the table, and differ
    /// in size by at most one row.
    ///
    /// # Panics
    /// Panics unless `k` is below `n`.
    pub fn of(total: u64, k: u64, n: u64) -> Self {
        assert!(k < n, "part {k} of {n} does not exist");
        let cut = |k: u64| (u128::from(total) * u128::from(k) / u128::from(n)) as u64;
        Self { first: cut(k), end: cut(k + 1) }
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.end - self.first
    }
}

/// Iterates over the rows of a part of a table; the part is truncated at the table's end.
pub fn rows<T: TableRows>(scale: u64, part: Part) -> impl Iterator<Item = T::Row> {
    (part.first..part.end.min(T::total(scale))).map(T::row)
}
