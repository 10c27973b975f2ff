//! Tables that were there before a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AccountsState, Set};

/// Tables of a set that were there before a run, as they were found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExistingTables {
    /// The set of tables.
    pub set: Set,
    /// Schema of the tables.
    pub schema: String,
    /// Owner of the largest table.
    pub owner: String,
    /// Their scale: the scale factor of TPC-B, the rows of `test`, or the number of warehouses.
    pub scale: u64,
    /// Seed of the load, if `pgdyno load` loaded them and left its record; absent if another program did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loaded_by: Option<u64>,
    /// Storage of `pgbench_accounts`; absent for other sets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accounts: Option<AccountsState>,
}

impl ExistingTables {
    /// The tables in words, such as `tpcb at scale 10 in schema public`.
    pub fn words(&self) -> String {
        let Self { set, schema, scale, .. } = self;
        match set {
            Set::Tpcb => format!("tpcb at scale {scale} in schema {schema}"),
            _ => format!("{} with {scale} {} in schema {schema}", set.name(), set.scale_word()),
        }
    }
}
