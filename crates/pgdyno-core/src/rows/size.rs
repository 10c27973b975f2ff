//! How many pages rows fill (PostgreSQL manual, "Database Physical Storage"; `bufpage.h`, `nbtree.h`).

/// PostgreSQL's usual page size in bytes.
pub const PAGE_BYTES: u64 = 8_192;

/// Page header.
const HEADER: u64 = 24;
/// Line pointer of a tuple.
const LINE_POINTER: u64 = 4;
/// Tuple header with its padding; a null bitmap of up to eight columns fits into the padding.
const TUPLE_HEADER: u64 = 24;
/// Header of an index tuple.
const INDEX_TUPLE_HEADER: u64 = 8;
/// What a B-tree page keeps at its end.
const BTREE_SPECIAL: u64 = 16;
/// A leaf page is filled to this share when an index is built (`BTREE_DEFAULT_FILLFACTOR`), in per cent.
const LEAF_FILL: u64 = 90;
/// The same for the pages above (`BTREE_NONLEAF_FILLFACTOR`).
const INNER_FILL: u64 = 70;

/// A relation's size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RelationSize {
    /// Pages.
    pub pages: u64,
    /// Bytes.
    pub bytes: u64,
}

/// A table's size with its primary key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableSize {
    /// The table.
    pub heap: RelationSize,
    /// Its primary key.
    pub index: RelationSize,
}

/// What a row of fixed size takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tuple {
    /// Bytes of the columns with the padding between them.
    pub data_bytes: u64,
}

impl Tuple {
    /// Pages that `rows` rows fill.
    pub fn heap_pages(self, rows: u64, page_bytes: u64) -> u64 {
        self.heap_pages_filled(rows, page_bytes, 100)
    }

    /// Pages that `rows` rows fill to this share, in per cent (`RelationGetTargetPageFreeSpace`).
    fn heap_pages_filled(self, rows: u64, page_bytes: u64, fillfactor: u32) -> u64 {
        let tuple = (TUPLE_HEADER + self.data_bytes).next_multiple_of(8) + LINE_POINTER;
        let kept_free = page_bytes * u64::from(100 - fillfactor.min(100)) / 100;
        rows.div_ceil(((page_bytes - HEADER).saturating_sub(kept_free) / tuple).max(1))
    }
}

impl RelationSize {
    fn times(self, number: u64) -> Self {
        Self { pages: self.pages * number, bytes: self.bytes * number }
    }

    fn and(self, other: Self) -> Self {
        Self { pages: self.pages + other.pages, bytes: self.bytes + other.bytes }
    }
}

impl TableSize {
    /// So many tables of this size together.
    #[must_use]
    pub fn times(self, number: u64) -> Self {
        Self { heap: self.heap.times(number), index: self.index.times(number) }
    }

    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { heap: self.heap.and(other.heap), index: self.index.and(other.index) }
    }

    /// The size of a table with a primary key on one integer of `key_bytes`.
    pub(super) fn of(tuple: Tuple, key_bytes: u64, rows: u64, page_bytes: u64, fillfactor: u32) -> Self {
        let size = |pages: u64| RelationSize { pages, bytes: pages * page_bytes };
        Self {
            heap: size(tuple.heap_pages_filled(rows, page_bytes, fillfactor)),
            index: size(btree_pages(key_bytes, rows, page_bytes)),
        }
    }
}

/// Pages of a B-tree as CREATE INDEX builds it: the meta page, leaves, and the levels above up to one root.
fn btree_pages(key_bytes: u64, rows: u64, page_bytes: u64) -> u64 {
    let entry = (INDEX_TUPLE_HEADER + key_bytes).next_multiple_of(8) + LINE_POINTER;
    let room = page_bytes - HEADER - BTREE_SPECIAL;
    // What the fill factor leaves free is a share of the page, not of the room in it.
    let per_page = |fill: u64| (room - page_bytes * (100 - fill) / 100) / entry;
    let mut level = rows.div_ceil(per_page(LEAF_FILL));
    let mut pages = 1 + level;
    while level > 1 {
        level = level.div_ceil(per_page(INNER_FILL));
        pages += level;
    }
    pages
}
