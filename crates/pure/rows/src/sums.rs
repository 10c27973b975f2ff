//! Checksums of tables, independent of row order, computed alike here and by any server.
//!
//! Every column has the sum of [`mix`]`(key, value)` over all rows. Including the key reveals swapped values,
//! and a duplicate row in place of a missing one. Only documented bigint operators are used, which mean the
//! same in every server from 9.6 on, unlike the server's hash functions, which may change; sums are exact. An
//! accidental error goes undetected with a probability of about 2^-31.
//!
//! A table with many columns has a single sum instead: of 64 bits of each row's MD5.

use std::ops::AddAssign;

/// Primes of 32 bits that keys and values are reduced by; none is next to a power of two, where faults of programs lie.
const KEYS: i64 = 4_123_456_787;
const VALUES: i64 = 4_087_654_331;
/// Odd factors without a pattern, small enough that no sum of the products reaches 2^63.
const KEY: i64 = 1_043_876_567;
const VALUE: i64 = 873_456_329;
/// A prime below 2^31 that the sum of the products is reduced by, and an offset that makes the result positive.
const FOLD: i64 = 2_147_483_629;
const OFFSET: i64 = 1 << 32;
/// The largest prime below 2^63. Its remainder makes the result non-linear, and names its operand once, so that the
/// server evaluates a column once.
const DIVIDED: i64 = 9_223_372_036_854_775_783;

/// Conversion of a column's value to a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `int` or `bigint`: the value itself.
    Integer,
    /// `char(n)` with blanks only or NULL: length in bytes, 0 for any other content, -1 for NULL.
    Blanks,
    /// `text`: the first 64 bits of the MD5 of its bytes; NULL is left out.
    Text,
    /// `timestamp` or `timestamptz`: microseconds since 1970; NULL is left out.
    Time,
}

/// A column with a checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Name of the column.
    pub name: &'static str,
    /// How values become numbers.
    pub kind: Kind,
}

/// An aggregate for the server to compute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Column of the checksum; `None` if it covers all columns.
    pub column: Option<&'static str>,
    /// SQL expression of the checksum within an aggregate query.
    pub sql: String,
}

impl Check {
    /// A checksum of whole rows: the sum of the first 64 bits of the MD5 of `text`, an SQL expression that
    /// includes the key.
    pub(super) fn of_rows(text: &str) -> Self {
        Self { column: None, sql: format!("sum({})", text_value(text)) }
    }
}

/// SQL for the number that represents a text in checksums.
fn text_value(text: &str) -> String {
    format!("('x' || substr(pg_catalog.md5({text}), 1, 16))::bit(64)::bigint")
}

impl Column {
    /// The aggregate of this column, mixed with the key.
    pub(super) fn check(&self, key: &str) -> Check {
        let key = format!("{key}::bigint");
        let value = match self.kind {
            Kind::Integer => format!("{}::bigint", self.name),
            Kind::Blanks => {
                let name = self.name;
                format!("coalesce(({name} = '')::int * octet_length({name}), -1)::bigint")
            }
            Kind::Text => text_value(self.name),
            // Before version 14 the epoch is a double, which is exact to microseconds until the year 2242.
            Kind::Time => format!("(extract(epoch FROM {}) * 1000000)::bigint", self.name),
        };
        let sql = format!(
            "sum({DIVIDED} % (({key} % {KEYS} * {KEY} + {value} % {VALUES} * {VALUE}) % {FOLD} + {OFFSET}))"
        );
        Check { column: Some(self.name), sql }
    }
}

/// Contribution of a value to its column's checksum, from 0 to 2^33.
#[inline]
pub const fn mix(key: i64, value: i64) -> i64 {
    DIVIDED % ((key % KEYS * KEY + value % VALUES * VALUE) % FOLD + OFFSET)
}

/// Number of rows, and checksums of all columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sums {
    /// Number of rows.
    pub rows: u64,
    /// Checksums, in the order of the table's checks.
    pub columns: Vec<i128>,
}

impl Sums {
    /// Sums of an empty part.
    pub fn none(columns: usize) -> Self {
        Self { rows: 0, columns: vec![0; columns] }
    }
}

/// Adds the sums of a disjoint part.
impl AddAssign<&Self> for Sums {
    fn add_assign(&mut self, other: &Self) {
        self.rows += other.rows;
        for (column, more) in self.columns.iter_mut().zip(&other.columns) {
            *column += more;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_ends_of_bigint_do_not_overflow() {
        for key in [i64::MIN, -1, 0, i64::MAX] {
            for value in [i64::MIN, -1, 0, i64::MAX] {
                assert!((0..1 << 33).contains(&mix(key, value)));
            }
        }
    }

    proptest! {
        /// A row twice in place of another, as a repeated load would leave.
        #[test]
        fn a_row_in_place_of_another_is_seen(key in 1i64..1 << 44, by in 1i64..1 << 44) {
            prop_assert_ne!(mix(key, key), mix(key + by, key + by));
        }

        /// Rows whose keys have the same sum: of four evenly spaced keys, the outer two against the inner two.
        #[test]
        fn pairs_of_equal_sum_are_distinguished(key in 1i64..1 << 44, by in 1i64..1 << 30) {
            let sum = |a: i64, b: i64| mix(a, a) + mix(b, b);
            prop_assert_ne!(sum(key, key + 3 * by), sum(key + by, key + 2 * by));
        }

        /// Two rows with swapped values.
        #[test]
        fn values_that_changed_places_are_seen(key in 1i64..1 << 44, by in 1i64..1 << 30, value in 0i64..1 << 31) {
            let sum = |first: i64, second: i64| mix(key, first) + mix(key + by, second);
            prop_assert_ne!(sum(value, value + 1), sum(value + 1, value));
        }
    }
}
