//! The seal of a record.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Digests of a run as it was written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SealRecord {
    /// SHA-256 in hexadecimal of `run.json` without this field: as compact JSON, the keys of every object in the order
    /// of their bytes.
    pub sha256: String,
    /// SHA-256 of the other files of the run directory by name, but for `report.html`; empty until the run is over.
    pub files: BTreeMap<String, String>,
}
