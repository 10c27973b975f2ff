//! Words of the boot line.

mod clocksource;
mod elevator;
mod hugepages;
mod hugepagesz;
mod intel_idle;
mod isolcpus;
mod mitigations;
mod numa;
mod processor;
mod scsi_scan;
mod transparent;
mod tsc;
mod use_blk_mq;

use super::Rule;

/// Rules of the boot line, in the order in which they are printed.
pub const RULES: &[&Rule] = &[
    &numa::RULE,
    &elevator::RULE,
    &use_blk_mq::RULE,
    &scsi_scan::RULE,
    &intel_idle::RULE,
    &processor::RULE,
    &transparent::RULE,
    &hugepages::RULE,
    &hugepagesz::RULE,
    &mitigations::RULE,
    &isolcpus::RULE,
    &clocksource::RULE,
    &tsc::RULE,
];
