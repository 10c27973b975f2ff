//! Several servers in one plan.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ServerPlan;

/// Most subjects of a plan: all their servers are up at once.
pub const MAX_SUBJECTS: usize = 16;
/// One of several servers to measure. As in `[server]`, none that is already there is named in a plan.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SubjectPlan {
    /// Its name in reports: one line of 1 to 40 characters. Without one it is what the other keys say.
    #[schemars(length(min = 1, max = 40))]
    pub name: Option<String>,
    /// Major or exact version, for example `18` or `9.6.24`.
    pub pg: Option<String>,
    /// Name of a build that `pgdyno build` made.
    pub build: Option<String>,
    /// Directory of `initdb` and `postgres`.
    pub bindir: Option<String>,
    /// Whether to take a bundle even where PostgreSQL is installed.
    pub bundle: bool,
    /// Data directory to create; it must be empty or absent.
    pub data: Option<String>,
    /// Directory for WAL, apart from the data directory.
    pub waldir: Option<String>,
    /// Settings over those of `[server]`.
    pub settings: BTreeMap<String, String>,
}

impl SubjectPlan {
    /// The same in the terms of `[server]`, as far as it is said.
    pub(super) fn server(&self) -> ServerPlan {
        let Self { name: _, pg, build, bindir, bundle: _, data, waldir, settings } = self.clone();
        ServerPlan { pg, build, bindir, data, waldir, settings, ..ServerPlan::default() }
    }
}
