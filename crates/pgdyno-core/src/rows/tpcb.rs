//! The four tables of TPC-B as `pgbench -i` fills them.
//!
//! From `initBranch`, `initTeller` and `initAccount` in PostgreSQL's `src/bin/pgbench/pgbench.c` (18): keys
//! ascend from 1, balances are 0; the filler of branches and tellers is NULL, that of accounts is the empty
//! string, which `char(84)` pads with blanks. History begins empty. None of it is random: the seed changes
//! nothing.

use super::{
    TableRows,
    size::{TableSize, Tuple},
};

/// Branches for each unit of scale.
pub const BRANCHES_PER_SCALE: u64 = 1;
/// Tellers for each unit of scale.
pub const TELLERS_PER_SCALE: u64 = 10;
/// Accounts for each unit of scale.
pub const ACCOUNTS_PER_SCALE: u64 = 100_000;
/// From this scale on pgbench makes `aid` a bigint (`SCALE_32BIT_THRESHOLD`).
pub const BIGINT_SCALE: u64 = 20_000;

/// A row of `pgbench_branches`; its filler is NULL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Branch {
    /// Key, from 1.
    pub bid: i32,
    /// Balance: 0.
    pub bbalance: i32,
}

/// A row of `pgbench_tellers`; its filler is NULL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Teller {
    /// Key, from 1.
    pub tid: i32,
    /// Branch: ten tellers each.
    pub bid: i32,
    /// Balance: 0.
    pub tbalance: i32,
}

/// A row of `pgbench_accounts`; its filler is the empty string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    /// Key, from 1; beyond 32 bits from scale 21,475 on.
    pub aid: i64,
    /// Branch: 100,000 accounts each.
    pub bid: i32,
    /// Balance: 0.
    pub abalance: i32,
}

/// A row of `pgbench_history`, of which there is none at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum History {}

/// The table `pgbench_branches`.
#[derive(Debug)]
pub struct Branches;
/// The table `pgbench_tellers`.
#[derive(Debug)]
pub struct Tellers;
/// The table `pgbench_accounts`.
#[derive(Debug)]
pub struct Accounts;
/// The table `pgbench_history`.
#[derive(Debug)]
pub struct Histories;

impl TableRows for Branches {
    type Row = Branch;
    const NAME: &'static str = "pgbench_branches";

    fn total(scale: u64) -> u64 {
        scale * BRANCHES_PER_SCALE
    }

    #[inline]
    fn row(_: u64, _: u64, number: u64) -> Branch {
        Branch { bid: (number + 1) as i32, bbalance: 0 }
    }
}

impl TableRows for Tellers {
    type Row = Teller;
    const NAME: &'static str = "pgbench_tellers";

    fn total(scale: u64) -> u64 {
        scale * TELLERS_PER_SCALE
    }

    #[inline]
    fn row(_: u64, _: u64, number: u64) -> Teller {
        Teller { tid: (number + 1) as i32, bid: (number / TELLERS_PER_SCALE + 1) as i32, tbalance: 0 }
    }
}

impl TableRows for Accounts {
    type Row = Account;
    const NAME: &'static str = "pgbench_accounts";

    fn total(scale: u64) -> u64 {
        scale * ACCOUNTS_PER_SCALE
    }

    #[inline]
    fn row(_: u64, _: u64, number: u64) -> Account {
        Account { aid: (number + 1) as i64, bid: (number / ACCOUNTS_PER_SCALE + 1) as i32, abalance: 0 }
    }
}

impl TableRows for Histories {
    type Row = History;
    const NAME: &'static str = "pgbench_history";

    fn total(_: u64) -> u64 {
        0
    }

    fn row(_: u64, _: u64, number: u64) -> History {
        unreachable!("history begins empty: it has no row {number}")
    }
}

/// Rows over all four tables after the load.
pub fn rows_total(scale: u64) -> u64 {
    Branches::total(scale) + Tellers::total(scale) + Accounts::total(scale)
}

/// The size of the four tables and their primary keys after the load, without vacuum's maps (less than
/// 1/4000).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizeEstimate {
    /// `pgbench_branches`.
    pub branches: TableSize,
    /// `pgbench_tellers`.
    pub tellers: TableSize,
    /// `pgbench_accounts`.
    pub accounts: TableSize,
}

impl SizeEstimate {
    /// The size at a scale with pages of `page_bytes` (see [`super::PAGE_BYTES`]), by the arithmetic of
    /// pages.
    pub fn of(scale: u64, page_bytes: u64) -> Self {
        let table = |tuple: Tuple, key_bytes, rows| TableSize::of(tuple, key_bytes, rows, page_bytes);
        let aid_bytes = aid_bytes(scale);
        Self {
            // int, int and a NULL
            branches: table(Tuple { data_bytes: 8 }, 4, Branches::total(scale)),
            // int, int, int and a NULL
            tellers: table(Tuple { data_bytes: 12 }, 4, Tellers::total(scale)),
            // int or bigint, int, int, and 84 blanks behind a one-byte length
            accounts: table(Tuple { data_bytes: aid_bytes + 8 + 85 }, aid_bytes, Accounts::total(scale)),
        }
    }

    /// Bytes of tables.
    pub fn heap_bytes(&self) -> u64 {
        self.tables().map(|table| table.heap.bytes).iter().sum()
    }

    /// Bytes of primary keys.
    pub fn index_bytes(&self) -> u64 {
        self.tables().map(|table| table.index.bytes).iter().sum()
    }

    /// Bytes of tables and primary keys.
    pub fn total_bytes(&self) -> u64 {
        self.heap_bytes() + self.index_bytes()
    }

    fn tables(&self) -> [TableSize; 3] {
        [self.branches, self.tellers, self.accounts]
    }
}

/// Bytes of `pgbench_history` after `rows` inserts: three keys and a delta, a timestamp, and a NULL; no
/// index.
pub fn history_bytes(scale: u64, rows: u64, page_bytes: u64) -> u64 {
    // The timestamp is aligned to 8 bytes; with a bigint aid four bytes of padding come before it.
    let before_time: u64 = if aid_bytes(scale) == 4 { 16 } else { 24 };
    Tuple { data_bytes: before_time + 8 }.heap_pages(rows, page_bytes) * page_bytes
}

fn aid_bytes(scale: u64) -> u64 {
    if scale >= BIGINT_SCALE { 8 } else { 4 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::rows::{PAGE_BYTES, Part, rows};

    proptest! {
        /// All parts together are the table: ends meet, sizes differ by one at most, sums of keys add up.
        #[test]
        fn parts_are_the_table(scale in 1u64..4, n in 1u64..60) {
            let total = Tellers::total(scale) ;
            let parts: Vec<_> = (0..n).map(|k| Part::of(total, k, n)).collect();
            prop_assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].first));
            prop_assert_eq!((parts[0].first, parts[parts.len() - 1].end), (0, total));
            let sizes = parts.iter().map(Part::rows);
            prop_assert!(sizes.clone().max().unwrap() - sizes.min().unwrap() <= 1);
            let joined: Vec<_> = parts.iter().flat_map(|&part| rows::<Tellers>(scale, 0, part)).collect();
            let whole: Vec<_> = rows::<Tellers>(scale, 9, Part { first: 0, end: u64::MAX }).collect();
            prop_assert_eq!(joined, whole);
        }

        /// At any size up to 10^13 rows the ends of neighbouring parts meet, and keys and branches fit
        /// together.
        #[test]
        fn parts_of_a_huge_table_meet(
            scale in 1u64..=100_000_000,
            n in 1u64..100_000,
            k in any::<prop::sample::Index>(),
        ) {
            let total = Accounts::total(scale);
            let part = Part::of(total, k.index(n as usize) as u64, n);
            let mut made = rows::<Accounts>(scale, 0, part);
            prop_assert_eq!(made.size_hint(), (part.rows() as usize, Some(part.rows() as usize)));
            if let Some(first) = made.next() {
                prop_assert_eq!(first.aid, part.first as i64 + 1);
                prop_assert_eq!(i64::from(first.bid), (first.aid - 1) / 100_000 + 1);
                let last = Accounts::row(scale, 0, part.end - 1);
                prop_assert_eq!(last.aid, part.end as i64);
                prop_assert!(i64::from(last.bid) <= scale as i64);
            }
        }
    }

    #[test]
    fn the_last_rows_of_a_trillion_are_right() {
        let scale = 10_000_000;
        assert_eq!(rows_total(scale), 1_000_110_000_000);
        let last = rows::<Accounts>(scale, 0, Part { first: 999_999_999_999, end: u64::MAX });
        let expected = Account { aid: 1_000_000_000_000, bid: 10_000_000, abalance: 0 };
        assert_eq!(last.collect::<Vec<_>>(), [expected]);
        assert_eq!(Tellers::row(scale, 0, 99_999_999).tid, 100_000_000);
    }

    #[test]
    fn skipping_rows_is_counting_them() {
        let part = Part { first: 5, end: 12 };
        let mut made = rows::<Tellers>(2, 0, part);
        assert_eq!(made.nth(3).map(|teller| teller.tid), Some(9));
        assert_eq!(made.nth(100), None);
        assert_eq!(made.next(), None);
    }

    /// Pages that PostgreSQL 15 shows after `pgbench -i` at scales 1 and 3, of 1000 rows of history, and the
    /// well-known 81,968 and 13,713 pages of scale 50.
    #[test]
    fn sizes_are_those_of_a_server() {
        let pages = |scale| {
            let accounts = SizeEstimate::of(scale, PAGE_BYTES).accounts;
            (accounts.heap.pages, accounts.index.pages)
        };
        assert_eq!((pages(1), pages(3)), ((1_640, 276), (4_919, 825)));
        let (heap, index) = pages(50);
        assert!(heap == 81_968 && index.abs_diff(13_713) <= 14, "{heap} {index}");
        let small = SizeEstimate::of(1, PAGE_BYTES);
        assert_eq!((small.branches.heap.pages, small.branches.index.pages), (1, 2));
        assert_eq!(history_bytes(1, 1_000, PAGE_BYTES), 7 * PAGE_BYTES);
    }
}
