//! The seal of a record in `run.json`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Digests of a run at the time it was written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SealRecord {
    /// SHA-256 in hexadecimal of `run.json` without this field: as compact JSON with the keys of every object in byte
    /// order.
    pub sha256: String,
    /// SHA-256 of the other files of the run directory by name, except `report.html`; empty until the run ends.
    pub files: BTreeMap<String, String>,
}
