//! All rules of settings, and what they recommend together.

use pgdyno_core::facts::{Choice, amount::MB};

use super::{
    background_writer,
    catalogue::{self, Kind},
    checkpoints, client, connections, durability,
    inputs::Inputs,
    io, logging, memory, parallel, planner, replication,
    rule::Rule,
    statistics, timeouts, vacuum, value, wal,
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
    wanted(inputs).into_iter().filter(|choice| !is_default(choice, inputs)).collect()
}

/// The same with the settings that are at the server's default when they are as they should be: what a present
/// configuration is compared with.
pub fn wanted(inputs: &Inputs<'_>) -> Vec<Choice> {
    rules().filter_map(|rule| rule.choose(inputs)).collect()
}

/// Whether a server without the setting has this value. initdb may write another text than the default, and other
/// limits of WAL for segments of another size.
fn is_default(choice: &Choice, inputs: &Inputs<'_>) -> bool {
    /// The size of segments for which the defaults of WAL are.
    const USUAL_SEGMENT: u64 = 16 * MB;
    let (name, segment) = (choice.name.as_str(), inputs.wal_segment_bytes);
    let is_of_segments = ["max_wal_size", "min_wal_size"].contains(&name) && segment != USUAL_SEGMENT;
    catalogue::entry(name, inputs.version_num).is_some_and(|entry| {
        entry.kind != Kind::Text
            && !is_of_segments
            && value::is_same(name, inputs.version_num, &choice.value, entry.default, segment)
    })
}

/// The value that a rule chooses for one setting; `None` if it leaves the default, or the major does not have it.
pub fn choose(name: &str, inputs: &Inputs<'_>) -> Option<Choice> {
    rule(name)?.choose(inputs)
}

/// Settings that may help, and that the user has to decide on: they are shown as comments and never set.
pub fn hints(inputs: &Inputs<'_>) -> Vec<Choice> {
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
    hints.push(hint(
        "tcp_keepalives_idle",
        "60",
        "if clients come over a network: one that vanishes while idle then keeps its locks for 12 minutes (9 probes \
         follow, 75 s apart, by the kernel's defaults) instead of more than two hours, as by the default of \
         net.ipv4.tcp_keepalive_time, 7200",
    ));
    hints.extend(of_unknown_storage(inputs));
    hints
}

fn hint(name: &str, value: impl ToString, reason: &str) -> Choice {
    Choice { name: name.to_owned(), value: value.to_string(), reason: reason.to_owned() }
}

/// What would be right for storage without moving parts, where nothing says what it is; and for WAL, where nothing says
/// how much is free.
fn of_unknown_storage(inputs: &Inputs<'_>) -> Vec<Choice> {
    let mut hints = Vec::new();
    if inputs.rotates().is_none() {
        let why = "if the data is on an SSD or the like, which this host does not know of its storage";
        let ahead = io::pages_ahead(inputs.version_num).to_string();
        let fast = [
            ("random_page_cost", planner::COST_OF_FAST_STORAGE),
            ("effective_io_concurrency", ahead.as_str()),
            ("maintenance_io_concurrency", ahead.as_str()),
        ];
        let here = fast.iter().filter(|(name, _)| catalogue::entry(name, inputs.version_num).is_some());
        hints.extend(here.map(|(name, value)| hint(name, value, why)));
    }
    if inputs.wal_free_bytes().is_none() {
        let why = "if a twentieth of the free space where WAL lies is as much, which is not known here";
        hints.push(hint("max_wal_size", checkpoints::most_wal_size(inputs), why));
    }
    hints
}
