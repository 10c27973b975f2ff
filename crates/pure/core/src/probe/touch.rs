//! What a first look at a table costs, and what planning over partitions costs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::subject::{Asked, Shape};

/// Times and page accesses of one execution, as EXPLAIN reports them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExecutionTimes {
    /// Seconds of planning; `None` if the server does not report them.
    pub planning_s: Option<f64>,
    /// Seconds of executing; `None` without ANALYZE.
    pub execution_s: Option<f64>,
    /// Pages of catalogs that planning found in shared buffers; `None` before PostgreSQL 13.
    pub planning_hit_pages: Option<u64>,
    /// Pages of catalogs that planning read; `None` before PostgreSQL 13.
    pub planning_read_pages: Option<u64>,
    /// Pages that executing found in shared buffers.
    pub hit_pages: u64,
    /// Pages that executing read.
    pub read_pages: u64,
    /// Rows of the table that the planner expects, without a LIMIT above it.
    pub rows_estimated: Option<u64>,
    /// Scans of tables in the plan.
    pub scans: u64,
}

impl ExecutionTimes {
    /// Parses the answer to `EXPLAIN (FORMAT JSON)`; `None` if it is not a plan.
    pub fn read(json: &str) -> Option<Self> {
        let answer: Value = serde_json::from_str(json).ok()?;
        let root = answer.get(0)?;
        let plan = root.get("Plan")?;
        let seconds = |key: &str| root.get(key).and_then(Value::as_f64).map(|ms| ms / 1e3);
        let planning = |key: &str| root.get("Planning").and_then(|of| of.get(key)).and_then(Value::as_u64);
        let pages = |key: &str| plan.get(key).and_then(Value::as_u64).unwrap_or(0);
        let scanned =
            if kind(plan) == "Limit" { plan.get("Plans").and_then(|of| of.get(0)) } else { Some(plan) };
        Some(Self {
            planning_s: seconds("Planning Time"),
            execution_s: seconds("Execution Time"),
            planning_hit_pages: planning("Shared Hit Blocks"),
            planning_read_pages: planning("Shared Read Blocks"),
            hit_pages: pages("Shared Hit Blocks"),
            read_pages: pages("Shared Read Blocks"),
            rows_estimated: scanned.and_then(|of| of.get("Plan Rows")).and_then(Value::as_u64),
            scans: scans(plan),
        })
    }
}

fn kind(node: &Value) -> &str {
    node.get("Node Type").and_then(Value::as_str).unwrap_or_default()
}

fn scans(node: &Value) -> u64 {
    let own = kind(node).ends_with("Scan") && node.get("Relation Name").is_some();
    let children = node.get("Plans").and_then(Value::as_array).into_iter().flatten().map(scans);
    u64::from(own) + children.sum::<u64>()
}

/// Cost of the first rows of tables, in new sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FirstTouch {
    /// The server.
    pub server: Asked,
    /// Rows that were read (`LIMIT`).
    pub limit: u64,
    /// Whether the tables' files were dropped from the page cache before each session.
    pub cold: bool,
    /// One entry per table.
    pub tables: Vec<TouchedTable>,
}

/// Cost of the first rows of one table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TouchedTable {
    /// The table.
    pub table: Shape,
    /// Rows of the table that the planner expects; before the first ANALYZE it guesses from pages.
    pub rows_estimated: Option<u64>,
    /// Whether the table, or one of its partitions, has been analyzed.
    pub analyzed: bool,
    /// Seconds of the first statement of each session, from sending it to the last row, without EXPLAIN.
    pub statement_seconds: Vec<f64>,
    /// The first and the second execution by EXPLAIN in sessions that had not touched the table before.
    pub executions: Vec<Touch>,
}

/// An execution in sessions of their own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Touch {
    /// `first` or `second` in its session.
    pub execution: String,
    /// Seconds of planning in each session.
    pub planning_seconds: Vec<f64>,
    /// Seconds of executing in each session.
    pub execution_seconds: Vec<f64>,
    /// Catalog pages that planning found in shared buffers in the first session; absent before PostgreSQL 13.
    pub planning_hit_pages: Option<u64>,
    /// Catalog pages that planning read in the first session; absent before PostgreSQL 13.
    pub planning_read_pages: Option<u64>,
    /// Pages that executing found in shared buffers in the first session.
    pub hit_pages: u64,
    /// Pages that executing read in the first session.
    pub read_pages: u64,
}

impl Touch {
    /// The executions of several sessions, of which the first has the pages.
    pub fn new(execution: &str, times: &[ExecutionTimes]) -> Self {
        let first = times.first().cloned().unwrap_or_default();
        Self {
            execution: execution.to_owned(),
            planning_seconds: times.iter().filter_map(|of| of.planning_s).collect(),
            execution_seconds: times.iter().filter_map(|of| of.execution_s).collect(),
            planning_hit_pages: first.planning_hit_pages,
            planning_read_pages: first.planning_read_pages,
            hit_pages: first.hit_pages,
            read_pages: first.read_pages,
        }
    }
}

/// Cost of planning, locking and describing tables with their partitions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Partitions {
    /// The server.
    pub server: Asked,
    /// One entry per table.
    pub tables: Vec<PartitionedTable>,
}

/// Cost of one table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartitionedTable {
    /// The table.
    pub table: Shape,
    /// Columns of its primary key, by which one row is looked up.
    pub key: Vec<String>,
    /// Ways of looking a row up, and a query for all rows.
    pub ways: Vec<PlanWay>,
    /// Rows of system catalogs that describe the table, its partitions and their indexes.
    pub catalogs: Vec<CatalogShare>,
    /// Bytes that a session's caches grew by when it planned a query for all rows; absent before PostgreSQL 14, and if
    /// the role may not see it.
    pub cache_bytes: Option<u64>,
}

/// One way of executing a query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanWay {
    /// `not prepared`, `custom plans`, `generic plan` and `server chooses` look up one row by the primary key, all but
    /// the first by a prepared statement; `all rows` is planned only.
    pub way: String,
    /// The first execution in a session; absent if the way was left out.
    pub first: Option<PlanCost>,
    /// Later executions in the same session.
    pub later: Option<PlanCost>,
    /// Why it was left out, if it was.
    pub left_out: Option<String>,
}

/// Cost of executions of one kind.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanCost {
    /// Seconds of planning, or of taking a cached plan, of each execution; empty for prepared statements before
    /// PostgreSQL 10, whose EXPLAIN does not show it.
    pub planning_seconds: Vec<f64>,
    /// Seconds of executing; empty if the query was only planned.
    pub execution_seconds: Vec<f64>,
    /// Scans of tables in the plan of the last execution.
    pub scans: u64,
    /// Locks on the table, its partitions and their indexes that the last execution held.
    pub locks: u64,
    /// Those of them that were taken by the fast path, without the shared lock table.
    pub fast_path_locks: u64,
}

impl PlanCost {
    /// Adds an execution, and what it held.
    pub fn add(&mut self, times: &ExecutionTimes, (locks, fast_path_locks): (u64, u64)) {
        self.planning_seconds.extend(times.planning_s);
        self.execution_seconds.extend(times.execution_s);
        self.scans = times.scans;
        (self.locks, self.fast_path_locks) = (locks, fast_path_locks);
    }
}

/// A system catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CatalogShare {
    /// Name of the catalog.
    pub catalog: String,
    /// Rows about the table, its partitions and their indexes; absent if the role may not read them.
    pub rows: Option<u64>,
    /// Bytes of these rows, without their indexes.
    pub row_bytes: Option<u64>,
    /// Bytes of the whole catalog with its indexes, for all tables of the database.
    pub size_bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers of PostgreSQL 18 and 9.6, reduced to the fields in use.
    const NEW: &str = r#"[{"Plan": {"Node Type": "Limit", "Plan Rows": 10, "Shared Hit Blocks": 1,
        "Shared Read Blocks": 2, "Plans": [{"Node Type": "Append", "Plan Rows": 200000, "Plans": [
        {"Node Type": "Seq Scan", "Relation Name": "a_1"}, {"Node Type": "Seq Scan", "Relation Name": "a_2"}]}]},
        "Planning": {"Shared Hit Blocks": 40, "Shared Read Blocks": 3}, "Planning Time": 0.5,
        "Execution Time": 0.25}]"#;
    const OLD: &str = r#"[{"Plan": {"Node Type": "Seq Scan", "Relation Name": "a", "Plan Rows": 7},
        "Planning Time": 0.5, "Execution Time": 0.25}]"#;

    #[test]
    fn times_are_apart_and_rows_are_those_below_the_limit() {
        let new = ExecutionTimes::read(NEW).expect("it is a plan");
        assert_eq!((new.planning_s, new.execution_s), (Some(0.0005), Some(0.00025)));
        assert_eq!((new.planning_hit_pages, new.planning_read_pages), (Some(40), Some(3)));
        assert_eq!((new.hit_pages, new.read_pages, new.rows_estimated, new.scans), (1, 2, Some(200_000), 2));
        let old = ExecutionTimes::read(OLD).expect("it is a plan");
        assert_eq!((old.planning_hit_pages, old.rows_estimated, old.scans), (None, Some(7), 1));
        assert_eq!([ExecutionTimes::read(""), ExecutionTimes::read("[{}]")], [None, None]);
    }
}
