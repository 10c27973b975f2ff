//! Setup and workload scripts of the plan in `run.json`, so that results can be reproduced from the record.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::PrewarmRecord;

/// The SQL files of a plan: its setup, and its workloads that are not built in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadFilesRecord {
    /// The setup; absent if the plan has none.
    pub setup: Option<SetupRecord>,
    /// Workloads that are not built in, in the order of the plan.
    pub workloads: Vec<WorkloadRecord>,
}

/// The setup of a plan's own tables.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SetupRecord {
    /// The SQL files in execution order.
    pub texts: Vec<TextRecord>,
    /// Values of the variables in these files.
    pub variables: BTreeMap<String, String>,
}

/// Result of a setup.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SetupDone {
    /// Statements executed.
    pub statements: u64,
    /// Seconds for the statements.
    pub statements_s: f64,
    /// Seconds for VACUUM and ANALYZE of the tables.
    pub vacuum_s: f64,
    /// Tables created.
    pub tables: u64,
    /// Size of these tables and their indexes in bytes.
    pub size_bytes: u64,
    /// How the tables were read into shared buffers after the setup; absent if they do not fit, or if that is not
    /// possible.
    pub prewarm: Option<PrewarmRecord>,
}

/// A workload that is not built in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadRecord {
    /// Name of the workload; the value of `script` in runs and cells.
    pub name: String,
    /// Query protocol: `simple`, `extended` or `prepared`.
    pub protocol: String,
    /// Scripts with their weights.
    pub scripts: Vec<WeightedText>,
    /// Values of the variables in scripts and reset, except `client_id`, `clients`, `max_clients`, `scale` and seeds.
    pub variables: BTreeMap<String, String>,
    /// The SQL executed before every run; absent without a reset.
    pub reset: Option<TextRecord>,
}

/// A script with its weight.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WeightedText {
    /// Weight of the script among the scripts of the workload.
    pub weight: u32,
    /// Name, digest and content.
    #[serde(flatten)]
    pub text: TextRecord,
}

/// A SQL file or text with its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TextRecord {
    /// The file name as given in the plan, or the plan's key that has the text.
    pub name: String,
    /// SHA-256 of the content as read, in hexadecimal.
    pub sha256: String,
    /// The content, with the values after `PASSWORD` redacted.
    pub text: String,
}
