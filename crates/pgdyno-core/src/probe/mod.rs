//! What can be asked of tables that are there: how much of them is in shared buffers, what changing them costs, how
//! fast they are counted, how deep their keys are, and how large they are. Who asks is `pgdyno-postgres`.

mod explain;
mod held;

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use explain::Explained;
pub use held::{Held, HeldList, HeldRelation};

/// The server that was asked, and the database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Asked {
    /// `server_version`.
    pub version: String,
    /// `server_version_num`.
    pub version_num: u32,
    /// Name of the database.
    pub database: String,
    /// Bytes of a page (`block_size`).
    pub page_bytes: u64,
    /// Bytes of shared buffers.
    pub shared_buffers_bytes: u64,
}

/// What a relation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RelationKind {
    /// A table, a partition or a materialized view.
    Table,
    /// What is too long for a row (TOAST).
    Toast,
    /// An index.
    Index,
}

/// How pages are read into shared buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReadMethod {
    /// By the extension `pg_prewarm`.
    PgPrewarm,
    /// By queries: every page of a table by its number, B-trees in their order.
    Scans,
}

impl ReadMethod {
    /// One word for records.
    pub fn name(self) -> &'static str {
        match self {
            Self::PgPrewarm => "pg_prewarm",
            Self::Scans => "scans",
        }
    }
}

/// How it was seen what shared buffers hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SeenBy {
    /// By the extension `pg_buffercache`: every buffer was looked at.
    PgBuffercache,
    /// By reading all once more: what the server found in shared buffers then. Of an index, only the pages that an
    /// ordered scan touches.
    SecondRead,
}

impl SeenBy {
    /// What a user calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::PgBuffercache => "pg_buffercache",
            Self::SecondRead => "a second read",
        }
    }
}

/// A relation, and how much of it is in shared buffers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Residency {
    /// Name with its schema.
    pub name: String,
    /// What it is.
    pub kind: RelationKind,
    /// Pages of its main fork.
    pub pages: u64,
    /// How many of them are in shared buffers; absent where they cannot be seen one by one.
    pub resident_pages: Option<u64>,
    /// Share that is in shared buffers, from 0 to 1; absent where it cannot be seen.
    pub share: Option<f64>,
    /// Why it was not read, where it was not.
    pub not_read: Option<String>,
}

/// Tables that were read into shared buffers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Prewarm {
    /// The server.
    pub server: Asked,
    /// How pages were read.
    pub method: ReadMethod,
    /// Seconds that it took.
    pub duration_s: f64,
    /// How it was seen what came of it.
    pub seen_by: SeenBy,
    /// One by one: tables, each followed by what belongs to it.
    pub relations: Vec<Residency>,
}

impl Prewarm {
    /// Pages of all relations.
    pub fn pages(&self) -> u64 {
        self.relations.iter().map(|relation| relation.pages).sum()
    }

    /// Pages in shared buffers; absent where those of one relation are not known.
    pub fn resident_pages(&self) -> Option<u64> {
        self.relations.iter().map(|relation| relation.resident_pages).sum()
    }

    /// Share of all pages that is in shared buffers; absent where that of one relation is not known.
    pub fn share(&self) -> Option<f64> {
        let pages = self.pages();
        let resident = |relation: &Residency| Some(relation.share? * relation.pages as f64);
        let resident = self.relations.iter().map(resident).sum::<Option<f64>>()?;
        Some(if pages == 0 { 1.0 } else { resident / pages as f64 })
    }
}

/// A table with its partitions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Shape {
    /// Name with its schema.
    pub name: String,
    /// Number of its partitions; 0: it has none.
    pub partitions: u64,
    /// Bytes of rows, with those too long for a row and the maps, of all partitions.
    pub table_bytes: u64,
    /// Bytes of indexes, of all partitions.
    pub index_bytes: u64,
}

/// What changing tables costs. Nothing is left of it: changes are rolled back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ddl {
    /// The server.
    pub server: Asked,
    /// Whether a CHECKPOINT came before each kind of statement; the role may not be allowed to.
    pub checkpoints: bool,
    /// Table by table.
    pub tables: Vec<DdlTable>,
}

/// What changing one table costs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DdlTable {
    /// The table.
    pub table: Shape,
    /// Statement by statement.
    pub statements: Vec<DdlStatement>,
}

/// A statement, timed at the client as psql's `\timing` does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DdlStatement {
    /// The statement without the table's name.
    pub statement: String,
    /// Seconds of each repetition; none where it was left out.
    pub seconds: Vec<f64>,
    /// Bytes of WAL that the server wrote during the first repetition, with those of other sessions; absent where it
    /// does not tell.
    pub wal_bytes: Option<u64>,
    /// Whether the server wrote the table anew; absent where that cannot be.
    pub rewritten: Option<bool>,
    /// Why it was left out, where it was.
    pub left_out: Option<String>,
}

/// How rows are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CountBy {
    /// By an index-only scan.
    Index,
    /// By a sequential scan.
    Seq,
}

impl CountBy {
    /// One word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Index => "index",
            Self::Seq => "seq",
        }
    }
}

/// How fast tables are counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Count {
    /// The server.
    pub server: Asked,
    /// Whether a CHECKPOINT came before each count; the role may not be allowed to.
    pub checkpoints: bool,
    /// Table by table.
    pub tables: Vec<CountTable>,
}

/// How fast one table is counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CountTable {
    /// The table.
    pub table: Shape,
    /// Its rows.
    pub rows: u64,
    /// Way by way.
    pub ways: Vec<CountWay>,
}

/// One way of counting a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CountWay {
    /// What was asked for.
    pub by: CountBy,
    /// Parallel workers that were asked for (`max_parallel_workers_per_gather`).
    pub workers_asked: u64,
    /// What the server did, by EXPLAIN ANALYZE: the first execution.
    pub plan: Explained,
    /// Seconds of each repetition after it, without EXPLAIN.
    pub seconds: Vec<f64>,
}

impl CountWay {
    /// Whether the server counted as it was asked to.
    pub fn as_asked(&self) -> bool {
        let wanted = match self.by {
            CountBy::Index => "Index Only Scan",
            CountBy::Seq => "Seq Scan",
        };
        !self.plan.scans.is_empty() && self.plan.scans.iter().all(|scan| scan.ends_with(wanted))
    }
}

/// How deep B-trees are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Depth {
    /// The server.
    pub server: Asked,
    /// Whether depths were measured, which takes the extension `pageinspect`.
    pub measured: bool,
    /// Index by index.
    pub indexes: Vec<IndexDepth>,
}

/// How deep a B-tree is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IndexDepth {
    /// Name with its schema.
    pub name: String,
    /// Its table.
    pub table: String,
    /// Rows as the server's statistics have them; absent where nothing was analyzed.
    pub rows_estimated: Option<u64>,
    /// Pages.
    pub pages: u64,
    /// Pages from the root to a leaf, both counted: what a look-up reads of the index.
    pub levels: Option<u64>,
    /// The same by the arithmetic of pages, as an index is built; absent where keys differ in length or may be equal.
    pub levels_predicted: Option<u64>,
    /// Pages by the same arithmetic.
    pub pages_predicted: Option<u64>,
}

/// How large everything is, as psql's `\dt+`, `\di+`, `\l+` and `\db+` count it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sizes {
    /// The server.
    pub server: Asked,
    /// Tables, partitions added up.
    pub tables: Vec<Size>,
    /// Indexes, those of partitions added up.
    pub indexes: Vec<Size>,
    /// Databases.
    pub databases: Vec<Size>,
    /// Tablespaces.
    pub tablespaces: Vec<Size>,
}

/// How large something is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Size {
    /// Its name, with the schema where it has one.
    pub name: String,
    /// Number of its partitions; 0: it has none.
    pub partitions: u64,
    /// Bytes; absent where the role may not know.
    pub bytes: Option<u64>,
}

/// What `pgdyno probe --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "probe", rename_all = "lowercase")]
pub enum Probe {
    /// `probe ddl`.
    Ddl(Ddl),
    /// `probe count`.
    Count(Count),
    /// `probe depth`.
    Depth(Depth),
    /// `probe sizes`.
    Sizes(Sizes),
}

/// JSON Schemas of what `prewarm --json` and `probe --json` print, as (file name, schema).
pub fn schemas() -> [(&'static str, Value); 2] {
    [("prewarm.schema.json", of::<Prewarm>()), ("probe.schema.json", of::<Probe>())]
}

fn of<T: JsonSchema>() -> Value {
    // As serialised, not as accepted: a field that is always written is required.
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>().to_value()
}

/// What can be serialised, as JSON over several lines.
pub fn json<T: Serialize>(value: &T) -> String {
    // Nothing here has keys that are no texts, which alone could fail.
    serde_json::to_value(value).map_or_else(|_| String::new(), |value| format!("{value:#}\n"))
}

/// The middle of some numbers; of an even count the mean of the two in the middle. `None` of none.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn residency(pages: u64, resident_pages: Option<u64>, share: Option<f64>) -> Residency {
        Residency {
            name: "public.t".to_owned(),
            kind: RelationKind::Table,
            pages,
            resident_pages,
            share,
            not_read: None,
        }
    }

    fn prewarm(relations: Vec<Residency>) -> Prewarm {
        let server = Asked {
            version: "18.6".to_owned(),
            version_num: 180_006,
            database: "d".to_owned(),
            page_bytes: 8_192,
            shared_buffers_bytes: 128 << 20,
        };
        let (method, seen_by) = (ReadMethod::PgPrewarm, SeenBy::PgBuffercache);
        Prewarm { server, method, duration_s: 0.1, seen_by, relations }
    }

    #[test]
    fn shares_weigh_by_pages() {
        let all = prewarm(vec![residency(90, Some(90), Some(1.0)), residency(10, Some(0), Some(0.0))]);
        assert_eq!((all.pages(), all.resident_pages(), all.share()), (100, Some(90), Some(0.9)));
        assert_eq!(prewarm(vec![residency(0, Some(0), Some(1.0))]).share(), Some(1.0), "nothing is missing");
    }

    #[test]
    fn what_is_not_known_of_one_is_not_known_of_all() {
        let one = prewarm(vec![residency(90, Some(90), Some(1.0)), residency(10, None, Some(0.5))]);
        assert_eq!((one.resident_pages(), one.share()), (None, Some(0.95)));
        let none = prewarm(vec![residency(90, Some(90), Some(1.0)), residency(10, None, None)]);
        assert_eq!((none.resident_pages(), none.share()), (None, None));
    }

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!([median(&[]), median(&[3.0]), median(&[4.0, 1.0, 2.0])], [None, Some(3.0), Some(2.0)]);
        assert_eq!(median(&[4.0, 1.0, 2.0, 10.0]), Some(3.0));
    }

    #[test]
    fn a_count_that_did_something_else_is_told() {
        let way = |by, scans: &[&str]| CountWay {
            by,
            workers_asked: 0,
            plan: Explained {
                scans: scans.iter().map(|scan| (*scan).to_owned()).collect(),
                ..Explained::default()
            },
            seconds: Vec::new(),
        };
        assert!(way(CountBy::Index, &["Index Only Scan", "Parallel Index Only Scan"]).as_asked());
        assert!(way(CountBy::Seq, &["Parallel Seq Scan"]).as_asked());
        assert!(!way(CountBy::Index, &["Index Only Scan", "Seq Scan"]).as_asked());
        assert!(!way(CountBy::Index, &["Index Scan"]).as_asked());
        assert!(!way(CountBy::Seq, &[]).as_asked());
    }
}
