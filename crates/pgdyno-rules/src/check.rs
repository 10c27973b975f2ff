//! What all rules say of a host.

use pgdyno_inventory::Inventory;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Finding, Purpose, Standing,
    host::{Facts, rules},
};

/// What all rules say of a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// Host name.
    pub host: String,
    /// Kernel release.
    pub kernel: String,
    /// What the server is for.
    pub purpose: Purpose,
    /// Number of rules.
    pub rules: u64,
    /// The directories that were judged; empty if all storage was.
    pub directories: Vec<String>,
    /// What the rules found, worst first.
    pub findings: Vec<Finding>,
}

impl Check {
    /// Judges a host by all rules.
    pub fn of(host: &Inventory, purpose: Purpose) -> Self {
        Self {
            host: host.name.clone(),
            kernel: host.kernel.release.clone(),
            purpose,
            rules: rules().count() as u64,
            directories: host.directories.iter().map(|dir| dir.path.clone()).collect(),
            findings: crate::host::check(&Facts { host, purpose }),
        }
    }

    /// Findings of a standing.
    pub fn standing(&self, standing: Standing) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |finding| finding.standing == standing)
    }

    /// Number of findings of a standing.
    pub fn count(&self, standing: Standing) -> u64 {
        self.standing(standing).count() as u64
    }
}
