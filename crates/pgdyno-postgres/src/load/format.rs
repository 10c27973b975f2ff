//! Rows as COPY data (PostgreSQL manual, "COPY", File Formats).

use pgdyno_core::rows::tpcb::{Account, Branch, Teller};

use crate::wire::encode::decimal;

/// How rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyFormat {
    /// Digits and tabs.
    Text,
    /// Lengths and big-endian integers.
    Binary,
}

impl CopyFormat {
    /// The format of choice, as measured (docs/decisions/0010).
    pub const FASTEST: Self = Self::Text;

    /// The word of COPY's FORMAT option.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Binary => "binary",
        }
    }

    /// What comes before the first row.
    pub(super) fn header(self, out: &mut Vec<u8>) {
        if self == Self::Binary {
            out.extend_from_slice(b"PGCOPY\n\xff\r\n\0");
            out.extend_from_slice(&[0; 8]); // no flags, no header extension
        }
    }

    /// What comes after the last row.
    pub(super) fn trailer(self, out: &mut Vec<u8>) {
        if self == Self::Binary {
            out.extend_from_slice(&(-1i16).to_be_bytes());
        }
    }
}

/// A row that can be written as COPY data.
pub(super) trait CopyRow {
    /// The columns that are sent; the others become NULL.
    const COLUMNS: &'static str;

    /// Appends the row. `wide_key`: the key's column is a bigint.
    fn write(&self, format: CopyFormat, wide_key: bool, out: &mut Vec<u8>);
}

impl CopyRow for Branch {
    const COLUMNS: &'static str = "bid, bbalance";

    fn write(&self, format: CopyFormat, _wide_key: bool, out: &mut Vec<u8>) {
        write_integers(format, &[self.bid, self.bbalance], out);
    }
}

impl CopyRow for Teller {
    const COLUMNS: &'static str = "tid, bid, tbalance";

    fn write(&self, format: CopyFormat, _wide_key: bool, out: &mut Vec<u8>) {
        write_integers(format, &[self.tid, self.bid, self.tbalance], out);
    }
}

impl CopyRow for Account {
    const COLUMNS: &'static str = "aid, bid, abalance, filler";

    /// The filler is sent empty: the server pads it to 84 blanks itself, and 84 bytes a row stay off the wire.
    #[inline]
    fn write(&self, format: CopyFormat, wide_key: bool, out: &mut Vec<u8>) {
        match format {
            CopyFormat::Text => {
                decimal(out, self.aid);
                out.push(b'\t');
                decimal(out, i64::from(self.bid));
                out.push(b'\t');
                decimal(out, i64::from(self.abalance));
                out.extend_from_slice(b"\t\n");
            }
            CopyFormat::Binary => {
                out.extend_from_slice(&4i16.to_be_bytes());
                if wide_key {
                    out.extend_from_slice(&8i32.to_be_bytes());
                    out.extend_from_slice(&self.aid.to_be_bytes());
                } else {
                    write_int4(self.aid as i32, out);
                }
                write_int4(self.bid, out);
                write_int4(self.abalance, out);
                out.extend_from_slice(&0i32.to_be_bytes());
            }
        }
    }
}

fn write_integers(format: CopyFormat, values: &[i32], out: &mut Vec<u8>) {
    match format {
        CopyFormat::Text => {
            for (index, &value) in values.iter().enumerate() {
                if index > 0 {
                    out.push(b'\t');
                }
                decimal(out, i64::from(value));
            }
            out.push(b'\n');
        }
        CopyFormat::Binary => {
            out.extend_from_slice(&(values.len() as i16).to_be_bytes());
            values.iter().for_each(|&value| write_int4(value, out));
        }
    }
}

#[inline]
fn write_int4(value: i32, out: &mut Vec<u8>) {
    out.extend_from_slice(&4i32.to_be_bytes());
    out.extend_from_slice(&value.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(row: &impl CopyRow, format: CopyFormat, wide: bool) -> Vec<u8> {
        let mut out = Vec::new();
        row.write(format, wide, &mut out);
        out
    }

    #[test]
    fn text_rows_are_tab_separated() {
        let account = Account { aid: 100_001, bid: 2, abalance: 0 };
        assert_eq!(written(&account, CopyFormat::Text, false), b"100001\t2\t0\t\n");
        assert_eq!(written(&Teller { tid: 11, bid: 2, tbalance: 0 }, CopyFormat::Text, false), b"11\t2\t0\n");
        assert_eq!(written(&Branch { bid: 2, bbalance: 0 }, CopyFormat::Text, false), b"2\t0\n");
    }

    #[test]
    fn binary_rows_have_lengths() {
        let account = Account { aid: 1, bid: 2, abalance: 3 };
        let narrow = b"\0\x04\0\0\0\x04\0\0\0\x01\0\0\0\x04\0\0\0\x02\0\0\0\x04\0\0\0\x03\0\0\0\0";
        assert_eq!(written(&account, CopyFormat::Binary, false), narrow);
        let wide = b"\0\x04\0\0\0\x08\0\0\0\0\0\0\0\x01\0\0\0\x04\0\0\0\x02\0\0\0\x04\0\0\0\x03\0\0\0\0";
        assert_eq!(written(&account, CopyFormat::Binary, true), wide);
    }
}
