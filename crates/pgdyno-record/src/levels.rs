//! What a run of several subjects adds to `run.json`.

use pgdyno_core::results::LevelResult;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What every subject came to beside the first, at each level of each script.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LevelsRecord {
    /// A difference within ± this share does not matter.
    pub margin: f64,
    /// Levels of which there is a verdict: so many chances of a false alarm at 5 % each.
    pub judged: u32,
    /// Every subject but the first beside the first, level by level.
    pub list: Vec<LevelResult>,
}
