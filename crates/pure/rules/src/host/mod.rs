//! Rules of a host: one file each, in the folder of its family.

pub mod boot;
pub mod build;
mod compose;
#[cfg(test)]
mod example;
mod huge;
mod known;
mod rule;
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

pub use rule::{Facts, Rule};

use crate::Finding;

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
