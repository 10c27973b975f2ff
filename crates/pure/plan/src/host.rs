//! `[host]`: what of the host is changed for the runs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a plan expects of values.
const VALUES: &str = "a table of names with their values in quotes, such as { \"vm.swappiness\" = \"1\" }";

/// What of the host is changed for the runs, and put back after them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HostPlan {
    /// Whether the host is changed; the command line must have `--allow-host-changes`, too, and root must give it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apply: Option<bool>,
    /// Kernel parameters, and files of sysfs by their paths, with the values to set. Default: what `pgdyno host check`
    /// recommends.
    #[schemars(extend("x-expects" = VALUES))]
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
}

impl HostPlan {
    /// The host as it is, whatever else is said.
    pub fn unchanged() -> Self {
        Self { apply: Some(false), ..Self::default() }
    }

    /// The host as recommended.
    pub fn recommended() -> Self {
        Self { apply: Some(true), ..Self::default() }
    }

    /// Whether nothing is said of the host.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the host is changed.
    pub fn applies(&self) -> bool {
        self.apply == Some(true)
    }

    /// This, or the other where nothing is said of the host.
    #[must_use]
    pub fn over(&self, other: &Self) -> Self {
        if self.is_default() { other.clone() } else { self.clone() }
    }
}
