//! The keys of a factor.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Most factors of a plan.
pub(super) const MAX_FACTORS: usize = 8;
/// Most levels of a factor.
pub(super) const MAX_LEVELS: usize = 64;

/// A key of the plan with several levels; every level is combined with those of all other factors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FactorPlan {
    /// Name in reports: one line of 1 to 40 characters. Default: the last word of the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 40), extend("examples" = ["memory"]))]
    pub name: Option<String>,
    /// The key: one of `[server]`, `[host]`, `[load]`, `[variables]` or of a `[[workload]]`, such as
    /// `server.settings.work_mem`; or `server` for levels of several keys.
    #[schemars(extend("examples" = ["server.settings.work_mem", "workload.protocol"]))]
    pub key: String,
    /// The levels. Tables set several keys below the key, and may have a `name`.
    #[schemars(length(min = 1, max = MAX_LEVELS))]
    #[schemars(extend("x-expects" = "a list of values of the key, such as [\"64MB\", \"1GB\"]"))]
    pub levels: Vec<Value>,
}

impl FactorPlan {
    /// Name in reports.
    pub fn title(&self) -> &str {
        self.name.as_deref().unwrap_or_else(|| self.key.rsplit('.').next().unwrap_or_default())
    }
}
