//! A row as a list of fields: said once, then written with its columns in any order.

use crate::{
    rows::text::{Clock, decimal},
    tpcc::Draws,
};

/// A value in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Integer(i64),
    /// Without its point, which is before so many digits.
    Decimal(i64, u8),
    /// Where in the row's text.
    Text(usize, usize),
    /// Microseconds since 1970.
    Time(i64),
    Null,
}

/// The fields of a row, in the order of the table's columns. It is used again and again: no row takes an allocation.
#[derive(Debug, Default)]
pub struct Row {
    fields: Vec<Field>,
    text: Vec<u8>,
    clock: Clock,
}

impl Row {
    pub(super) fn clear(&mut self) {
        self.fields.clear();
        self.text.clear();
    }

    pub(super) fn integer(&mut self, value: u64) -> &mut Self {
        self.fields.push(Field::Integer(value as i64));
        self
    }

    pub(super) fn decimal(&mut self, value: i64, digits: u8) -> &mut Self {
        self.fields.push(Field::Decimal(value, digits));
        self
    }

    /// A text that `write` appends.
    pub(super) fn text(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> &mut Self {
        let from = self.text.len();
        write(&mut self.text);
        self.fields.push(Field::Text(from, self.text.len()));
        self
    }

    /// A random a-string.
    pub(super) fn characters(&mut self, draws: &mut Draws, low: u64, high: u64) -> &mut Self {
        self.text(|out| draws.characters(low, high, out))
    }

    pub(super) fn time(&mut self, at_us: i64) -> &mut Self {
        self.fields.push(Field::Time(at_us));
        self
    }

    pub(super) fn null(&mut self) -> &mut Self {
        self.fields.push(Field::Null);
        self
    }

    /// Appends the row as a line of comma-separated values, its fields in this order. NULL is nothing; no value has to
    /// be quoted.
    pub fn write_csv(&mut self, order: impl Iterator<Item = usize>, out: &mut Vec<u8>) {
        for (place, at) in order.enumerate() {
            if place > 0 {
                out.push(b',');
            }
            match self.fields[at] {
                Field::Integer(value) => signed(value, 0, out),
                Field::Decimal(value, digits) => signed(value, digits, out),
                Field::Text(from, to) => out.extend_from_slice(&self.text[from..to]),
                Field::Time(at_us) => self.clock.write(at_us, out),
                Field::Null => {}
            }
        }
        out.push(b'\n');
    }
}

/// Appends a number with so many digits behind its point.
fn signed(value: i64, digits: u8, out: &mut Vec<u8>) {
    if value < 0 {
        out.push(b'-');
    }
    let (value, unit) = (value.unsigned_abs(), 10u64.pow(digits.into()));
    decimal(out, value / unit);
    if digits > 0 {
        // A one before the digits keeps the noughts that they begin with, and gives way to the point.
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
