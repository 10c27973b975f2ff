//! What all rules say of a host.

use std::collections::BTreeSet;

use pgdyno_core::host::Inventory;
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
    /// Rules that concern the host; the others are about what it does not have or does not show.
    pub judging: u64,
    /// The directories that were judged; empty if all storage was.
    pub directories: Vec<String>,
    /// What the rules found, worst first.
    pub findings: Vec<Finding>,
}

impl Check {
    /// Judges a host by all rules.
    pub fn of(host: &Inventory, purpose: Purpose) -> Self {
        let findings = crate::host::check(&Facts { host, purpose });
        let judging = findings.iter().map(|finding| finding.name.as_str()).collect::<BTreeSet<_>>().len();
        Self {
            host: host.name.clone(),
            kernel: host.kernel.release.clone(),
            purpose,
            rules: rules().count() as u64,
            judging: judging as u64,
            directories: host.directories.iter().map(|dir| dir.path.clone()).collect(),
            findings,
        }
    }

    /// Findings with a verdict.
    pub fn standing(&self, standing: Standing) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |finding| finding.standing == standing)
    }

    /// Number of findings with a verdict.
    pub fn count(&self, standing: Standing) -> u64 {
        self.standing(standing).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_without_a_word_are_counted() {
        let nothing = Check::of(&Inventory::default(), Purpose::default());
        assert!(nothing.judging < 20 && nothing.judging < nothing.rules, "{nothing:?}");
        let mut host = Inventory::default();
        host.kernel.sysctls.insert("vm.overcommit_memory".to_owned(), "1".to_owned());
        host.kernel.boot_words = ["scsi_mod.scan=sync", "isolcpus=1"].map(str::to_owned).to_vec();
        let more = Check::of(&host, Purpose::default());
        assert_eq!(more.judging, nothing.judging + 2, "of the parameter, it was said that it is unknown");
    }
}
