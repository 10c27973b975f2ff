//! What `run.json` says of sizes and shared buffers.

use pgdyno_core::probe::Held;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a server held of the data that was measured, each time looked at once, outside of all measured intervals.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeldRecord {
    /// Before the first run; absent where it could not be looked at.
    pub before: Option<Held>,
    /// After the last one, before data was checked.
    pub after: Option<Held>,
}
