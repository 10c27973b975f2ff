//! The data footprint: sizes of the data under test, and its share in shared buffers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Size;

/// Most relations of a kind that are listed: a table for each of many clients must not inflate a record.
const MOST: usize = 20;

/// Sizes of the data under test, as shown by psql's `\dt+`, `\di+`, `\l+` and `\db+`, and its pages in shared buffers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Held {
    /// Tables.
    pub tables: HeldList,
    /// Indexes.
    pub indexes: HeldList,
    /// Their database; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database: Option<Size>,
    /// Their tablespaces, including everything else stored there.
    pub tablespaces: Vec<Size>,
}

/// Relations of one kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeldList {
    /// The largest relations, at most 20.
    pub largest: Vec<HeldRelation>,
    /// Number of relations.
    pub count: u64,
    /// Bytes of all relations.
    pub bytes: u64,
    /// Pages of their main forks.
    pub pages: u64,
    /// Pages of the main forks in shared buffers; absent if unknown (no `pg_buffercache`, or no permission).
    pub resident_pages: Option<u64>,
}

/// A table or an index with its partitions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeldRelation {
    /// Name with its schema.
    pub name: String,
    /// Number of partitions; 0 if it is not partitioned.
    pub partitions: u64,
    /// Bytes; for a table including its maps and its TOAST table.
    pub bytes: u64,
    /// Pages of the main fork.
    pub pages: u64,
    /// Pages of the main fork in shared buffers; absent if unknown.
    pub resident_pages: Option<u64>,
}

impl Held {
    /// Adds another set of tables. Sizes of databases and tablespaces are those of all that there are.
    #[must_use]
    pub fn with_set(self, other: Self) -> Self {
        let mut tablespaces = self.tablespaces;
        for one in other.tablespaces {
            if tablespaces.iter().all(|known| known.name != one.name) {
                tablespaces.push(one);
            }
        }
        Self {
            tables: self.tables.with(other.tables),
            indexes: self.indexes.with(other.indexes),
            database: match (self.database, other.database) {
                (Some(one), Some(other)) if one.name != other.name => Some(Size {
                    name: format!("{}, {}", one.name, other.name),
                    bytes: one.bytes.zip(other.bytes).map(|(one, other)| one + other),
                    ..one
                }),
                (one, other) => other.or(one),
            },
            tablespaces,
        }
    }
}

impl HeldList {
    fn with(self, other: Self) -> Self {
        let all = Self::of(self.largest.into_iter().chain(other.largest).collect());
        Self {
            count: self.count + other.count,
            bytes: self.bytes + other.bytes,
            pages: self.pages + other.pages,
            resident_pages: self.resident_pages.zip(other.resident_pages).map(|(one, other)| one + other),
            ..all
        }
    }

    /// Summarises all relations of a kind and keeps the largest.
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
    fn sets_of_tables_add_up() {
        let of = |schema: &str, database: &str, tables: u64| Held {
            tables: HeldList::of(
                (0..tables).map(|n| relation(format!("{schema}.t{n}"), (n + 1) * 8_192, Some(1))).collect(),
            ),
            database: Some(Size { name: database.into(), partitions: 0, bytes: Some(100) }),
            ..Held::default()
        };
        let two = of("a", "x", 30).with_set(of("b", "x", 25));
        let all = 30 * 31 / 2 + 25 * 26 / 2;
        assert_eq!((two.tables.count, two.tables.pages, two.tables.largest.len()), (55, all, 20));
        assert_eq!((&*two.tables.largest[0].name, two.tables.resident_pages), ("a.t29", Some(55)));
        let database = |held: &Held| held.database.clone().map(|size| (size.name, size.bytes));
        assert_eq!(database(&two), Some(("x".into(), Some(100))));
        assert_eq!(database(&two.with_set(of("c", "y", 1))), Some(("x, y".into(), Some(200))));
    }

    #[test]
    fn thousands_of_tables_are_reduced_to_the_largest_and_their_sum() {
        let all = (0..10_000).map(|number| relation(format!("t{number}"), number * 8_192, Some(1))).collect();
        let list = HeldList::of(all);
        assert_eq!((list.largest.len(), list.count, list.pages), (20, 10_000, 49_995_000));
        assert_eq!((&*list.largest[0].name, list.resident_pages), ("t9999", Some(10_000)));
    }

    #[test]
    fn an_unknown_residency_makes_the_sum_unknown() {
        let [seen, unseen] = [Some(1), None].map(|resident| relation("t".to_owned(), 8_192, resident));
        assert_eq!(HeldList::of(vec![seen, unseen]).resident_pages, None);
        assert_eq!(HeldList::of(Vec::new()).resident_pages, None, "nothing was looked at");
    }
}
