//! The program that made a record.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The pgdyno that measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolRecord {
    /// Version of pgdyno.
    pub version: String,
    /// Commit that pgdyno was built from; `unknown` outside a checkout.
    pub commit: String,
}
