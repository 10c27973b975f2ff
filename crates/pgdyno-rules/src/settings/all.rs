//! All rules of settings, and what they recommend together.

use pgdyno_core::facts::Choice;

use super::{
    background_writer, catalogue, checkpoints, client, connections, durability, inputs::Inputs, io, logging,
    memory, parallel, planner, replication, rule::Rule, statistics, timeouts, vacuum, wal,
};
use crate::{Page, Purpose};

const FAMILIES: [&[Rule]; 15] = [
    memory::RULES,
    connections::RULES,
    durability::RULES,
    wal::RULES,
    checkpoints::RULES,
    background_writer::RULES,
    replication::RULES,
    planner::RULES,
    io::RULES,
    parallel::RULES,
    vacuum::RULES,
    statistics::RULES,
    logging::RULES,
    timeouts::RULES,
    client::RULES,
];

/// All rules, family by family, in the order in which they are printed.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    FAMILIES.into_iter().flatten()
}

/// The rule of a setting, by its name in any case.
pub fn rule(name: &str) -> Option<&'static Rule> {
    rules().find(|rule| rule.page.is_of(name))
}

/// The pages of all rules.
pub fn pages() -> impl Iterator<Item = &'static Page> {
    rules().map(|rule| &rule.page)
}

/// The page of a setting, by its name in any case.
pub fn page(name: &str) -> Option<&'static Page> {
    rule(name).map(|rule| &rule.page)
}

/// The settings of a `postgresql.conf` for a server with these facts, each with its reason.
///
/// A setting that would stay at the server's default is left out, and so is one that its major does not have. What a
/// commit waits for is never among them.
pub fn recommend(inputs: &Inputs<'_>) -> Vec<Choice> {
    rules().filter_map(|rule| rule.choose(inputs)).collect()
}

/// The value that a rule chooses for one setting; `None` if it leaves the default, or the major does not have it.
pub fn choose(name: &str, inputs: &Inputs<'_>) -> Option<Choice> {
    rule(name)?.choose(inputs)
}

/// Settings that may help, and that somebody has to decide on: they are shown as comments and never set.
pub fn hints(inputs: &Inputs<'_>) -> Vec<Choice> {
    let hint = |name: &str, value: &str, reason: &str| Choice {
        name: name.to_owned(),
        value: value.to_owned(),
        reason: reason.to_owned(),
    };
    let mut hints = Vec::new();
    if inputs.purpose == Purpose::BulkLoad {
        hints.push(hint(
            "wal_level",
            "minimal",
            "only for a load that can be repeated: no archive, no standby, no base backup until it is \
             raised",
        ));
        hints.push(hint("max_wal_senders", "0", "wal_level = minimal asks for it"));
    }
    if catalogue::entry("wal_compression", inputs.version_num).is_some_and(|entry| entry.since >= 150_000) {
        hints.push(hint(
            "wal_compression",
            "lz4",
            "less WAL for some CPU time, if the server is built with lz4; not measured here",
        ));
    }
    hints
}
