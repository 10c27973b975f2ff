//! Writes rows as pgbench does, in COPY's text format (PostgreSQL manual, "COPY", File Formats).

use pgdyno_rows::tpcb::{Account, Branch, Teller};

use pgdyno_wire::encode::decimal;

/// A row that can be written as COPY data.
pub(super) trait CopyRow {
    /// Columns that are sent; the others become NULL.
    const COLUMNS: &'static str;

    /// Appends the row.
    fn write(&self, out: &mut Vec<u8>);
}

impl CopyRow for Branch {
    const COLUMNS: &'static str = "bid, bbalance";

    fn write(&self, out: &mut Vec<u8>) {
        write_integers(&[self.bid.into(), self.bbalance.into()], b"\n", out);
    }
}

impl CopyRow for Teller {
    const COLUMNS: &'static str = "tid, bid, tbalance";

    fn write(&self, out: &mut Vec<u8>) {
        write_integers(&[self.tid.into(), self.bid.into(), self.tbalance.into()], b"\n", out);
    }
}

impl CopyRow for Account {
    const COLUMNS: &'static str = "aid, bid, abalance, filler";

    /// The filler is sent empty, since the server pads it to 84 blanks; this saves 84 bytes per row on the wire.
    #[inline]
    fn write(&self, out: &mut Vec<u8>) {
        write_integers(&[self.aid, self.bid.into(), self.abalance.into()], b"\t\n", out);
    }
}

#[inline]
fn write_integers(values: &[i64], end: &[u8], out: &mut Vec<u8>) {
    for (index, &value) in values.iter().enumerate() {
        if index > 0 {
            out.push(b'\t');
        }
        decimal(out, value);
    }
    out.extend_from_slice(end);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(row: &impl CopyRow) -> Vec<u8> {
        let mut out = Vec::new();
        row.write(&mut out);
        out
    }

    #[test]
    fn rows_are_tab_separated() {
        assert_eq!(written(&Account { aid: 100_001, bid: 2, abalance: 0 }), b"100001\t2\t0\t\n");
        assert_eq!(written(&Teller { tid: 11, bid: 2, tbalance: 0 }), b"11\t2\t0\n");
        assert_eq!(written(&Branch { bid: 2, bbalance: 0 }), b"2\t0\n");
    }
}
