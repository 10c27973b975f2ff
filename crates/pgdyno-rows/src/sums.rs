//! Checksums of a table that do not depend on the order of its rows, made here and by any server alike.
//!
//! Every column has a sum over all rows of [`mix`]`(key, value)`. The key is in it, so that values that changed places
//! are seen, and so is a row that is there twice while another is missing. It is bigint arithmetic by documented
//! operators that mean the same in every server from 9.6 on, unlike the server's own hash functions, which nobody
//! promises to keep; the sums are exact. An error that is not made on purpose passes with a chance of about 1 in 2^31.
//!
//! A table of many columns has one sum of all of them instead: that of 64 bits of each row's MD5.

use std::ops::AddAssign;

/// A prime below 2^31: what is longer is folded by it.
const FOLD: i64 = 2_147_483_647;
/// Another one: results are smaller.
const MODULUS: i64 = 2_147_483_629;
/// Odd numbers without a pattern, small enough that no sum of the products reaches 2^63.
const KEY: i64 = 1_043_876_567;
const KEY_HIGH: i64 = 212_340_971;
const VALUE: i64 = 873_456_329;
const VALUE_HIGH: i64 = 198_491_317;
const START: i64 = 716_892_053;
/// By so much the product is moved onto itself.
const SHIFT: u32 = 29;

/// How a column's value becomes a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `int` or `bigint`: its value.
    Integer,
    /// `char(n)` that holds blanks alone or NULL: its bytes, 0 where it holds anything else, -1 where it is NULL.
    Blanks,
    /// `text`: the first 64 bits of the MD5 of its bytes. Of NULL nothing is summed.
    Text,
    /// `timestamp` or `timestamptz`: microseconds since 1970. Of NULL nothing is summed.
    Time,
}

/// A column of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// How its value becomes a number.
    pub kind: Kind,
}

/// What the server sums.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// The column; `None` where it is all of them.
    pub column: Option<&'static str>,
    /// The SQL that gives the checksum within an aggregate query.
    pub sql: String,
}

impl Check {
    /// The check of rows as a whole: `text` is SQL that makes a text of a row in which its key is. Summed are the first
    /// 64 bits of its MD5.
    pub(super) fn of_rows(text: &str) -> Self {
        Self { column: None, sql: format!("sum({})", text_value(text)) }
    }
}

/// The number that a text counts as, in SQL.
fn text_value(text: &str) -> String {
    format!("('x' || substr(pg_catalog.md5({text}), 1, 16))::bit(64)::bigint")
}

impl Column {
    /// What the server sums of it, mixed with the key.
    pub(super) fn check(&self, key: &str) -> Check {
        let key = format!("{key}::bigint");
        let value = match self.kind {
            Kind::Integer => format!("{}::bigint", self.name),
            Kind::Blanks => {
                let name = self.name;
                format!("coalesce(({name} = '')::int * octet_length({name}), -1)::bigint")
            }
            Kind::Text => text_value(self.name),
            // Before 14 the epoch is a double, which holds microseconds until the year 2242.
            Kind::Time => format!("(extract(epoch FROM {}) * 1000000)::bigint", self.name),
        };
        let x = format!(
            "({key} % {FOLD} * {KEY} + {key} / {FOLD} * {KEY_HIGH} \
             + {value} % {FOLD} * {VALUE} + {value} / {FOLD} * {VALUE_HIGH} + {START})"
        );
        Check { column: Some(self.name), sql: format!("sum(({x} # ({x} >> {SHIFT})) % {MODULUS})") }
    }
}

/// What a value adds to its column's checksum, from `-(2^31)` to `2^31`.
#[inline]
pub const fn mix(key: i64, value: i64) -> i64 {
    let x =
        key % FOLD * KEY + key / FOLD * KEY_HIGH + value % FOLD * VALUE + value / FOLD * VALUE_HIGH + START;
    (x ^ (x >> SHIFT)) % MODULUS
}

/// Number of rows and checksums of all columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sums {
    /// Rows.
    pub rows: u64,
    /// One for each of the table's checks, in their order.
    pub columns: Vec<i128>,
}

impl Sums {
    /// Those of no rows.
    pub fn none(columns: usize) -> Self {
        Self { rows: 0, columns: vec![0; columns] }
    }
}

/// Sums of two parts without a row in common are those of both.
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
                assert!(mix(key, value).abs() < MODULUS);
            }
        }
    }

    proptest! {
        /// A row twice in place of another: what a load done again would leave.
        #[test]
        fn a_row_in_place_of_another_is_seen(key in 1i64..1 << 44, by in 1i64..1 << 44) {
            prop_assert_ne!(mix(key, key), mix(key + by, key + by));
        }

        /// Rows whose keys have the same sum are no substitute: four keys that are evenly spaced, the outer two against
        /// the inner two.
        #[test]
        fn pairs_of_equal_sum_are_told_apart(key in 1i64..1 << 44, by in 1i64..1 << 30) {
            let sum = |a: i64, b: i64| mix(a, a) + mix(b, b);
            prop_assert_ne!(sum(key, key + 3 * by), sum(key + by, key + 2 * by));
        }

        /// Two rows whose values changed places.
        #[test]
        fn values_that_changed_places_are_seen(key in 1i64..1 << 44, by in 1i64..1 << 30, value in 0i64..1 << 31) {
            let sum = |first: i64, second: i64| mix(key, first) + mix(key + by, second);
            prop_assert_ne!(sum(value, value + 1), sum(value + 1, value));
        }
    }
}
