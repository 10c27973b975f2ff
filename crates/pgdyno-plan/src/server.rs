//! The server to measure.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The server to measure, created with these keys. An existing server is named by flags and `PG*` variables,
/// never in a plan, so that a plan can be shown to anybody.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ServerPlan {
    /// Major or exact version, for example `18` or `9.6.24`.
    #[schemars(extend("examples" = ["18", "9.6.24"]))]
    pub pg: Option<String>,
    /// Name of a build that `pgdyno build` made.
    #[schemars(extend("x-expects" = "the name of a build in quotes, as `pgdyno builds` lists them"))]
    pub build: Option<String>,
    /// Directory of the programs `initdb` and `postgres`.
    pub bindir: Option<String>,
    /// Data directory to create; it must be empty or absent.
    pub data: Option<String>,
    /// Directory for WAL if separate from the data directory.
    pub waldir: Option<String>,
    /// Whether data checksums are enabled.
    pub data_checksums: Option<bool>,
    /// Settings that override those chosen from facts.
    #[schemars(extend("x-expects" = "a table of settings with their values in quotes, such as { work_mem = \"64MB\" }"))]
    pub settings: BTreeMap<String, String>,
    /// Processors for the server, for example `0-3,8`.
    #[schemars(extend("examples" = ["0-3,8"]))]
    pub cpus: Option<String>,
}
