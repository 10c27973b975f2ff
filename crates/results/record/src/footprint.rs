//! The data footprint in `run.json`: sizes, and pages in shared buffers.

use pgdyno_core::probe::Held;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Sizes of the measured data and their share in shared buffers, before and after the runs. Determined outside of
/// measured intervals.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FootprintRecord {
    /// Before the first run; absent if it could not be determined.
    pub before: Option<Held>,
    /// After the last run and before the check of the data; absent if it could not be determined.
    pub after: Option<Held>,
}
