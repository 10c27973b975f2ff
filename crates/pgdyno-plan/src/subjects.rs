//! Several servers in one plan.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ServerPlan;

/// Most subjects of a plan; all their servers run at once.
pub const MAX_SUBJECTS: usize = 16;
/// One of several servers to measure. As in `[server]`, existing servers are never named in a plan.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SubjectPlan {
    /// Name in reports: one line of 1 to 40 characters. Default: the values of the other keys.
    #[schemars(length(min = 1, max = 40), extend("examples" = ["old"]))]
    pub name: Option<String>,
    /// Major or exact version, for example `18` or `9.6.24`.
    #[schemars(extend("examples" = ["18", "9.6.24"]))]
    pub pg: Option<String>,
    /// Name of a build that `pgdyno build` made.
    #[schemars(extend("x-expects" = "the name of a build in quotes, as `pgdyno builds` lists them"))]
    pub build: Option<String>,
    /// Directory of the programs `initdb` and `postgres`.
    pub bindir: Option<String>,
    /// Whether to use a bundle even if PostgreSQL is installed.
    pub bundle: bool,
    /// Data directory to create; it must be empty or absent.
    pub data: Option<String>,
    /// Directory for WAL if separate from the data directory.
    pub waldir: Option<String>,
    /// Settings that override those of `[server]`.
    #[schemars(extend("x-expects" = "a table of settings with their values in quotes, such as { work_mem = \"64MB\" }"))]
    pub settings: BTreeMap<String, String>,
}

impl SubjectPlan {
    /// Keys of the subject in the form of `[server]`.
    pub(super) fn server(&self) -> ServerPlan {
        let Self { name: _, pg, build, bindir, bundle: _, data, waldir, settings } = self.clone();
        ServerPlan { pg, build, bindir, data, waldir, settings, ..ServerPlan::default() }
    }
}
