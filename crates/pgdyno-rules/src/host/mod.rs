//! Rules of a host: one file each, in the folder of its family.

pub mod boot;
pub mod build;
mod compose;
#[cfg(test)]
mod example;
mod known;
pub mod storage;
pub mod sysctl;
pub mod system;
pub mod tables;
#[cfg(test)]
mod testing;
mod verdict;
#[cfg(test)]
mod walk;
#[cfg(test)]
mod walk_storage;

use pgdyno_inventory::Inventory;

use crate::{Finding, Page, Purpose, Standing};

/// What a rule judges by.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The host.
    pub host: &'a Inventory,
    /// What the server is for.
    pub purpose: Purpose,
}

/// A rule of a host.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// What is to be known of it.
    pub page: Page,
    /// Judges a host; empty where the host has nothing that the rule is about.
    pub judge: fn(&Facts<'_>) -> Vec<Finding>,
}

/// All rules of hosts, family by family.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    [sysctl::RULES, system::RULES, boot::RULES, storage::RULES, build::RULES, tables::RULES]
        .into_iter()
        .flatten()
        .copied()
}

/// What all rules say of a host, worst first, otherwise in the order of the rules.
pub fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = rules().flat_map(|rule| (rule.judge)(facts)).collect();
    findings.sort_by_key(|finding| finding.standing);
    findings
}

impl Rule {
    /// A finding of this rule.
    pub(crate) fn finding(&self, standing: Standing, reason: impl Into<String>) -> Finding {
        Finding {
            name: self.page.name.to_owned(),
            object: String::new(),
            standing,
            present: None,
            recommended: None,
            reason: reason.into(),
            change: None,
        }
    }
}
