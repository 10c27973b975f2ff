//! The four tables of TPC-B as `pgbench -i` fills them.
//!
//! After `initBranch`, `initTeller` and `initAccount` in PostgreSQL's `src/bin/pgbench/pgbench.c` (18): keys
//! ascend from 1, balances are 0; fillers of branches and tellers are NULL, those of accounts the empty string,
//! which `char(84)` pads with blanks. History begins empty. Nothing is random, so the seed has no effect.

use super::{
    Column, Kind, Part, Population, RowGenerator, Sums, TableRows,
    generator::{series, write_runs},
    mix,
    size::{TableSize, Tuple},
};

/// Branches for each unit of scale.
pub const BRANCHES_PER_SCALE: u64 = 1;
/// Tellers for each unit of scale.
pub const TELLERS_PER_SCALE: u64 = 10;
/// Accounts for each unit of scale.
pub const ACCOUNTS_PER_SCALE: u64 = 100_000;
/// Scale from which pgbench makes `aid` a bigint (`SCALE_32BIT_THRESHOLD`).
pub const BIGINT_SCALE: u64 = 20_000;

/// A row of `pgbench_branches`; the filler is NULL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Branch {
    /// Key, from 1.
    pub bid: i32,
    /// Balance, always 0.
    pub bbalance: i32,
}

/// A row of `pgbench_tellers`; the filler is NULL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Teller {
    /// Key, from 1.
    pub tid: i32,
    /// Branch of the teller; ten tellers each.
    pub bid: i32,
    /// Balance, always 0.
    pub tbalance: i32,
}

/// A row of `pgbench_accounts`; the filler is the empty string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    /// Key, from 1; beyond 32 bits from scale 21,475 on.
    pub aid: i64,
    /// Branch of the account; 100,000 accounts each.
    pub bid: i32,
    /// Balance, always 0.
    pub abalance: i32,
}

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
    fn row(number: u64) -> Branch {
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
    fn row(number: u64) -> Teller {
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
    fn row(number: u64) -> Account {
        Account { aid: (number + 1) as i64, bid: (number / ACCOUNTS_PER_SCALE + 1) as i32, abalance: 0 }
    }
}

const fn integer(name: &'static str) -> Column {
    Column { name, kind: Kind::Integer }
}

const FILLER: Column = Column { name: "filler", kind: Kind::Blanks };
/// Value of a NULL filler in checksums.
const NULL: i64 = -1;
/// Value of the blank filler of accounts in checksums.
const BLANKS: i64 = 84;

impl RowGenerator for Branches {
    fn table(&self) -> &'static str {
        <Self as TableRows>::NAME
    }

    fn columns(&self) -> &'static [Column] {
        const { &[integer("bid"), integer("bbalance"), FILLER] }
    }

    fn sent(&self) -> String {
        "bid, bbalance".to_owned()
    }

    fn query(&self, _: &Population, part: Part) -> Option<String> {
        series(part, "n, 0")
    }

    fn units_at(&self, scale: u64) -> u64 {
        <Self as TableRows>::total(scale)
    }

    fn write(&self, _: &Population, part: Part, out: &mut Vec<u8>) -> u64 {
        write_runs(part, u64::MAX, |_| "\t0\n".to_owned(), out)
    }

    fn sums(&self, _: &Population, part: Part) -> Sums {
        sums(part, |number| {
            let row = Self::row(number);
            [row.bid.into(), row.bbalance.into(), NULL]
        })
    }
}

impl RowGenerator for Tellers {
    fn table(&self) -> &'static str {
        <Self as TableRows>::NAME
    }

    fn columns(&self) -> &'static [Column] {
        const { &[integer("tid"), integer("bid"), integer("tbalance"), FILLER] }
    }

    fn sent(&self) -> String {
        "tid, bid, tbalance".to_owned()
    }

    fn query(&self, _: &Population, part: Part) -> Option<String> {
        series(part, &format!("n, (n - 1) / {TELLERS_PER_SCALE} + 1, 0"))
    }

    fn units_at(&self, scale: u64) -> u64 {
        <Self as TableRows>::total(scale)
    }

    fn write(&self, _: &Population, part: Part, out: &mut Vec<u8>) -> u64 {
        write_runs(part, TELLERS_PER_SCALE, |branch| format!("\t{}\t0\n", branch + 1), out)
    }

    fn sums(&self, _: &Population, part: Part) -> Sums {
        sums(part, |number| {
            let row = Self::row(number);
            [row.tid.into(), row.bid.into(), row.tbalance.into(), NULL]
        })
    }
}

impl RowGenerator for Accounts {
    fn table(&self) -> &'static str {
        <Self as TableRows>::NAME
    }

    fn columns(&self) -> &'static [Column] {
        const { &[integer("aid"), integer("bid"), integer("abalance"), FILLER] }
    }

    fn sent(&self) -> String {
        "aid, bid".to_owned()
    }

    /// The filler is empty in pgbench, too, and padded by the server in every row.
    fn constants(&self) -> &'static [(&'static str, &'static str)] {
        &[("abalance", "0"), ("filler", "''")]
    }

    fn query(&self, _: &Population, part: Part) -> Option<String> {
        series(part, &format!("n, (n - 1) / {ACCOUNTS_PER_SCALE} + 1"))
    }

    fn units_at(&self, scale: u64) -> u64 {
        <Self as TableRows>::total(scale)
    }

    fn write(&self, _: &Population, part: Part, out: &mut Vec<u8>) -> u64 {
        write_runs(part, ACCOUNTS_PER_SCALE, |branch| format!("\t{}\n", branch + 1), out)
    }

    fn sums(&self, _: &Population, part: Part) -> Sums {
        sums(part, |number| {
            let row = Self::row(number);
            [row.aid, row.bid.into(), row.abalance.into(), BLANKS]
        })
    }
}

impl RowGenerator for Histories {
    fn table(&self) -> &'static str {
        "pgbench_history"
    }

    /// A table without rows has a count but no checksum.
    fn columns(&self) -> &'static [Column] {
        &[]
    }

    fn sent(&self) -> String {
        "tid".to_owned()
    }

    fn query(&self, _: &Population, part: Part) -> Option<String> {
        series(part, "n")
    }

    fn units_at(&self, _: u64) -> u64 {
        0
    }

    fn write(&self, _: &Population, _: Part, _: &mut Vec<u8>) -> u64 {
        0
    }

    fn sums(&self, _: &Population, _: Part) -> Sums {
        Sums::none(0)
    }
}

/// Sums of rows by their numbers; the first value is the key.
fn sums<const N: usize>(part: Part, values: impl Fn(u64) -> [i64; N]) -> Sums {
    let mut columns = [0i128; N];
    for number in part.first..part.end {
        let values = values(number);
        for (column, value) in columns.iter_mut().zip(values) {
            *column += i128::from(mix(values[0], value));
        }
    }
    Sums { rows: part.rows(), columns: columns.to_vec() }
}

/// Number of rows of all four tables after the load.
pub fn rows_total(scale: u64) -> u64 {
    Branches::total(scale) + Tellers::total(scale) + Accounts::total(scale)
}

/// Size of the four tables and their primary keys after the load, without free space and visibility maps (less
/// than 1/4000).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizeEstimate {
    /// Size of `pgbench_branches`.
    pub branches: TableSize,
    /// Size of `pgbench_tellers`.
    pub tellers: TableSize,
    /// Size of `pgbench_accounts`.
    pub accounts: TableSize,
}

impl SizeEstimate {
    /// Size at a scale with pages of `page_bytes` (see [`super::PAGE_BYTES`]).
    pub fn new(scale: u64, page_bytes: u64) -> Self {
        Self::filled(scale, page_bytes, 100)
    }

    /// Size with a fill factor in per cent.
    pub fn filled(scale: u64, page_bytes: u64, fillfactor: u32) -> Self {
        let table =
            |tuple: Tuple, key_bytes, rows| TableSize::new(tuple, key_bytes, rows, page_bytes, fillfactor);
        Self {
            // int, int and a NULL
            branches: table(Tuple { data_bytes: 8 }, 4, Branches::total(scale)),
            // int, int, int and a NULL
            tellers: table(Tuple { data_bytes: 12 }, 4, Tellers::total(scale)),
            accounts: Self::accounts_of(scale, Accounts::total(scale), page_bytes, fillfactor),
        }
    }

    /// Size of this many accounts at a scale: all, or a partition.
    pub fn accounts_of(scale: u64, rows: u64, page_bytes: u64, fillfactor: u32) -> TableSize {
        let aid_bytes = aid_bytes(scale);
        // int or bigint, int, int, and 84 blanks behind a one-byte length
        TableSize::new(Tuple { data_bytes: aid_bytes + 8 + 85 }, aid_bytes, rows, page_bytes, fillfactor)
    }

    /// Bytes of the tables.
    pub fn heap_bytes(&self) -> u64 {
        self.tables().map(|table| table.heap.bytes).iter().sum()
    }

    /// Bytes of the primary keys.
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

/// Bytes of `pgbench_history` after `rows` inserts: three keys and a delta, a timestamp, and a NULL; no index.
pub fn history_bytes(scale: u64, rows: u64, page_bytes: u64) -> u64 {
    // The timestamp is aligned to 8 bytes, with four bytes of padding before it if aid is a bigint.
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
    use crate::{PAGE_BYTES, Part, rows};

    const NONE: Population = Population { seed: 0, at_us: 0 };

    proptest! {
        /// All parts together are the table: ends meet, sizes differ by at most one, sums of keys add up.
        #[test]
        fn parts_are_the_table(scale in 1u64..4, n in 1u64..60) {
            let total = Tellers::total(scale) ;
            let parts: Vec<_> = (0..n).map(|k| Part::of(total, k, n)).collect();
            prop_assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].first));
            prop_assert_eq!((parts[0].first, parts[parts.len() - 1].end), (0, total));
            let sizes = parts.iter().map(Part::rows);
            prop_assert!(sizes.clone().max().unwrap() - sizes.min().unwrap() <= 1);
            let joined: Vec<_> = parts.iter().flat_map(|&part| rows::<Tellers>(scale, part)).collect();
            let whole: Vec<_> = rows::<Tellers>(scale, Part { first: 0, end: u64::MAX }).collect();
            prop_assert_eq!(joined, whole);
        }

        /// Up to 10^13 rows the ends of neighbouring parts meet, and keys and branches correspond.
        #[test]
        fn parts_of_a_huge_table_meet(
            scale in 1u64..=100_000_000,
            n in 1u64..100_000,
            k in any::<prop::sample::Index>(),
        ) {
            let total = Accounts::total(scale);
            let part = Part::of(total, k.index(n as usize) as u64, n);
            let mut made = rows::<Accounts>(scale, part);
            prop_assert_eq!(made.size_hint(), (part.rows() as usize, Some(part.rows() as usize)));
            if let Some(first) = made.next() {
                prop_assert_eq!(first.aid, part.first as i64 + 1);
                prop_assert_eq!(i64::from(first.bid), (first.aid - 1) / 100_000 + 1);
                let last = Accounts::row(part.end - 1);
                prop_assert_eq!(last.aid, part.end as i64);
                prop_assert!(i64::from(last.bid) <= scale as i64);
            }
        }
    }

    #[test]
    fn the_last_rows_of_a_trillion_are_right() {
        let scale = 10_000_000;
        assert_eq!(rows_total(scale), 1_000_110_000_000);
        let last = rows::<Accounts>(scale, Part { first: 999_999_999_999, end: u64::MAX });
        let expected = Account { aid: 1_000_000_000_000, bid: 10_000_000, abalance: 0 };
        assert_eq!(last.collect::<Vec<_>>(), [expected]);
        assert_eq!(Tellers::row(99_999_999).tid, 100_000_000);
    }

    /// Text and sums of all parts equal those of single rows, in every table.
    #[test]
    fn makers_make_the_rows() {
        let whole = |scale: u64| {
            let tellers = rows::<Tellers>(scale, Part { first: 0, end: u64::MAX });
            let tellers: String =
                tellers.map(|row| format!("{}\t{}\t{}\n", row.tid, row.bid, row.tbalance)).collect();
            let accounts = rows::<Accounts>(scale, Part { first: 0, end: u64::MAX });
            let accounts: String = accounts.map(|row| format!("{}\t{}\n", row.aid, row.bid)).collect();
            [(1..=scale).map(|bid| format!("{bid}\t0\n")).collect(), tellers, accounts]
        };
        let makers: [&dyn RowGenerator; 3] = [&Branches, &Tellers, &Accounts];
        for (generator, expected) in makers.into_iter().zip(whole(2)) {
            let total = generator.units_at(2);
            let all = generator.sums(&NONE, Part { first: 0, end: total });
            assert_eq!((all.rows, all.columns.len()), (total, generator.columns().len()));
            let (mut text, mut sums) = (Vec::new(), Sums::none(generator.columns().len()));
            for part in (0..7).map(|k| Part::of(total, k, 7)) {
                generator.write(&NONE, part, &mut text);
                sums += &generator.sums(&NONE, part);
            }
            assert!(text == expected.as_bytes(), "{}", generator.table());
            assert_eq!(sums, all, "{}", generator.table());
        }
    }

    #[test]
    fn skipping_rows_is_counting_them() {
        let part = Part { first: 5, end: 12 };
        let mut made = rows::<Tellers>(2, part);
        assert_eq!(made.nth(3).map(|teller| teller.tid), Some(9));
        assert_eq!(made.nth(100), None);
        assert_eq!(made.next(), None);
    }

    /// Pages in PostgreSQL 15 after `pgbench -i` at scales 1 and 3, of 1000 rows of history, and the well-known
    /// 81,968 and 13,713 pages of scale 50.
    #[test]
    fn sizes_are_those_of_a_server() {
        let pages = |scale| {
            let accounts = SizeEstimate::new(scale, PAGE_BYTES).accounts;
            (accounts.heap.pages, accounts.index.pages)
        };
        assert_eq!((pages(1), pages(3)), ((1_640, 276), (4_919, 825)));
        let (heap, index) = pages(50);
        assert!(heap == 81_968 && index.abs_diff(13_713) <= 14, "{heap} {index}");
        let small = SizeEstimate::new(1, PAGE_BYTES);
        assert_eq!((small.branches.heap.pages, small.branches.index.pages), (1, 2));
        assert_eq!(history_bytes(1, 1_000, PAGE_BYTES), 7 * PAGE_BYTES);
    }
}
