//! Tables as a loader and a verifier take them: text for COPY and checksums of any part, whatever the rows are.

use super::{Check, Column, Part, Population, Sums};

/// A table that can be made. With the same population any part gives the same bytes and sums everywhere, and all parts
/// together those of the whole. Parts are counted in units: a unit is a row, but of TPC-C's `order_line` an order.
pub trait Maker: Sync {
    /// Name of the table.
    fn table(&self) -> &'static str;

    /// The columns that have a checksum each, the key first; none where the rows have one as a whole.
    fn columns(&self) -> &'static [Column];

    /// All columns, as SQL lists them.
    fn names(&self) -> String {
        self.columns().iter().map(|column| column.name).collect::<Vec<_>>().join(", ")
    }

    /// The columns that are sent, as COPY lists them; the others become what [`Maker::constants`] says, else NULL.
    fn sent(&self) -> String {
        self.names()
    }

    /// Columns that have one value in all rows, and that value as SQL: the server has it from a default that stands
    /// while rows are loaded, so that it is neither sent nor read.
    fn constants(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// The rows of a part as the server itself makes them: a query that gives [`Maker::sent`]. `None` where it cannot.
    fn query(&self, population: &Population, part: Part) -> Option<String>;

    /// SQL that holds for the rows of a part, and for no others of a table that is as it was loaded.
    fn within(&self, part: Part) -> String {
        let (key, Part { first, end }) = (first_name(self.columns()), part);
        format!("{key} > {first} AND {key} <= {end}")
    }

    /// What the server sums, in the order of [`Sums::columns`].
    fn checks(&self) -> Vec<Check> {
        let key = first_name(self.columns());
        self.columns().iter().map(|column| column.check(key)).collect()
    }

    /// Number of units at a scale.
    fn units_at(&self, scale: u64) -> u64;

    /// Units to make at a time: some tens of KiB of text, which stay in a processor's caches.
    fn piece(&self) -> u64 {
        5_000
    }

    /// Appends a part in COPY's text format; gives its rows.
    fn write(&self, population: &Population, part: Part, out: &mut Vec<u8>) -> u64;

    /// Count and checksums of a part.
    fn sums(&self, population: &Population, part: Part) -> Sums;
}

fn first_name(columns: &[Column]) -> &'static str {
    columns.first().map_or("", |column| column.name)
}

/// Appends rows whose key counts from 1, a line each: the key, then an ending that lasts for `run` rows. The
/// key's digits are counted up in place: no number is divided by ten again and again. Gives the number of rows.
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

/// A line that begins with a number.
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
