//! State of the largest TPC-B table in the server.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Storage of the largest TPC-B table as found in the server, which may differ from the request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccountsState {
    /// Number of partitions over all levels; 0 means one plain table.
    pub partitions: u64,
    /// Storage options of all partitions, such as `fillfactor=90`, sorted by name; without the default
    /// `fillfactor=100`.
    pub options: Vec<String>,
    /// Access method, `heap` before version 12; several are separated by spaces.
    pub access_method: String,
    /// Whether the table is unlogged; absent if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unlogged: bool,
    /// Number of foreign keys between the four tables; absent if there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub foreign_keys: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}
