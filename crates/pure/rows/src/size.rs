//! Computes the pages that rows fill (PostgreSQL manual, "Database Physical Storage"; `bufpage.h`, `nbtree.h`).

/// PostgreSQL's default page size in bytes.
pub const PAGE_BYTES: u64 = 8_192;

/// Bytes of a page header.
const HEADER: u64 = 24;
/// Bytes of a tuple's line pointer.
const LINE_POINTER: u64 = 4;
/// Bytes of a tuple header with padding, which has room for a null bitmap of up to eight columns.
const TUPLE_HEADER: u64 = 24;
/// Bytes of an index tuple's header.
const INDEX_TUPLE_HEADER: u64 = 8;
/// Bytes of special space at the end of a B-tree page.
const BTREE_SPECIAL: u64 = 16;
/// Per cent to which a new index fills its leaf pages (`BTREE_DEFAULT_FILLFACTOR`).
const LEAF_FILL: u64 = 90;
/// Per cent to which a new index fills its inner pages (`BTREE_NONLEAF_FILLFACTOR`).
const INNER_FILL: u64 = 70;

/// Most rows that four-byte keys can number.
pub(super) const INT_ROWS: u64 = i32::MAX as u64;
/// Default number of table pages per entry of a BRIN index (`pages_per_range`).
const BRIN_RANGE_PAGES: u64 = 128;
/// Bytes of a BRIN entry for an eight-byte key: header, minimum, maximum, line pointer; and of the pointer to it.
const BRIN_ENTRY: u64 = 28;
const BRIN_POINTER: u64 = 6;

/// Size of a relation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RelationSize {
    /// Number of pages.
    pub pages: u64,
    /// Size in bytes.
    pub bytes: u64,
}

/// Size of a table with its primary key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableSize {
    /// Size of the table.
    pub heap: RelationSize,
    /// Size of the primary key.
    pub index: RelationSize,
}

/// A row of fixed size.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tuple {
    /// Bytes of the columns including padding between them.
    pub data_bytes: u64,
}

impl Tuple {
    /// Pages that `rows` rows fill.
    pub fn heap_pages(self, rows: u64, page_bytes: u64) -> u64 {
        self.heap_pages_filled(rows, page_bytes, 100)
    }

    /// Pages that `rows` rows fill with this fill factor in per cent (`RelationGetTargetPageFreeSpace`).
    pub fn heap_pages_filled(self, rows: u64, page_bytes: u64, fillfactor: u32) -> u64 {
        let tuple = (TUPLE_HEADER + self.data_bytes).next_multiple_of(8) + LINE_POINTER;
        let kept_free = page_bytes * u64::from(100 - fillfactor.min(100)) / 100;
        rows.div_ceil(((page_bytes - HEADER).saturating_sub(kept_free) / tuple).max(1))
    }
}

/// Pages of a BRIN index on an eight-byte key: metapage, range map, and entries for a table with this many pages.
pub(super) fn brin_pages(heap_pages: u64, page_bytes: u64) -> u64 {
    let (ranges, room) = (heap_pages.div_ceil(BRIN_RANGE_PAGES).max(1), page_bytes - HEADER - 8);
    1 + ranges.div_ceil(room / BRIN_POINTER) + ranges.div_ceil(room / BRIN_ENTRY)
}

/// Pages that rows of varying length fill with this fill factor in per cent; `tuple_bytes` is their mean size
/// with header and padding. On average half a row of space is lost at the end of a page.
pub(super) fn mixed_heap_pages(rows: u64, tuple_bytes: f64, page_bytes: u64, fillfactor: u32) -> u64 {
    let kept_free = page_bytes * u64::from(100 - fillfactor.min(100)) / 100;
    let room = (page_bytes - HEADER).saturating_sub(kept_free) as f64;
    let each = tuple_bytes + LINE_POINTER as f64;
    let in_page = ((room - each / 2.0) / each).max(1.0);
    (rows as f64 / in_page).ceil() as u64
}

impl RelationSize {
    pub(super) fn new(pages: u64, page_bytes: u64) -> Self {
        Self { pages, bytes: pages * page_bytes }
    }

    fn times(self, number: u64) -> Self {
        Self { pages: self.pages * number, bytes: self.bytes * number }
    }

    fn and(self, other: Self) -> Self {
        Self { pages: self.pages + other.pages, bytes: self.bytes + other.bytes }
    }
}

impl TableSize {
    /// Size of this many tables of the same size.
    #[must_use]
    pub fn times(self, number: u64) -> Self {
        Self { heap: self.heap.times(number), index: self.index.times(number) }
    }

    /// Sum of both sizes.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { heap: self.heap.and(other.heap), index: self.index.and(other.index) }
    }

    /// Size of a table with a primary key on one integer of `key_bytes`.
    pub(super) fn new(tuple: Tuple, key_bytes: u64, rows: u64, page_bytes: u64, fillfactor: u32) -> Self {
        let size = |pages: u64| RelationSize::new(pages, page_bytes);
        Self {
            heap: size(tuple.heap_pages_filled(rows, page_bytes, fillfactor)),
            index: size(BtreeSize::new(key_bytes, rows, page_bytes).pages),
        }
    }
}

/// Size of a B-tree as built by CREATE INDEX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BtreeSize {
    /// Number of pages including the metapage.
    pub pages: u64,
    /// Number of levels from the root to the leaves, both included; 0 without rows.
    pub levels: u64,
}

impl BtreeSize {
    /// Size for this many different keys of `key_bytes` (1 to 1,000) in pages of `page_bytes`.
    pub fn new(key_bytes: u64, rows: u64, page_bytes: u64) -> Self {
        let entry = (INDEX_TUPLE_HEADER + key_bytes).next_multiple_of(8) + LINE_POINTER;
        let room = page_bytes - HEADER - BTREE_SPECIAL;
        // The fill factor reserves a share of the whole page, not of its usable space.
        let per_page = |fill: u64| ((room - page_bytes * (100 - fill) / 100) / entry).max(2);
        let mut level = rows.div_ceil(per_page(LEAF_FILL));
        let (mut pages, mut levels) = (1 + level, u64::from(rows > 0));
        while level > 1 {
            level = level.div_ceil(per_page(INNER_FILL));
            pages += level;
            levels += 1;
        }
        Self { pages, levels }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From article 004: four levels for 10^12 keys in 32 KiB pages, fewer than for 10^11 in 8 KiB pages.
    #[test]
    fn depths_are_those_of_the_articles() {
        assert_eq!(BtreeSize::new(8, 1_000_000_000_000, 32_768).levels, 4);
        assert_eq!(BtreeSize::new(8, 100_000_000_000, 8_192).levels, 5);
    }

    #[test]
    fn small_trees_have_few_levels() {
        let levels = |rows| BtreeSize::new(4, rows, 8_192).levels;
        assert_eq!([0, 1, 366, 367, 100_000].map(levels), [0, 1, 1, 2, 2]);
    }
}
