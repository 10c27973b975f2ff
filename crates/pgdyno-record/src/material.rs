//! What a plan brought of its own, in `run.json`: it is part of what makes a number checkable.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::PrewarmRecord;

/// The SQL that a plan brought, and what its setup came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MaterialRecord {
    /// What set tables up; absent where the plan has no setup.
    pub setup: Option<SetupRecord>,
    /// The workloads that are not built in, in the order of the plan.
    pub workloads: Vec<WorkloadRecord>,
}

/// Tables of a plan's own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SetupRecord {
    /// Its texts in order.
    pub texts: Vec<TextRecord>,
    /// Variables as the texts saw them.
    pub variables: BTreeMap<String, String>,
}

/// What a setup came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SetupDone {
    /// Statements that were carried out.
    pub statements: u64,
    /// Seconds that they took.
    pub statements_s: f64,
    /// Seconds of VACUUM and ANALYZE of its tables.
    pub vacuum_s: f64,
    /// Tables that it left.
    pub tables: u64,
    /// Size of these tables with their indexes in bytes.
    pub size_bytes: u64,
    /// How they were read into shared buffers afterwards; `None` where they do not fit, or where that cannot be done.
    pub prewarm: Option<PrewarmRecord>,
}

/// A workload of a plan's own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadRecord {
    /// Its name: what `script` is in runs and cells.
    pub name: String,
    /// How its statements are sent: `simple`, `extended` or `prepared`.
    pub protocol: String,
    /// Its scripts with their weights.
    pub scripts: Vec<WeightedText>,
    /// Variables as scripts and reset saw them, beside `client_id`, `clients`, `max_clients`, `scale` and seeds.
    pub variables: BTreeMap<String, String>,
    /// What was carried out before every run; absent where nothing was.
    pub reset: Option<TextRecord>,
}

/// A script among others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WeightedText {
    /// Its weight.
    pub weight: u32,
    /// What stands in it.
    #[serde(flatten)]
    pub text: TextRecord,
}

/// A text with a hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TextRecord {
    /// The file as the plan names it, or the key that holds the text.
    pub name: String,
    /// SHA-256 of its bytes as they were read, in hexadecimal.
    pub sha256: String,
    /// What stands in it; what follows `PASSWORD` is cut.
    pub text: String,
}
