//! Rules of a host, a family a file.
//!
//! ```text
//! Inventory + purpose → Facts → Rule (a page, and which part of the host it judges) → Finding…
//! ```

mod boot;
mod build;
mod cluster;
mod combinations;
mod control_group;
mod disks;
mod ext4;
mod filesystems;
mod geometry;
mod huge;
mod huge_pages;
mod ipc;
mod known;
mod limits;
mod login;
mod lvm;
mod memory;
mod network;
mod overcommit;
mod processors;
mod remedy;
mod rule;
mod scope;
mod tables;
mod tcp;
#[cfg(test)]
mod testing;
mod volumes;
#[cfg(test)]
mod walk;
mod writeback;
mod xfs;
mod zfs;

pub use rule::{Facts, Rule};

use crate::Finding;

/// Rules that somebody looks for in one place.
#[derive(Debug, Clone, Copy)]
pub struct Family {
    /// Its heading.
    pub title: &'static str,
    /// What it is about, in a sentence.
    pub about: &'static str,
    /// Its rules, in the order in which they are printed.
    pub rules: &'static [Rule],
}

const fn family(title: &'static str, about: &'static str, rules: &'static [Rule]) -> Family {
    Family { title, about, rules }
}

/// All families, in the order in which they are printed.
pub const FAMILIES: &[Family] = &[
    family("Memory", "When the kernel reclaims memory, swaps, and ends processes.", memory::RULES),
    family("Overcommit", "How much memory the kernel promises.", overcommit::RULES),
    family("Writeback", "When the kernel writes dirty pages to disks.", writeback::RULES),
    family("Huge pages", "Explicit and transparent huge pages.", huge_pages::RULES),
    family(
        "Processors",
        "NUMA, the scheduler, frequency and sleep, SMT and steal, and the clock.",
        processors::RULES,
    ),
    family("Shared memory and semaphores", "Limits of System V IPC.", ipc::RULES),
    family("Limits", "Open files, processes, core files, locked memory, stack.", limits::RULES),
    family("Network", "Sockets, queues, ports, interrupts of network interfaces.", network::RULES),
    family("TCP", "Connections: how they are made, kept, sized and closed.", tcp::RULES),
    family("Control groups and containers", "Limits around the server.", control_group::RULES),
    family("Combinations", "Settings that do nothing in their combination.", combinations::RULES),
    family("Boot line", "Words of the kernel's command line, which hold from the next boot on.", boot::RULES),
    family("Volumes", "What the whole stack below a data directory promises.", volumes::RULES),
    family("Disks", "Schedulers, queues, read-ahead, caches, blocks, partitions.", disks::RULES),
    family("LVM", "Physical volumes, volume groups and logical volumes.", lvm::RULES),
    family("File systems", "Options that several file systems have; NFS and btrfs.", filesystems::RULES),
    family("ext4", "Options of mkfs.ext4 and of mounts.", ext4::RULES),
    family("XFS", "Options of mkfs.xfs and of mounts.", xfs::RULES),
    family("ZFS", "Properties of datasets and pools, and parameters of the module.", zfs::RULES),
    family("Clusters", "Flags of initdb.", cluster::RULES),
    family("Builds", "Flags of configure and of the compiler.", build::RULES),
    family("Tables and sessions", "Storage parameters, and settings of single sessions.", tables::RULES),
];

/// All rules of hosts, family by family.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    FAMILIES.iter().flat_map(|family| family.rules)
}

/// What all rules say of a host, worst first, otherwise in the order of the rules.
pub fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = rules().flat_map(|rule| rule.judge(facts)).collect();
    findings.sort_by_key(|finding| finding.standing);
    findings
}
