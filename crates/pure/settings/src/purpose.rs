//! What a server is for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a server is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// Many short transactions.
    #[default]
    Oltp,
    /// Loading data once.
    BulkLoad,
    /// Few long queries.
    Olap,
    /// Short transactions, with reports at the same time.
    Mixed,
}

impl Purpose {
    /// All purposes.
    pub const ALL: [Self; 4] = [Self::Oltp, Self::BulkLoad, Self::Olap, Self::Mixed];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Oltp => "oltp",
            Self::BulkLoad => "bulk-load",
            Self::Olap => "olap",
            Self::Mixed => "mixed",
        }
    }
}
