//! The two tables of "PostgreSQL 9.6 scale-up: high concurrency, against 9.5" (digoal, 2016-10-02), with rows
//! derived from a seed.
//!
//! `test` has a key, 32 hexadecimal digits and a time. In the article the server generates them by
//! `md5(random()::text)` and `clock_timestamp()`; here the digits are the MD5 of seed and key, and each row is
//! [`STEP_US`] later than the preceding one, about as in the article. `log` has 22 columns: a key from a
//! sequence, twenty numbers with default 0, and a time; in the article it begins empty.

use std::fmt::Write;

use md5::{Digest, Md5};

use super::{
    Column, Kind, Part, Population, RowGenerator, Sums,
    generator::series,
    mix,
    size::{INT_ROWS, RelationSize, TableSize, Tuple, brin_pages},
    text::{Clock, decimal, of_text},
};

/// Time before that of the first row, in microseconds since 1970: midnight UTC before the article's rows.
pub const START_US: i64 = 1_475_366_400_000_000;
/// Microseconds between consecutive rows.
pub const STEP_US: i64 = 3;
/// Number of columns `c1` to `c20` of `log`.
const NUMBERS: usize = 20;

/// The table `test`; its scale is the number of rows.
#[derive(Debug)]
pub struct Test;
/// The table `log`; its scale is the number of rows.
#[derive(Debug)]
pub struct Log;

fn id(number: u64) -> i64 {
    (number + 1) as i64
}

fn crt_time_us(number: u64) -> i64 {
    START_US + STEP_US * id(number)
}

impl Test {
    /// The digits of a row. `text` is a reusable buffer.
    fn info(seed: u64, number: u64, text: &mut String) -> [u8; 32] {
        text.clear();
        let _ = write!(text, "{seed}/{}", number + 1); // a String takes anything
        let mut info = [0; 32];
        let _ = hex::encode_to_slice(Md5::digest(text.as_bytes()), &mut info); // 16 bytes are 32 digits
        info
    }
}

impl RowGenerator for Test {
    fn table(&self) -> &'static str {
        "test"
    }

    fn columns(&self) -> &'static [Column] {
        const {
            &[
                Column { name: "id", kind: Kind::Integer },
                Column { name: "info", kind: Kind::Text },
                Column { name: "crt_time", kind: Kind::Time },
            ]
        }
    }

    fn query(&self, population: &Population, part: Part) -> Option<String> {
        let seed = population.seed;
        let time = "timestamp '2016-10-02 00:00:00' + n * interval '3 microseconds'";
        series(part, &format!("n, pg_catalog.md5('{seed}/' || n), {time}"))
    }

    fn units_at(&self, scale: u64) -> u64 {
        scale
    }

    fn write(&self, population: &Population, part: Part, out: &mut Vec<u8>) -> u64 {
        let (mut text, mut clock) = (String::new(), Clock::default());
        for number in part.first..part.end {
            decimal(out, number + 1);
            out.push(b'\t');
            out.extend_from_slice(&Self::info(population.seed, number, &mut text));
            out.push(b'\t');
            clock.write(crt_time_us(number), out);
            out.push(b'\n');
        }
        part.rows()
    }

    fn sums(&self, population: &Population, part: Part) -> Sums {
        let (mut columns, mut text) = ([0; 3], String::new());
        for number in part.first..part.end {
            let (id, info) = (id(number), of_text(&Self::info(population.seed, number, &mut text)));
            for (column, value) in columns.iter_mut().zip([id, info, crt_time_us(number)]) {
                *column += i128::from(mix(id, value));
            }
        }
        Sums { rows: part.rows(), columns: columns.to_vec() }
    }
}

impl RowGenerator for Log {
    fn table(&self) -> &'static str {
        "log"
    }

    fn columns(&self) -> &'static [Column] {
        const ZERO: Column = Column { name: "", kind: Kind::Integer };
        const NAMES: [&str; NUMBERS] = [
            "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9", "c10", "c11", "c12", "c13", "c14", "c15",
            "c16", "c17", "c18", "c19", "c20",
        ];
        const COLUMNS: [Column; NUMBERS + 2] = {
            let mut columns = [ZERO; NUMBERS + 2];
            columns[0].name = "id";
            let mut number = 0;
            while number < NUMBERS {
                columns[number + 1].name = NAMES[number];
                number += 1;
            }
            columns[NUMBERS + 1] = Column { name: "crt_time", kind: Kind::Time };
            columns
        };
        &COLUMNS
    }

    /// Columns left out become 0 by the table's permanent defaults.
    fn sent(&self) -> String {
        "id, crt_time".to_owned()
    }

    fn query(&self, _: &Population, part: Part) -> Option<String> {
        series(part, "n, timestamptz '2016-10-02 00:00:00+00' + n * interval '3 microseconds'")
    }

    fn units_at(&self, scale: u64) -> u64 {
        scale
    }

    fn write(&self, _: &Population, part: Part, out: &mut Vec<u8>) -> u64 {
        let mut clock = Clock::default();
        for number in part.first..part.end {
            decimal(out, number + 1);
            out.push(b'\t');
            clock.write(crt_time_us(number), out);
            out.extend_from_slice(b"+00\n");
        }
        part.rows()
    }

    fn sums(&self, _: &Population, part: Part) -> Sums {
        let mut columns = [0; NUMBERS + 2];
        for number in part.first..part.end {
            let id = id(number);
            let (zero, time) = (i128::from(mix(id, 0)), i128::from(mix(id, crt_time_us(number))));
            columns[0] += i128::from(mix(id, id));
            columns[1..=NUMBERS].iter_mut().for_each(|column| *column += zero);
            columns[NUMBERS + 1] += time;
        }
        Sums { rows: part.rows(), columns: columns.to_vec() }
    }
}

/// Type of `test.id` for this many rows: int as in the article, if that suffices.
pub fn id_type(rows: u64) -> &'static str {
    if rows > INT_ROWS { "bigint" } else { "int" }
}

/// Size of this many rows of `test` (all, or a partition) with their key; the length of the key depends on `total`.
pub fn test_size(total: u64, rows: u64, page_bytes: u64, fillfactor: u32) -> TableSize {
    let id_bytes: u64 = if total > INT_ROWS { 8 } else { 4 };
    // The digits follow a length byte, the time is aligned to eight bytes.
    let data_bytes = (id_bytes + 33).next_multiple_of(8) + 8;
    TableSize::new(Tuple { data_bytes }, id_bytes, rows, page_bytes, fillfactor)
}

/// Size of this many rows of `log` with both BRIN indexes.
pub fn log_size(rows: u64, page_bytes: u64, fillfactor: u32) -> TableSize {
    let tuple = Tuple { data_bytes: 8 * (NUMBERS as u64 + 2) };
    let heap = RelationSize::new(tuple.heap_pages_filled(rows, page_bytes, fillfactor), page_bytes);
    TableSize { heap, index: RelationSize::new(2 * brin_pages(heap.pages, page_bytes), page_bytes) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::PAGE_BYTES;

    const MAKERS: [&dyn RowGenerator; 2] = [&Test, &Log];

    fn of(seed: u64) -> Population {
        Population { seed, at_us: 0 }
    }

    fn text(generator: &dyn RowGenerator, seed: u64, part: Part) -> String {
        let mut out = Vec::new();
        generator.write(&of(seed), part, &mut out);
        String::from_utf8(out).expect("it is text")
    }

    /// Expected values from GNU tools: `printf 7/1 | md5sum`, `date -u -d @1475366400`.
    #[test]
    fn rows_are_what_they_were() {
        let first = Part { first: 0, end: 1 };
        assert_eq!(
            text(&Test, 7, first),
            "1\t47a002373460c38371ab473587b0c95f\t2016-10-02 00:00:00.000003\n"
        );
        assert_eq!(text(&Log, 7, first), "1\t2016-10-02 00:00:00.000003+00\n");
        let late = Part { first: 999_999_999_999, end: 1_000_000_000_000 };
        assert_eq!(text(&Log, 7, late), "1000000000000\t2016-11-05 17:20:00.000000+00\n");
    }

    #[test]
    fn another_seed_makes_other_digits() {
        let part = Part { first: 0, end: 100 };
        assert_ne!(text(&Test, 1, part), text(&Test, 2, part));
        let (one, other) = (Test.sums(&of(1), part), Test.sums(&of(2), part));
        assert_eq!((one.columns[0], one.columns[2]), (other.columns[0], other.columns[2]));
        assert_ne!(one.columns[1], other.columns[1]);
    }

    proptest! {
        /// Text and sums of all parts equal those of the whole, and those of single rows.
        #[test]
        fn parts_are_the_table(total in 1u64..3_000, parts in 1u64..20, seed: u64) {
            let whole = Part { first: 0, end: total };
            for generator in MAKERS {
                let (mut all, mut sums) = (String::new(), Sums::none(generator.columns().len()));
                for part in (0..parts).map(|k| Part::of(generator.units_at(total), k, parts)) {
                    all += &text(generator, seed, part);
                    sums += &generator.sums(&of(seed), part);
                }
                prop_assert_eq!(&all, &text(generator, seed, whole));
                prop_assert_eq!(sums, generator.sums(&of(seed), whole));
            }
            for (number, line) in (0..).zip(text(&Test, seed, whole).lines()) {
                let fields: Vec<_> = line.split('\t').collect();
                let info = Test::info(seed, number, &mut String::new());
                prop_assert_eq!(fields[0], id(number).to_string());
                prop_assert_eq!(fields[1].as_bytes(), info);
                let micros = format!(".{:06}", crt_time_us(number) % 1_000_000);
                prop_assert!(fields[2].ends_with(&micros), "{} {}", fields[2], micros);
            }
        }
    }

    /// An 8 KiB page holds 107 rows of `test` and 40 of `log`; a scenario compares with real servers.
    #[test]
    fn sizes_are_those_of_a_server() {
        assert_eq!(test_size(1_000_000, 1_000_000, PAGE_BYTES, 100).heap.bytes, 76_562_432);
        assert_eq!(log_size(0, PAGE_BYTES, 100).heap.bytes, 0);
        assert_eq!(log_size(39_000, PAGE_BYTES, 100).heap.pages, 975);
        assert_eq!((id_type(INT_ROWS), id_type(INT_ROWS + 1)), ("int", "bigint"));
    }
}
