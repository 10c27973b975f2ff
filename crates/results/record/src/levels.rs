//! Level-by-level results of several subjects in `run.json`.

use pgdyno_core::results::{LevelResult, ScriptResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Comparison of every subject with the baseline at each level of each script.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LevelsRecord {
    /// A difference within ± this share does not matter.
    pub margin: f64,
    /// Number of levels with a verdict; each by itself has a 5 % chance of a false alarm.
    pub judged: u32,
    /// The results of every subject except the baseline, script by script.
    pub scripts: Vec<ScriptResult>,
    /// The results of every subject except the baseline, level by level.
    pub list: Vec<LevelResult>,
}
