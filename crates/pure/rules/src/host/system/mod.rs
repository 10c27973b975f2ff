//! Rules of a host beside kernel parameters, and of combinations that do nothing.

mod clocksource;
mod commit_limit;
mod control_group;
mod cpu_frequency;
mod cpu_topology;
mod interrupts;
mod limits;
mod limits_d;
mod login;
mod oom_score;
mod pressure;
mod repeated;
mod transparent_huge_pages;
mod without_effect;

use super::Rule;

/// Rules of this family, in the order in which they are printed.
pub const RULES: &[&Rule] = &[
    &transparent_huge_pages::ENABLED,
    &transparent_huge_pages::DEFRAG,
    &transparent_huge_pages::SHARED,
    &commit_limit::RULE,
    &pressure::SWAP,
    &pressure::PRESSURE,
    &oom_score::RULE,
    &limits::NOFILE,
    &limits::NPROC,
    &limits::CORE,
    &limits::MEMLOCK,
    &limits::STACK,
    &limits_d::RULE,
    &repeated::RULE,
    &cpu_frequency::GOVERNOR,
    &cpu_frequency::TURBO,
    &cpu_frequency::IDLE,
    &cpu_topology::SMT,
    &cpu_topology::STEAL,
    &cpu_topology::INTERLEAVE,
    &clocksource::RULE,
    &interrupts::BALANCE,
    &interrupts::QUEUES,
    &control_group::MEMORY,
    &control_group::CPU,
    &control_group::PROCESSES,
    &control_group::CONTAINER,
    &pressure::BLOCKED,
    &without_effect::ARCHIVE,
    &without_effect::DELAY,
    &without_effect::FREEZE,
];
