//! Results of probes of existing tables: how much is in shared buffers, what DDL costs, how fast rows are counted, how
//! deep indexes are, and how large everything is. `probe` of `pgdyno-postgres` runs the probes.

mod explain;
mod held;
mod subject;
mod touch;

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use explain::Explained;
pub use held::{Held, HeldList, HeldRelation};
pub use subject::{Asked, Shape};
pub use touch::{
    CatalogShare, ExecutionTimes, FirstTouch, PartitionedTable, Partitions, PlanCost, PlanWay, Touch,
    TouchedTable,
};

/// Kind of a relation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RelationKind {
    /// A table, a partition or a materialized view.
    Table,
    /// A TOAST table.
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
    /// By queries: the pages of a table by number, B-trees by ordered scans.
    Scans,
}

impl ReadMethod {
    /// Name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::PgPrewarm => "pg_prewarm",
            Self::Scans => "scans",
        }
    }
}

/// How the contents of shared buffers were determined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SeenBy {
    /// By the extension `pg_buffercache`, which inspects every buffer.
    PgBuffercache,
    /// By a second read of everything, counting hits in shared buffers. Of an index, it covers only the pages that an
    /// ordered scan touches.
    SecondRead,
}

impl SeenBy {
    /// Name for users.
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
    /// Kind.
    pub kind: RelationKind,
    /// Pages of the main fork.
    pub pages: u64,
    /// Pages in shared buffers; absent if they cannot be counted individually.
    pub resident_pages: Option<u64>,
    /// Share in shared buffers, from 0 to 1; absent if unknown.
    pub share: Option<f64>,
    /// Why it was not read, if it was not.
    pub not_read: Option<String>,
}

/// Result of reading tables into shared buffers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Prewarm {
    /// The server.
    pub server: Asked,
    /// How pages were read.
    pub method: ReadMethod,
    /// Duration in seconds.
    pub duration_s: f64,
    /// How the result was determined.
    pub seen_by: SeenBy,
    /// Tables, each followed by its TOAST table and indexes.
    pub relations: Vec<Residency>,
    /// All of them together.
    pub total: PrewarmTotal,
}

/// Share of all pages that must be in shared buffers: reading with queries omits the inner pages of indexes, which are
/// less than 1 % of an index.
const MIN_SHARE: f64 = 0.99;

impl Prewarm {
    /// Whether all tables were read and are in shared buffers, as far as known. If tables were read that do not fit,
    /// pages may be missing.
    pub fn is_complete(&self, anyway: bool) -> bool {
        let missing =
            self.relations.iter().any(|relation| relation.share.is_some_and(|share| share < MIN_SHARE));
        let unread = self.relations.iter().any(|relation| relation.not_read.is_some());
        !unread && (anyway || !missing)
    }
}

/// What was read into shared buffers, of all relations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PrewarmTotal {
    /// Pages of all relations.
    pub pages: u64,
    /// Pages in shared buffers; absent if unknown for one relation.
    pub resident_pages: Option<u64>,
    /// Share of all pages in shared buffers; absent if unknown for one relation.
    pub share: Option<f64>,
    /// Bytes that were read.
    pub read_bytes: u64,
    /// Share of shared buffers that all pages take; above 1 if they do not fit.
    pub share_of_buffers: f64,
}

impl PrewarmTotal {
    /// The total of these relations in a server.
    pub fn of(relations: &[Residency], server: &Asked) -> Self {
        let pages = relations.iter().map(|relation| relation.pages).sum::<u64>();
        let resident = |relation: &Residency| Some(relation.share? * relation.pages as f64);
        let resident = relations.iter().map(resident).sum::<Option<f64>>();
        let read = relations.iter().filter(|relation| relation.not_read.is_none());
        Self {
            pages,
            resident_pages: relations.iter().map(|relation| relation.resident_pages).sum(),
            share: resident.map(|resident| if pages == 0 { 1.0 } else { resident / pages as f64 }),
            read_bytes: read.map(|relation| relation.pages).sum::<u64>() * server.page_bytes,
            share_of_buffers: (pages * server.page_bytes) as f64 / server.shared_buffers_bytes.max(1) as f64,
        }
    }
}

/// Cost of DDL statements. Changes are rolled back unless their commits are timed, too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ddl {
    /// The server.
    pub server: Asked,
    /// Whether a CHECKPOINT preceded each kind of statement; the role may lack the permission.
    pub checkpoints: bool,
    /// Whether changes were committed and then undone by further statements; absent if they were rolled back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub committed: bool,
    /// One entry per table.
    pub tables: Vec<DdlTable>,
}

impl Ddl {
    /// The probe of these tables, each compared with the first.
    pub fn new(server: Asked, checkpoints: bool, mut tables: Vec<DdlTable>) -> Self {
        if let Some((first, others)) = tables.split_first_mut() {
            for one in others.iter_mut().flat_map(|table| &mut table.statements) {
                let same = first.statements.iter().find(|other| other.statement == one.statement);
                let medians = median(&one.seconds).zip(same.and_then(|same| median(&same.seconds)));
                one.times_of_first = medians.map(|(own, first)| own / first);
            }
        }
        Self { server, checkpoints, committed: false, tables }
    }
}

/// Cost of DDL on one table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DdlTable {
    /// The table.
    pub table: Shape,
    /// One entry per statement.
    pub statements: Vec<DdlStatement>,
}

/// A statement, timed by the client like psql's `\timing`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DdlStatement {
    /// The statement without the table's name.
    pub statement: String,
    /// Seconds of each repetition, without its commit; empty if it was left out.
    pub seconds: Vec<f64>,
    /// Seconds of the COMMIT of each repetition; absent if changes were rolled back, or the statement is no change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commit_seconds: Vec<f64>,
    /// Sessions that worked on partitions at the same time; absent if it was one statement of one session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions: Option<u64>,
    /// Bytes of WAL that the server wrote during the first repetition, including other sessions; absent if unknown.
    pub wal_bytes: Option<u64>,
    /// Whether the server rewrote the table; absent for statements that cannot.
    pub rewritten: Option<bool>,
    /// Median time over that of the same statement on the first table; absent for the first table.
    pub times_of_first: Option<f64>,
    /// Why it was left out, if it was.
    pub left_out: Option<String>,
}

/// Method of counting rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CountBy {
    /// By an index-only scan.
    Index,
    /// By a sequential scan.
    Seq,
}

impl CountBy {
    /// Name of the method.
    pub fn name(self) -> &'static str {
        match self {
            Self::Index => "index",
            Self::Seq => "seq",
        }
    }
}

/// Speed of counting rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Count {
    /// The server.
    pub server: Asked,
    /// Whether a CHECKPOINT preceded each count; the role may lack the permission.
    pub checkpoints: bool,
    /// One entry per table.
    pub tables: Vec<CountTable>,
}

/// Speed of counting one table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CountTable {
    /// The table.
    pub table: Shape,
    /// Number of rows.
    pub rows: u64,
    /// One entry per method.
    pub ways: Vec<CountWay>,
}

/// One method of counting a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CountWay {
    /// Requested method.
    pub by: CountBy,
    /// Requested parallel workers (`max_parallel_workers_per_gather`).
    pub workers_asked: u64,
    /// The executed plan according to EXPLAIN ANALYZE, in the first execution.
    pub plan: Explained,
    /// Seconds of each further repetition, without EXPLAIN.
    pub seconds: Vec<f64>,
    /// Rows per second of the median repetition; absent without one.
    pub rows_per_s: Option<f64>,
}

impl CountWay {
    /// Whether the server used the requested method.
    pub fn as_asked(&self) -> bool {
        let wanted = match self.by {
            CountBy::Index => "Index Only Scan",
            CountBy::Seq => "Seq Scan",
        };
        !self.plan.scans.is_empty() && self.plan.scans.iter().all(|scan| scan.ends_with(wanted))
    }
}

/// Depth of B-trees.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Depth {
    /// The server.
    pub server: Asked,
    /// Whether depths were measured, which requires the extension `pageinspect`.
    pub measured: bool,
    /// One entry per index.
    pub indexes: Vec<IndexDepth>,
}

/// Depth of one B-tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IndexDepth {
    /// Name with its schema.
    pub name: String,
    /// Name of the table.
    pub table: String,
    /// Row estimate of the server's statistics; absent if the table was never analyzed.
    pub rows_estimated: Option<u64>,
    /// Number of pages.
    pub pages: u64,
    /// Pages from root to leaf, both included: what a lookup reads of the index.
    pub levels: Option<u64>,
    /// Calculated depth of a freshly built index; absent for keys of variable length or with duplicates.
    pub levels_predicted: Option<u64>,
    /// Calculated number of pages.
    pub pages_predicted: Option<u64>,
}

/// Sizes of everything, as shown by psql's `\dt+`, `\di+`, `\l+` and `\db+`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sizes {
    /// The server.
    pub server: Asked,
    /// Tables, including their partitions.
    pub tables: Vec<Size>,
    /// Indexes, including those of partitions.
    pub indexes: Vec<Size>,
    /// Databases.
    pub databases: Vec<Size>,
    /// Tablespaces.
    pub tablespaces: Vec<Size>,
}

/// The size of one object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Size {
    /// Name, with the schema if it has one.
    pub name: String,
    /// Number of partitions; 0 if it is not partitioned.
    pub partitions: u64,
    /// Bytes; absent without permission.
    pub bytes: Option<u64>,
}

/// The output of `pgdyno probe --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "probe", rename_all = "lowercase")]
pub enum Probe {
    /// `probe ddl`.
    Ddl(Ddl),
    /// `probe count`.
    Count(Count),
    /// `probe first-touch`.
    #[serde(rename = "first-touch")]
    FirstTouch(FirstTouch),
    /// `probe partitions`.
    Partitions(Partitions),
    /// `probe depth`.
    Depth(Depth),
    /// `probe sizes`.
    Sizes(Sizes),
}

/// JSON Schemas of the output of `prewarm --json` and `probe --json`, as (file name, schema).
pub fn schemas() -> [(&'static str, Value); 2] {
    [("prewarm.schema.json", of::<Prewarm>()), ("probe.schema.json", of::<Probe>())]
}

fn of<T: JsonSchema>() -> Value {
    // As serialised, not as accepted: a field that is always written is required.
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>().to_value()
}

/// Indented JSON of a value.
pub fn json<T: Serialize>(value: &T) -> String {
    // Serialising can fail only for keys that are not strings; there are none here.
    serde_json::to_value(value).map_or_else(|_| String::new(), |value| format!("{value:#}\n"))
}

/// The median; of an even count the mean of the middle two. `None` without values.
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
        let total = PrewarmTotal::of(&relations, &server);
        Prewarm { server, method, duration_s: 0.1, seen_by, relations, total }
    }

    #[test]
    fn shares_are_weighted_by_pages() {
        let all = prewarm(vec![residency(90, Some(90), Some(1.0)), residency(10, Some(0), Some(0.0))]);
        assert_eq!((all.total.pages, all.total.resident_pages, all.total.share), (100, Some(90), Some(0.9)));
        assert_eq!(
            prewarm(vec![residency(0, Some(0), Some(1.0))]).total.share,
            Some(1.0),
            "nothing is missing"
        );
    }

    #[test]
    fn an_unknown_residency_makes_the_total_unknown() {
        let one = prewarm(vec![residency(90, Some(90), Some(1.0)), residency(10, None, Some(0.5))]);
        assert_eq!((one.total.resident_pages, one.total.share), (None, Some(0.95)));
        let none = prewarm(vec![residency(90, Some(90), Some(1.0)), residency(10, None, None)]);
        assert_eq!((none.total.resident_pages, none.total.share), (None, None));
    }

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!([median(&[]), median(&[3.0]), median(&[4.0, 1.0, 2.0])], [None, Some(3.0), Some(2.0)]);
        assert_eq!(median(&[4.0, 1.0, 2.0, 10.0]), Some(3.0));
    }

    #[test]
    fn another_scan_than_requested_is_detected() {
        let way = |by, scans: &[&str]| CountWay {
            by,
            workers_asked: 0,
            plan: Explained {
                scans: scans.iter().map(|scan| (*scan).to_owned()).collect(),
                ..Explained::default()
            },
            seconds: Vec::new(),
            rows_per_s: None,
        };
        assert!(way(CountBy::Index, &["Index Only Scan", "Parallel Index Only Scan"]).as_asked());
        assert!(way(CountBy::Seq, &["Parallel Seq Scan"]).as_asked());
        assert!(!way(CountBy::Index, &["Index Only Scan", "Seq Scan"]).as_asked());
        assert!(!way(CountBy::Index, &["Index Scan"]).as_asked());
        assert!(!way(CountBy::Seq, &[]).as_asked());
    }
}
