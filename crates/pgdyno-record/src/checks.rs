//! What was checked after the runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The balance check after runs that write (TPC-B: what was added to accounts, tellers and branches is what
/// history holds, key by key).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BalanceRecord {
    /// `full`, `touched` or `sums`.
    pub mode: String,
    /// Rows examined: accounts, tellers, branches and history.
    pub rows_examined: u64,
    /// Rows of history.
    pub history_rows: u64,
    /// Commits that pgdyno counted in transactions that write history; in doubt ones apart.
    pub committed: u64,
    /// Attempts in doubt: history may hold up to this many rows more.
    pub in_doubt: u64,
    /// Violations found; 0 is good.
    pub violations: u64,
    /// The first violations in words.
    pub examples: Vec<String>,
    /// Seconds it took.
    pub duration_s: f64,
}

/// The check of TPC-C's tables: the conditions of clause 3.3.2, and more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConsistencyRecord {
    /// Warehouses found.
    pub warehouses: u64,
    /// Conditions that were looked at.
    pub conditions: u32,
    /// Rows examined over all tables, in one snapshot.
    pub rows_examined: u64,
    /// Conditions that do not hold; 0 is good.
    pub violations: u64,
    /// The first places where one does not, in words.
    pub examples: Vec<String>,
    /// Seconds it took.
    pub duration_s: f64,
}
