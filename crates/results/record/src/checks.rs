//! Results of the data checks after the runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The balance check after runs that write. TPC-B: for every key, the sum of deltas in history must equal the balance
/// of the account, the teller and the branch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BalanceRecord {
    /// `full`, `touched` or `sums`.
    pub mode: String,
    /// Rows examined: accounts, tellers, branches and history.
    pub rows_examined: u64,
    /// Rows of history.
    pub history_rows: u64,
    /// Commits that pgdyno counted in transactions that write history, without those in doubt.
    pub committed: u64,
    /// Attempts in doubt: history may have up to this many additional rows.
    pub in_doubt: u64,
    /// Violations found; 0 is good.
    pub violations: u64,
    /// Descriptions of the first violations.
    pub examples: Vec<String>,
    /// Duration of the check in seconds.
    pub duration_s: f64,
}

impl BalanceRecord {
    /// The check of these tables, and of others that took their place, with so many examples at most.
    #[must_use]
    pub fn with(self, other: &Self, most_examples: usize) -> Self {
        let mut examples = self.examples;
        examples.extend(other.examples.iter().cloned());
        examples.truncate(most_examples);
        Self {
            mode: self.mode,
            rows_examined: self.rows_examined + other.rows_examined,
            history_rows: self.history_rows + other.history_rows,
            committed: self.committed + other.committed,
            in_doubt: self.in_doubt + other.in_doubt,
            violations: self.violations + other.violations,
            examples,
            duration_s: self.duration_s + other.duration_s,
        }
    }
}

/// The consistency check of the TPC-C tables: the conditions of clause 3.3.2, and more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConsistencyRecord {
    /// Warehouses found, in all sets of tables.
    pub warehouses: u64,
    /// Conditions checked.
    pub conditions: u32,
    /// Rows examined over all tables, in one snapshot.
    pub rows_examined: u64,
    /// Violated conditions, added up over all sets of tables; 0 is good.
    pub violations: u64,
    /// Descriptions of the first violations.
    pub examples: Vec<String>,
    /// Duration of the check in seconds.
    pub duration_s: f64,
    /// The sets of tables, if several were driven at one time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sets: Vec<SetConsistency>,
}

/// The consistency check of one of several sets of tables.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SetConsistency {
    /// Its schema or database.
    pub name: String,
    /// Warehouses found.
    pub warehouses: u64,
    /// Rows examined over all its tables.
    pub rows_examined: u64,
    /// Violated conditions; 0 is good.
    pub violations: u64,
}
