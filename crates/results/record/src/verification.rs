//! Comparisons of loaded tables in `run.json`.

use pgdyno_rows::load::Set;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A comparison of tables with their expected contents: counts and checksums of all columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VerificationRecord {
    /// Rows found in all tables.
    pub rows: u64,
    /// Duration in seconds.
    pub duration_s: f64,
    /// Whether keys, storage parameters and tablespaces were compared, too.
    pub keys_and_storage: bool,
    /// Every difference in a sentence; empty if the tables are right.
    pub faults: Vec<String>,
    /// The set of tables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set: Option<Set>,
    /// Unfinished work of the load of these tables, a line each; empty if it is finished.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remains: Vec<String>,
    /// The structure of tables and indexes; absent if it was not checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structure: Option<StructureRecord>,
}

/// The structure of tables and indexes according to `amcheck`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StructureRecord {
    /// Tables and partitions that were checked; 0 before PostgreSQL 14, whose `amcheck` checks indexes alone.
    pub tables: u64,
    /// B-trees that were checked.
    pub indexes: u64,
    /// Whether every row was looked up in its indexes (PostgreSQL 11 and newer).
    pub rows_in_indexes: bool,
    /// Every fault in a sentence.
    pub faults: Vec<String>,
    /// Duration in seconds.
    pub duration_s: f64,
}

impl VerificationRecord {
    /// Whether no difference and no fault was found.
    pub fn passed(&self) -> bool {
        self.faults.is_empty() && self.structure.as_ref().is_none_or(|structure| structure.faults.is_empty())
    }
}
