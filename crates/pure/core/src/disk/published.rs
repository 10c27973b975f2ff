//! Published figures that are shown next to those of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A published figure. It was not measured here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PublishedFigure {
    /// Program, case and quantity, joined by dots, such as `pg_test_fsync.one_8kb.fdatasync`.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Where it was measured, by its name in the file; absent if that is not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<String>,
    /// The number: of the raw output, or else of the summary.
    pub value: f64,
    /// Why it contradicts another figure; absent if it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspect: Option<String>,
}
