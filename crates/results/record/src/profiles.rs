//! Profiles of servers' processes.

use pgdyno_core::{measure::Workload, profile::Profile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The profile of a cell, or of a stage of an operation: all its recordings together, or why there is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileRecord {
    /// The cell; absent for a stage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<Workload>,
    /// The stage, such as `copy` of a load or the name of an operation; absent for a cell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// Recordings that are added up: one for every run of the cell.
    pub recordings: u32,
    /// Recordings that failed, or did not last to the end.
    pub failed: u32,
    /// Why the last of these failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// What was sampled; absent if nothing was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
}
