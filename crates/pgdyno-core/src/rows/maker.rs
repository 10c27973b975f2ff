//! Tables as a loader and a verifier take them: text for COPY and checksums of any part, whatever the rows are.

use super::{Column, Part, Sums};

/// A table that can be made. With the same seed any part gives the same bytes and sums everywhere, and all parts
/// together those of the whole. A table without random columns ignores the seed.
pub trait Maker: Sync {
    /// Name of the table.
    fn table(&self) -> &'static str;

    /// All columns, the key first.
    fn columns(&self) -> &'static [Column];

    /// The columns that are sent, as COPY lists them; the others become what [`Maker::constants`] says, else NULL.
    fn sent(&self) -> &'static str;

    /// Columns that have one value in all rows, and that value as SQL: the server has it from a default that stands
    /// while rows are loaded, so that it is neither sent nor read.
    fn constants(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// The rows of a part as the server itself makes them: a query that gives [`Maker::sent`].
    fn query(&self, seed: u64, part: Part) -> String;

    /// Number of rows at a scale.
    fn rows_at(&self, scale: u64) -> u64;

    /// Appends a part in COPY's text format.
    fn write(&self, seed: u64, part: Part, out: &mut Vec<u8>);

    /// Count and checksums of a part.
    fn sums(&self, seed: u64, part: Part) -> Sums;
}

/// Appends rows whose key counts from 1, a line each: the key, then an ending that lasts for `run` rows. The
/// key's digits are counted up in place: no number is divided by ten again and again.
pub(super) fn write_runs(part: Part, run: u64, ending: impl Fn(u64) -> String, out: &mut Vec<u8>) {
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
