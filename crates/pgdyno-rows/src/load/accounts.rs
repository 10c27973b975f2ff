//! What a server made of the largest table of TPC-B.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the largest table of TPC-B lies in its server, which may be other than what was asked of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccountsState {
    /// Partitions, over all levels; 0 is one plain table.
    pub partitions: u64,
    /// Storage options such as `fillfactor=90` in the order of their names, of all partitions; not `fillfactor=100`,
    /// which is the default.
    pub options: Vec<String>,
    /// Access method, `heap` before version 12; several are parted by spaces.
    pub access_method: String,
    /// Whether they are unlogged; absent where they are not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unlogged: bool,
    /// Foreign keys between the four tables; absent where there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub foreign_keys: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}
