//! What a server holds of the data that is measured: sizes, and what of it lies in shared buffers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Size;

/// Most relations of a kind that are told one by one: a table for each of many clients must not fill a record.
const MOST: usize = 20;

/// Sizes of what is measured, as psql's `\dt+`, `\di+`, `\l+` and `\db+` count them, and what of it lies in shared
/// buffers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Held {
    /// Tables.
    pub tables: HeldList,
    /// Indexes.
    pub indexes: HeldList,
    /// The database that they are in; absent where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<Size>,
    /// The tablespaces that they are in, with all else that is there.
    pub tablespaces: Vec<Size>,
}

/// Relations of a kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeldList {
    /// The largest of them, at most 20.
    pub largest: Vec<HeldRelation>,
    /// How many there are.
    pub count: u64,
    /// Bytes of all.
    pub bytes: u64,
    /// Pages of their main forks.
    pub pages: u64,
    /// How many of these are in shared buffers; absent where that cannot be seen (`pg_buffercache` is not there, or the
    /// role may not look).
    pub resident_pages: Option<u64>,
}

/// A table or an index with its partitions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeldRelation {
    /// Name with its schema.
    pub name: String,
    /// Number of its partitions; 0: it has none.
    pub partitions: u64,
    /// Bytes; of a table with its maps and with what is too long for a row.
    pub bytes: u64,
    /// Pages of the main fork.
    pub pages: u64,
    /// How many of these are in shared buffers; absent where that cannot be seen.
    pub resident_pages: Option<u64>,
}

impl HeldList {
    /// All relations of a kind, of which the largest are kept.
    pub fn of(mut all: Vec<HeldRelation>) -> Self {
        all.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
        let sum = |of: fn(&HeldRelation) -> u64| all.iter().map(of).sum();
        let (count, bytes, pages) = (all.len() as u64, sum(|one| one.bytes), sum(|one| one.pages));
        let resident_pages = all.iter().map(|one| one.resident_pages).sum::<Option<u64>>();
        let resident_pages = resident_pages.filter(|_| !all.is_empty());
        all.truncate(MOST);
        Self { largest: all, count, bytes, pages, resident_pages }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relation(name: String, bytes: u64, resident_pages: Option<u64>) -> HeldRelation {
        HeldRelation { name, bytes, pages: bytes / 8_192, resident_pages, partitions: 0 }
    }

    #[test]
    fn thousands_of_tables_are_told_by_the_largest_and_their_sum() {
        let all = (0..10_000).map(|number| relation(format!("t{number}"), number * 8_192, Some(1))).collect();
        let list = HeldList::of(all);
        assert_eq!((list.largest.len(), list.count, list.pages), (20, 10_000, 49_995_000));
        assert_eq!((&*list.largest[0].name, list.resident_pages), ("t9999", Some(10_000)));
    }

    #[test]
    fn what_is_not_seen_of_one_is_not_seen_of_all() {
        let [seen, unseen] = [Some(1), None].map(|resident| relation("t".to_owned(), 8_192, resident));
        assert_eq!(HeldList::of(vec![seen, unseen]).resident_pages, None);
        assert_eq!(HeldList::of(Vec::new()).resident_pages, None, "nothing was looked at");
    }
}
