//! A row as a list of fields, generated once and written with its columns in any order.

use pgdyno_core::tpcc::Draws;

use crate::text::{Clock, decimal};

/// Bytes of a tuple header without null bitmap.
const HEADER_BYTES: u64 = 23;
/// Longest text with a one-byte length header.
const SHORT_BYTES: usize = 126;

/// A value in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Value {
    Integer(i64),
    /// A decimal number without its point, and the number of decimal places.
    Decimal(i64, u8),
    /// Start and end in the row's text.
    Text(usize, usize),
    /// Microseconds since 1970.
    Time(i64),
    Null,
}

/// The fields of a row, in the order of the table's columns. Reused, so that rows need no allocation.
#[derive(Debug, Default)]
pub struct Row {
    fields: Vec<Value>,
    text: Vec<u8>,
    clock: Clock,
}

impl Row {
    pub(super) fn clear(&mut self) {
        self.fields.clear();
        self.text.clear();
    }

    pub(super) fn integer(&mut self, value: u64) -> &mut Self {
        self.fields.push(Value::Integer(value as i64));
        self
    }

    pub(super) fn decimal(&mut self, value: i64, digits: u8) -> &mut Self {
        self.fields.push(Value::Decimal(value, digits));
        self
    }

    /// Adds a text that `write` appends.
    pub(super) fn text(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> &mut Self {
        let from = self.text.len();
        write(&mut self.text);
        self.fields.push(Value::Text(from, self.text.len()));
        self
    }

    /// Adds a random a-string.
    pub(super) fn characters(&mut self, draws: &mut Draws, low: u64, high: u64) -> &mut Self {
        self.text(|out| draws.characters(low, high, out))
    }

    pub(super) fn time(&mut self, at_us: i64) -> &mut Self {
        self.fields.push(Value::Time(at_us));
        self
    }

    pub(super) fn null(&mut self) -> &mut Self {
        self.fields.push(Value::Null);
        self
    }

    /// Appends the row as a line of comma-separated values, with fields in this order. NULL is empty; no value
    /// needs quotes.
    pub fn write_csv(&mut self, order: impl Iterator<Item = usize>, out: &mut Vec<u8>) {
        for (place, at) in order.enumerate() {
            if place > 0 {
                out.push(b',');
            }
            self.value(at, b"", out);
        }
        out.push(b'\n');
    }

    /// Appends the row as a line of COPY's text format (PostgreSQL manual, "COPY", File Formats); no value
    /// needs escapes.
    pub(super) fn write_copy(&mut self, out: &mut Vec<u8>) {
        for at in 0..self.fields.len() {
            if at > 0 {
                out.push(b'\t');
            }
            self.value(at, b"\\N", out);
        }
        out.push(b'\n');
    }

    /// Appends the text for the row's checksum, which any server can reproduce: values separated by commas,
    /// times in microseconds since 1970.
    pub(super) fn write_whole(&mut self, out: &mut Vec<u8>) {
        for at in 0..self.fields.len() {
            if at > 0 {
                out.push(b',');
            }
            match self.fields[at] {
                Value::Time(at_us) => signed(at_us, 0, out),
                _ => self.value(at, b"", out),
            }
        }
    }

    fn value(&mut self, at: usize, null: &[u8], out: &mut Vec<u8>) {
        match self.fields[at] {
            Value::Integer(value) => signed(value, 0, out),
            Value::Decimal(value, digits) => signed(value, digits, out),
            Value::Text(from, to) => out.extend_from_slice(&self.text[from..to]),
            Value::Time(at_us) => self.clock.write(at_us, out),
            Value::Null => out.extend_from_slice(null),
        }
    }

    /// Bytes of the row in a page with header and padding ("Database Page Layout"; integers are `int`).
    pub(super) fn tuple_bytes(&self) -> u64 {
        let nulls = self.fields.contains(&Value::Null);
        let bitmap = if nulls { self.fields.len().div_ceil(8) as u64 } else { 0 };
        let header = (HEADER_BYTES + bitmap).next_multiple_of(8);
        let data = self.fields.iter().fold(0, |at: u64, value| match *value {
            Value::Integer(_) => at.next_multiple_of(4) + 4,
            Value::Time(_) => at.next_multiple_of(8) + 8,
            Value::Decimal(value, digits) => at + 1 + numeric_bytes(value.unsigned_abs(), digits),
            Value::Text(from, to) if to - from <= SHORT_BYTES => at + 1 + (to - from) as u64,
            Value::Text(from, to) => at.next_multiple_of(4) + 4 + (to - from) as u64,
            Value::Null => at,
        });
        (header + data).next_multiple_of(8)
    }
}

/// Bytes of a `numeric` after its length: a header, and two for each group of four decimal digits counted from
/// the point, without zero groups at both ends (`numeric.c`).
fn numeric_bytes(value: u64, digits: u8) -> u64 {
    let unit = 10u64.pow(digits.into());
    let (mut whole, behind) = (value / unit, !value.is_multiple_of(unit));
    let mut groups = Vec::new();
    while whole > 0 {
        groups.push(!whole.is_multiple_of(10_000));
        whole /= 10_000;
    }
    let noughts = if behind { 0 } else { groups.iter().take_while(|some| !**some).count() };
    2 + 2 * (groups.len() - noughts + usize::from(behind)) as u64
}

/// Appends a number with this many decimal places.
fn signed(value: i64, digits: u8, out: &mut Vec<u8>) {
    if value < 0 {
        out.push(b'-');
    }
    let (value, unit) = (value.unsigned_abs(), 10u64.pow(digits.into()));
    decimal(out, value / unit);
    if digits > 0 {
        // A leading one keeps the leading zeros, and is then replaced by the point.
        let point = out.len();
        decimal(out, unit + value % unit);
        out[point] = b'.';
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_written_in_any_order() {
        let mut row = Row::default();
        row.integer(7).decimal(-1_000, 2).text(|out| out.extend(b"OE")).null().time(1_475_366_400_000_001);
        let mut line = |order: &[usize]| {
            let mut out = Vec::new();
            row.write_csv(order.iter().copied(), &mut out);
            String::from_utf8(out).expect("it is text")
        };
        assert_eq!(line(&[0, 1, 2, 3, 4]), "7,-10.00,OE,,2016-10-02 00:00:00.000001\n");
        assert_eq!(line(&[4, 3, 1]), "2016-10-02 00:00:00.000001,,-10.00\n");
    }

    #[test]
    fn a_row_is_written_for_copy_and_for_its_checksum() {
        let mut row = Row::default();
        row.integer(7).decimal(5, 4).null().text(|out| out.extend(b"OE")).time(1_475_366_400_000_001);
        let (mut copy, mut whole) = (Vec::new(), Vec::new());
        row.write_copy(&mut copy);
        row.write_whole(&mut whole);
        assert_eq!(copy, b"7\t0.0005\t\\N\tOE\t2016-10-02 00:00:00.000001\n");
        assert_eq!(whole, b"7,0.0005,,OE,1475366400000001");
    }

    /// Values of `pg_column_size`, less the length byte of a short value in a row.
    #[test]
    fn numbers_take_what_a_server_shows() {
        let known = [(0, 2, 2), (5, 4, 4), (1_000, 2, 4), (1_050, 2, 6), (5_000_000, 2, 4), (123_456, 2, 6)];
        for (value, digits, bytes) in known {
            assert_eq!(numeric_bytes(value, digits), bytes, "{value}");
        }
    }

    #[test]
    fn decimals_keep_their_noughts() {
        let text = |value, digits| {
            let mut out = Vec::new();
            signed(value, digits, &mut out);
            String::from_utf8(out).expect("digits")
        };
        let known = [(0, 2, "0.00"), (5, 4, "0.0005"), (-7, 2, "-0.07"), (30_000_000, 2, "300000.00")];
        for (value, digits, expected) in known {
            assert_eq!(text(value, digits), expected);
        }
        assert_eq!((text(-12, 0).as_str(), text(0, 0).as_str()), ("-12", "0"));
    }
}
