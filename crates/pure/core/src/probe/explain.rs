//! The parts of `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)` that probes need.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An executed plan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Explained {
    /// Distinct scan types, such as `Parallel Index Only Scan`.
    pub scans: Vec<String>,
    /// Number of scans; a partitioned table has one per partition.
    pub scan_count: u64,
    /// Distinct indexes used.
    pub indexes: Vec<String>,
    /// Parallel workers planned.
    pub workers_planned: u64,
    /// Parallel workers launched.
    pub workers_launched: u64,
    /// Page accesses that hit shared buffers.
    pub hit_pages: u64,
    /// Pages read into shared buffers.
    pub read_pages: u64,
    /// Rows for which an index-only scan had to visit the heap.
    pub heap_fetches: u64,
}

impl Explained {
    /// Parses the server's answer; `None` if it is not a plan.
    pub fn read(json: &str) -> Option<Self> {
        let answer: Value = serde_json::from_str(json).ok()?;
        let root = answer.get(0)?.get("Plan")?;
        let mut explained = Self {
            hit_pages: number(root, "Shared Hit Blocks"),
            read_pages: number(root, "Shared Read Blocks"),
            ..Self::default()
        };
        explained.add(root);
        Some(explained)
    }

    fn add(&mut self, node: &Value) {
        self.workers_planned += number(node, "Workers Planned");
        self.workers_launched += number(node, "Workers Launched");
        self.heap_fetches += number(node, "Heap Fetches");
        let kind = node.get("Node Type").and_then(Value::as_str).unwrap_or_default();
        if kind.ends_with("Scan") && node.get("Relation Name").is_some() {
            let parallel = node.get("Parallel Aware").and_then(Value::as_bool).unwrap_or(false);
            add_once(&mut self.scans, if parallel { format!("Parallel {kind}") } else { kind.to_owned() });
            self.scan_count += 1;
        }
        if let Some(index) = node.get("Index Name").and_then(Value::as_str) {
            add_once(&mut self.indexes, index.to_owned());
        }
        for child in node.get("Plans").and_then(Value::as_array).into_iter().flatten() {
            self.add(child);
        }
    }
}

fn number(node: &Value, key: &str) -> u64 {
    node.get(key).and_then(Value::as_f64).map_or(0, |number| number as u64)
}

fn add_once(names: &mut Vec<String>, name: String) {
    if !names.contains(&name) {
        names.push(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An answer of PostgreSQL 18, reduced to the fields in use.
    const PARALLEL: &str = r#"[{"Plan": {"Node Type": "Aggregate", "Partial Mode": "Finalize",
        "Shared Hit Blocks": 552, "Shared Read Blocks": 7, "Plans": [{"Node Type": "Gather",
        "Workers Planned": 2, "Workers Launched": 1, "Shared Hit Blocks": 552, "Plans": [
        {"Node Type": "Aggregate", "Partial Mode": "Partial", "Plans": [{"Node Type": "Append", "Plans": [
        {"Node Type": "Index Only Scan", "Parallel Aware": true, "Relation Name": "a_1", "Index Name": "a_1_pkey",
         "Heap Fetches": 3},
        {"Node Type": "Index Only Scan", "Parallel Aware": true, "Relation Name": "a_2", "Index Name": "a_2_pkey",
         "Heap Fetches": 4.0}]}]}]}]}, "Execution Time": 1.5}]"#;

    #[test]
    fn a_parallel_plan_is_parsed() {
        let read = Explained::read(PARALLEL).expect("it is a plan");
        let want = Explained {
            scans: vec!["Parallel Index Only Scan".to_owned()],
            scan_count: 2,
            indexes: vec!["a_1_pkey".to_owned(), "a_2_pkey".to_owned()],
            workers_planned: 2,
            workers_launched: 1,
            hit_pages: 552,
            read_pages: 7,
            heap_fetches: 7,
        };
        assert_eq!(read, want);
    }

    #[test]
    fn an_invalid_plan_is_none() {
        assert_eq!(["", "{}", "[]", r#"[{"Query": 1}]"#].map(Explained::read), [const { None }; 4]);
    }
}
