//! The sections of a report, one file per topic: turn a recorded run into blocks.

pub mod brief;
pub mod cells;
pub mod charts;
mod checks;
mod choices;
pub mod comparison;
pub mod data;
mod differences;
mod doubts;
mod facts;
mod footprint;
pub mod head;
mod levels;
mod load;
mod method;
pub mod operations;
mod preset;
mod results;
pub mod short;
mod slowest;
mod time;
mod tpcc;
mod verdict;
mod waits;

use crate::{block::Section, run::Run};

/// The sections from top to bottom: results, doubts, and then details.
pub fn all(run: &Run<'_>) -> Vec<Section> {
    let compared = run.record.comparison.as_ref().map(|of| comparison::section(run, of));
    let loads = run.record.comparison.as_ref().and_then(|of| comparison::loads(run, of));
    let levels = run.record.levels.as_ref().map(|of| levels::section(run, of));
    let operated = operations::sections(run);
    let drove = !run.is_of_operations();
    let found = compared.into_iter().chain(loads).chain(levels).chain(results::sections(run));
    let found = found.chain(tpcc::sets(run)).chain(operated);
    let trust = [Some(doubts::section(run)), drove.then(|| checks::section(run))].into_iter().flatten();
    let tpcc = tpcc::section(run).into_iter();
    let seen = tpcc.chain(differences::sections(run)).chain(waits::section(run)).chain(charts::sections(run));
    let details = seen.chain(slowest::section(run));
    let sides = time::section(run).into_iter().chain([facts::section(run)]);
    let sides = sides.chain(preset::sections(run)).chain(choices::chosen(run));
    let method = drove.then(|| method::section(run));
    let again = choices::continued(run).into_iter().chain([choices::again(run)]);
    let end = choices::settings(run).into_iter().chain(method).chain(again);
    found.chain(trust).chain(details).chain(sides).chain(end).collect()
}
