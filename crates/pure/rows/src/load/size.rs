//! Estimates pages, bytes, WAL and temporary files of a load, and checks limits.

use pgdyno_core::{problem::Problem, units};

use super::{LoadPlan, Table, Way, keys::SORT_MEMORY_BYTES};
use crate::{
    RelationSize, TableSize,
    scaleup::{log_size, test_size},
    tpcb::SizeEstimate,
};

/// Most pages of a relation: block numbers range from 0 to `MaxBlockNumber`, 2^32 - 2, since the highest of 32
/// bits means "none".
pub const MAX_PAGES: u64 = (1 << 32) - 1;

/// Bytes of a key in an external sort: its index tuple of 16 and the length before it (`tuplesortvariants.c`).
/// By that figure 10^12 keys of article 004 filled 19 TB.
const SORT_FILE_BYTES: u64 = 20;

/// Server facts that determine sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizingFacts {
    /// Bytes of a page (`block_size`).
    pub page_bytes: u64,
    /// Whether `wal_level` is minimal, in which case changes to relations created in the same transaction are
    /// not logged.
    pub wal_minimal: bool,
    /// Memory of one sort, in bytes.
    pub maintenance_bytes: u64,
    /// Parallel workers of one sort (`max_parallel_maintenance_workers`); 0 if the server has none.
    pub workers: u64,
    /// Number of streams, which is also the number of keys built at the same time.
    pub streams: u64,
}

/// Estimated size of a load, from the arithmetic of pages; excludes the free space and visibility maps (less
/// than 1/4000).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    /// Size of the main table with all partitions.
    pub main: TableSize,
    /// Size of the other tables.
    pub others: TableSize,
    /// Table with the largest relation: itself or a partition.
    largest: Table,
    /// Pages of the largest relation.
    pub largest_pages: u64,
    /// Most bytes of WAL written during the load; the server keeps less at any time.
    pub wal_bytes: u64,
    /// Most bytes of temporary files while keys are built, at any time.
    pub temp_bytes: u64,
}

/// Size of a table of a plan, and how it is split into partitions.
struct Stored {
    table: Table,
    whole: TableSize,
    part: TableSize,
    /// Rows of the largest partition, and the number of partitions.
    part_rows: u64,
    parts: u64,
}

impl Stored {
    fn new(table: Table, plan: &LoadPlan, page_bytes: u64) -> Self {
        let can = plan.set.spread().contains(&table);
        let parts = plan.partitions.filter(|_| can).map_or(1, |partitions| partitions.count);
        let (units, grain) = (plan.units(table), table.grain());
        let part_units = ((units / grain).div_ceil(parts) * grain).max(1);
        let (part, full) = (size(table, plan, part_units, page_bytes), units / part_units);
        let left = units % part_units;
        let rest = size(table, plan, left, page_bytes).times(u64::from(left > 0));
        let part_rows = table.rows_of(part_units);
        Self { table, whole: part.times(full).and(rest), part, part_rows, parts }
    }

    fn pages(&self) -> u64 {
        self.part.heap.pages.max(self.part.index.pages)
    }
}

/// Size of this many units of a plan's table.
fn size(table: Table, plan: &LoadPlan, units: u64, page_bytes: u64) -> TableSize {
    let fillfactor = plan.fillfactor_of(table);
    // These tables are never partitioned.
    let small = || SizeEstimate::filled(plan.scale, page_bytes, fillfactor);
    match table {
        Table::Accounts => SizeEstimate::accounts_of(plan.scale, units, page_bytes, fillfactor),
        Table::Branches => small().branches,
        Table::Tellers => small().tellers,
        Table::Test => test_size(plan.units(table), units, page_bytes, fillfactor),
        Table::Log => log_size(units, page_bytes, fillfactor),
        Table::Tpcc(table) => table.size(units, page_bytes, fillfactor),
        Table::History => NOTHING,
    }
}

impl Estimate {
    /// Estimates a plan on a server.
    pub fn new(plan: &LoadPlan, need: &SizingFacts) -> Self {
        let tables = plan.set.tables().iter().map(|table| Stored::new(*table, plan, need.page_bytes));
        let tables: Vec<_> = tables.collect();
        let sum = |main: bool| {
            let of = tables.iter().filter(|stored| (stored.table == plan.set.main()) == main);
            of.fold(NOTHING, |sum, stored| sum.and(stored.whole))
        };
        let (main, others) = (sum(true), sum(false));
        let heap = main.heap.bytes + others.heap.bytes;
        let twice = match plan.way {
            Way::Stream if plan.log_chunks => others.heap.bytes,
            Way::Stream => 0,
            Way::Chunks | Way::Server => heap,
        };
        let largest = tables.iter().max_by_key(|stored| stored.pages());
        Self {
            main,
            others,
            largest: largest.map_or(plan.set.main(), |stored| stored.table),
            largest_pages: largest.map_or(0, Stored::pages),
            wal_bytes: wal_bytes(plan, need, (heap, twice), main.index.bytes + others.index.bytes),
            temp_bytes: temp_bytes(plan, &tables, need),
        }
    }

    /// Bytes of tables and keys after the load.
    pub fn total_bytes(&self) -> u64 {
        let tables = [self.main, self.others];
        tables.iter().map(|table| table.heap.bytes + table.index.bytes).sum()
    }

    /// Checks that no relation exceeds PostgreSQL's limit of pages.
    ///
    /// # Errors
    /// The relation that exceeds the limit, and what to do.
    pub fn check_limits(&self, plan: &LoadPlan, page_bytes: u64) -> Result<(), Problem> {
        if self.largest_pages <= MAX_PAGES {
            return Ok(());
        }
        let name = self.largest.generator().table();
        let parts = plan.partitions.map_or(1, |partitions| partitions.count);
        let more = format!("--partitions {} or more", (self.largest_pages * parts).div_ceil(MAX_PAGES));
        let (table, fewer) = match plan.partitions {
            // The only unpartitioned table that can be as large.
            _ if self.largest == Table::Log => (name.to_owned(), "fewer --log-rows".to_owned()),
            None => (name.to_owned(), more),
            Some(_) => (format!("a partition of {name}"), more),
        };
        let pages = units::count(self.largest_pages);
        let what = format!("could not load: {table} would have {pages} pages");
        let (most, most_bytes) = (units::count(MAX_PAGES), units::bytes(MAX_PAGES * page_bytes));
        Err(Problem::wrong_request(what)
            .detail(format!("PostgreSQL allows at most {most} pages in a table, here {most_bytes}"))
            .hint(format!("use {fewer}, or a server with larger pages (`pgdyno build`)")))
    }
}

const NOTHING: TableSize = {
    let none = RelationSize { pages: 0, bytes: 0 };
    TableSize { heap: none, index: none }
};

/// Temporary space for the largest sorts, one for each stream; small tables are negligible.
fn temp_bytes(plan: &LoadPlan, tables: &[Stored], need: &SizingFacts) -> u64 {
    let streams = need.streams.max(1);
    let sorted = |stored: &&Stored| plan.set.spread().contains(&stored.table) && stored.table.key().is_some();
    let sorts = tables.iter().filter(sorted).flat_map(|stored| {
        std::iter::repeat_n(sort_bytes(stored.part_rows, need), stored.parts.min(streams) as usize)
    });
    let mut sorts: Vec<_> = sorts.collect();
    sorts.sort_unstable_by(|a, b| b.cmp(a));
    sorts.iter().take(streams as usize).sum()
}

/// WAL for rows, for full pages again if VACUUM freezes rows of other transactions (`twice`), and for keys.
fn wal_bytes(plan: &LoadPlan, need: &SizingFacts, (heap, twice): (u64, u64), index: u64) -> u64 {
    match (plan.unlogged, need.wal_minimal) {
        (true, _) => 0,
        (_, true) => 2 * twice,
        (_, false) => heap + twice + index,
    }
}

/// Parallel workers pass their keys on in files, whatever the memory (`worker_freeze_result_tape` of `tuplesort.c`).
fn sort_bytes(rows: u64, need: &SizingFacts) -> u64 {
    let files = need.workers > 0 || rows * SORT_MEMORY_BYTES > need.maintenance_bytes;
    if files { rows * SORT_FILE_BYTES } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{LoadRequest, Set};

    fn estimate(scale: u64, partitions: u64, page_bytes: u64) -> (LoadPlan, Estimate) {
        let request =
            LoadRequest { scale: Some(scale), partitions: Some(partitions), ..LoadRequest::default() };
        let plan = request.plan(64).expect("it can be");
        let need = SizingFacts {
            page_bytes,
            wal_minimal: false,
            maintenance_bytes: 2 << 30,
            workers: 0,
            streams: 1,
        };
        let estimate = Estimate::new(&plan, &need);
        (plan, estimate)
    }

    fn near(bytes: u64, published: f64, unit: u32) {
        let ratio = bytes as f64 / f64::from(2u32).powi(unit as i32) / published;
        assert!((ratio - 1.0).abs() < 0.02, "{bytes} bytes are {ratio} of what was published");
    }

    /// Sizes from the articles: 10^10 rows with 8 KiB pages (article 003), 10^12 with 32 KiB (article 004), in
    /// the binary units of `\dt+`. 10^9 rows are a tenth of 10^10.
    #[test]
    fn sizes_are_those_of_the_articles() {
        let (_, at) = estimate(100_000, 0, 8_192);
        near(at.main.heap.bytes, 1_251.0, 30);
        near(at.main.index.bytes, 209.0, 30);
        let (_, at) = estimate(10_000_000, 0, 32_768);
        near(at.main.heap.bytes, 120.0, 40);
        near(at.main.index.bytes, 20.0, 40);
        assert_eq!(at.temp_bytes.div_ceil(1 << 40), 19, "as `du -h` shows it, which rounds up");
        let (_, at) = estimate(10_000, 0, 8_192);
        near(at.main.heap.bytes, 125.1, 30);
        near(at.main.index.bytes, 20.9, 30);
    }

    /// 10^12 rows need 122 TiB in 8 KiB pages, but a table is limited to 32 TiB.
    #[test]
    fn a_table_beyond_its_pages_is_refused() {
        let (plan, at) = estimate(10_000_000, 0, 8_192);
        let problem = at.check_limits(&plan, 8_192).expect_err("it is too large");
        assert!(problem.hint.is_some_and(|hint| hint.starts_with("use --partitions 4 or more")));
        for (scale, partitions, page_bytes) in
            [(10_000_000, 4, 8_192), (10_000_000, 0, 32_768), (2_000_000, 0, 8_192)]
        {
            let (plan, at) = estimate(scale, partitions, page_bytes);
            assert_eq!(at.check_limits(&plan, page_bytes), Ok(()), "{scale}");
        }
    }

    /// The hint for `log`, which has no partitions, does not suggest any.
    #[test]
    fn the_table_that_is_too_large_is_named() {
        let need = SizingFacts {
            page_bytes: 8_192,
            wal_minimal: false,
            maintenance_bytes: 1 << 30,
            workers: 0,
            streams: 1,
        };
        for (rows, log_rows, said, hint) in [
            (1, 200_000_000_000, "log would have ", "use fewer --log-rows, or a server with larger pages"),
            (1_000_000_000_000, 1, "test would have ", "use --partitions 3 or more, or a server"),
        ] {
            let request = LoadRequest {
                set: Set::Scaleup,
                scale: Some(rows),
                log_rows: Some(log_rows),
                ..LoadRequest::default()
            };
            let plan = request.plan(1).expect("it can be");
            let problem =
                Estimate::new(&plan, &need).check_limits(&plan, 8_192).expect_err("it is too large");
            assert!(problem.what.contains(said), "{problem}");
            assert!(problem.hint.as_ref().is_some_and(|said| said.starts_with(hint)), "{:?}", problem.hint);
        }
    }

    #[test]
    fn parts_together_are_little_more_than_the_whole() {
        let (_, whole) = estimate(100, 0, 8_192);
        let (_, parts) = estimate(100, 7, 8_192);
        let (whole, parts) = (whole.main.heap.pages, parts.main.heap.pages);
        assert!(parts >= whole && parts <= whole + 7, "{whole} {parts}");
    }

    #[test]
    fn the_other_set_is_measured_too() {
        let request = LoadRequest {
            set: Set::Scaleup,
            scale: Some(1_000_000),
            log_rows: Some(400_000),
            partitions: Some(4),
            ..LoadRequest::default()
        };
        let at = Estimate::new(&request.plan(2).expect("it can be"), &in_memory(false));
        assert_eq!(at.main.heap.pages, 4 * 250_000u64.div_ceil(107));
        assert!(at.others.heap.bytes == 10_000 * 8_192 && at.largest_pages == 10_000, "{at:?}");
        let empty = LoadRequest { scale: Some(0), partitions: None, log_rows: None, ..request };
        let at = Estimate::new(&empty.plan(2).expect("it can be"), &in_memory(false));
        assert_eq!(at.main.heap.pages, 0);
    }

    fn in_memory(wal_minimal: bool) -> SizingFacts {
        SizingFacts { page_bytes: 8_192, wal_minimal, maintenance_bytes: 1 << 40, workers: 0, streams: 2 }
    }

    #[test]
    fn parallel_workers_need_files_even_where_memory_is_enough() {
        let plan = LoadRequest { scale: Some(100), ..LoadRequest::default() }.plan(2).expect("it can be");
        let temp = |workers| Estimate::new(&plan, &SizingFacts { workers, ..in_memory(false) }).temp_bytes;
        assert_eq!((temp(0), temp(1), temp(7)), (0, 200_000_000, 200_000_000));
    }

    #[test]
    fn what_is_frozen_at_once_needs_less_wal() {
        let wal = |way, unlogged, wal_minimal| {
            let request =
                LoadRequest { scale: Some(100), method: Some(way), unlogged, ..LoadRequest::default() };
            Estimate::new(&request.plan(2).expect("it can be"), &in_memory(wal_minimal)).wal_bytes
        };
        assert!(wal(Way::Stream, false, false) < wal(Way::Chunks, false, false));
        assert_eq!((wal(Way::Stream, false, true), wal(Way::Chunks, true, false)), (0, 0));
        let of_log = |log_chunks| {
            let request = LoadRequest {
                set: Set::Scaleup,
                scale: Some(1),
                log_rows: Some(400_000),
                partitions: Some(1),
                ..LoadRequest::default()
            };
            let plan = LoadPlan { log_chunks, ..request.plan(1).expect("it can be") };
            Estimate::new(&plan, &in_memory(false)).wal_bytes
        };
        assert_eq!(of_log(true) - of_log(false), 10_000 * 8_192, "40 rows a page, all frozen by VACUUM");
    }
}
