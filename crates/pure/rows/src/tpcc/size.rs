//! Sizes of the TPC-C tables.

use super::{Population, table::Table};
use crate::{
    BtreeSize, Part,
    size::{RelationSize, TableSize, mixed_heap_pages},
};

/// Units sampled to estimate the length of rows.
const SAMPLE: u64 = 300;

/// Bytes of an `int` in a key.
const INT_BYTES: u64 = 4;
/// Mean bytes of a customer's last and first name in a key, including their lengths.
const NAMES_BYTES: u64 = 25;

impl Table {
    /// Mean number of rows in this many units: an order has ten lines.
    pub fn rows_of(self, units: u64) -> u64 {
        if self == Self::OrderLine { units * 10 } else { units }
    }

    /// Size of this many units with indexes, from the arithmetic of pages and a sample of rows: within 2 %,
    /// indexes within 4 %.
    pub fn size(self, units: u64, page_bytes: u64, fillfactor: u32) -> TableSize {
        let (rows, tuple_bytes) = (self.rows_of(units), self.tuple_bytes());
        let heap = mixed_heap_pages(rows, tuple_bytes, page_bytes, fillfactor);
        let keys = self.key_bytes().into_iter().chain(self.index_bytes());
        let index = keys.map(|key_bytes| BtreeSize::new(key_bytes, rows, page_bytes).pages).sum();
        TableSize { heap: RelationSize::new(heap, page_bytes), index: RelationSize::new(index, page_bytes) }
    }

    /// Mean bytes of a row in a page, over a warehouse.
    fn tuple_bytes(self) -> f64 {
        let (total, population) = (self.units(1), Population::default());
        let sample = SAMPLE.min(total);
        let (mut bytes, mut rows) = (0, 0);
        for first in (0..sample).map(|number| Part::of(total, number, sample).first) {
            self.each(&population, Part { first, end: first + 1 }, &mut |_, row| {
                bytes += row.tuple_bytes();
                rows += 1;
            });
        }
        bytes as f64 / f64::from(rows)
    }

    /// Bytes of a primary key; `None` for history, which has none.
    pub fn key_bytes(self) -> Option<u64> {
        self.key().map(|key| INT_BYTES * key.split(',').count() as u64)
    }

    fn index_bytes(self) -> Option<u64> {
        let columns = self.index()?.split(',').count() as u64;
        let names = if self == Self::Customer { NAMES_BYTES - 2 * INT_BYTES } else { 0 };
        Some(INT_BYTES * columns + names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PAGE_BYTES;

    /// Pages of tables and indexes in PostgreSQL 18 with two warehouses.
    #[test]
    fn sizes_are_those_of_a_server() {
        let known = [
            (Table::Warehouse, 1, 2),
            (Table::District, 1, 2),
            (Table::Customer, 4_567, 646),
            (Table::History, 648, 0),
            (Table::NewOrder, 98, 71),
            (Table::Orders, 483, 468),
            (Table::OrderLine, 7_003, 2_316),
            (Table::Item, 1_300, 276),
            (Table::Stock, 8_696, 551),
        ];
        for (table, heap, index) in known {
            let size = table.size(table.units(2), PAGE_BYTES, 100);
            let near = |is: u64, known: u64, by: f64| is.abs_diff(known) as f64 <= 1.0 + by * known as f64;
            let (heaps, indexes) = (near(size.heap.pages, heap, 0.02), near(size.index.pages, index, 0.04));
            assert!(heaps && indexes, "{table:?}: {size:?}");
        }
    }
}
