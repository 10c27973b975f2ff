//! Generates tables for loading and verification: text for COPY, and checksums of any part.

use super::{Check, Column, Part, Population, Sums};

/// A table whose rows can be generated. The same population gives the same bytes and sums for any part on any
/// host, and concatenated parts equal the whole. Parts are counted in units: a unit is a row, except for
/// TPC-C's `order_line`, where it is an order.
pub trait RowGenerator: Sync {
    /// Name of the table.
    fn table(&self) -> &'static str;

    /// Columns with a checksum each, the key first; empty if rows have one checksum as a whole.
    fn columns(&self) -> &'static [Column];

    /// All columns as a list in SQL.
    fn names(&self) -> String {
        self.columns().iter().map(|column| column.name).collect::<Vec<_>>().join(", ")
    }

    /// Columns that are sent, as a list for COPY; others get their value from [`RowGenerator::constants`], or else
    /// NULL.
    fn sent(&self) -> String {
        self.names()
    }

    /// Columns with the same value in all rows, and that value as SQL. The server takes it from a default that
    /// exists during the load, so it is neither sent nor parsed.
    fn constants(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Query by which the server generates a part, with the columns of [`RowGenerator::sent`]; `None` if it cannot.
    fn query(&self, population: &Population, part: Part) -> Option<String>;

    /// SQL condition for the rows of a part, valid while the table is as loaded.
    fn within(&self, part: Part) -> String {
        let (key, Part { first, end }) = (first_name(self.columns()), part);
        format!("{key} > {first} AND {key} <= {end}")
    }

    /// Aggregates for the server to compute, in the order of [`Sums::columns`].
    fn checks(&self) -> Vec<Check> {
        let key = first_name(self.columns());
        self.columns().iter().map(|column| column.check(key)).collect()
    }

    /// Number of units at a scale.
    fn units_at(&self, scale: u64) -> u64;

    /// Units to generate at once: some tens of KiB of text, which fit into processor caches.
    fn piece(&self) -> u64 {
        5_000
    }

    /// Appends a part in COPY's text format; returns its number of rows.
    fn write(&self, population: &Population, part: Part, out: &mut Vec<u8>) -> u64;

    /// Count and checksums of a part.
    fn sums(&self, population: &Population, part: Part) -> Sums;
}

fn first_name(columns: &[Column]) -> &'static str {
    columns.first().map_or("", |column| column.name)
}

/// Appends rows with consecutive keys from 1, one per line: the key, then an ending that stays the same for
/// `run` rows. Digits of the key are incremented in place, which saves divisions. Returns the number of rows.
pub(super) fn write_runs(part: Part, run: u64, ending: impl Fn(u64) -> String, out: &mut Vec<u8>) -> u64 {
    let mut at = part.first;
    while at < part.end {
        let end = part.end.min((at / run + 1) * run);
        let mut line = Line::new(at + 1, &ending(at / run));
        out.reserve((end - at) as usize * (line.bytes.len() + 1));
        out.extend_from_slice(&line.bytes);
        for _ in at + 1..end {
            line.count_up();
            out.extend_from_slice(&line.bytes);
        }
        at = end;
    }
    part.rows()
}

/// A query for the rows of a part, with the key as `n`.
pub(super) fn series(part: Part, columns: &str) -> Option<String> {
    let (first, last) = (part.first + 1, part.end);
    Some(format!("SELECT {columns} FROM pg_catalog.generate_series({first}, {last}) AS n"))
}

/// A line that begins with a number to be incremented.
struct Line {
    bytes: Vec<u8>,
    digits: usize,
}

impl Line {
    fn new(number: u64, ending: &str) -> Self {
        let number = number.to_string();
        Self { digits: number.len(), bytes: (number + ending).into_bytes() }
    }

    #[inline]
    fn count_up(&mut self) {
        for digit in self.bytes[..self.digits].iter_mut().rev() {
            if *digit != b'9' {
                *digit += 1;
                return;
            }
            *digit = b'0';
        }
        self.bytes.insert(0, b'1');
        self.digits += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn lines_are_what_formatting_gives(first in 0u64..2_000, rows in 0u64..1_200, run in 1u64..300) {
            let part = Part { first, end: first + rows };
            let mut out = Vec::new();
            write_runs(part, run, |number| format!("\t{number}\n"), &mut out);
            let plain: String = (first..first + rows).map(|n| format!("{}\t{}\n", n + 1, n / run)).collect();
            prop_assert_eq!(String::from_utf8(out).expect("digits"), plain);
        }
    }
}
