//! The sections of a report, one file per topic: turn a recorded run into blocks.

pub mod brief;
pub mod charts;
mod checks;
mod choices;
pub mod comparison;
pub mod csv_cells;
pub mod csv_runs;
mod declared;
mod differences;
mod disk_shares;
mod doubts;
mod facts;
mod footprint;
pub mod head;
mod host_changes;
mod host_findings;
mod lanes;
mod levels;
mod limits;
mod load;
mod method;
mod observed;
pub mod operations;
mod preset;
pub mod profile;
mod results;
pub mod short;
mod slowest;
pub mod tail;
mod time;
mod tpcc;
mod verdict;
mod waits;

use pgdyno_document::block::Section;

use crate::run::Run;

/// What the slowest transactions waited for, if that is known.
fn waited(run: &Run<'_>) -> Option<Section> {
    let tails = run.details.tails?;
    let best = run.best_cells();
    let best: Vec<_> = best.into_iter().map(|cell| run.record.cells[cell].workload.cell()).collect();
    tail::section(tails, &tail::source(tails), &best)
}

/// The sections from top to bottom: results, doubts, and then details.
pub fn all(run: &Run<'_>) -> Vec<Section> {
    let rates = comparison::rates(run).into_iter();
    let compared = rates.chain(run.record.comparison.as_ref().map(|of| comparison::section(run, of)));
    let loads = run.record.comparison.as_ref().and_then(|of| comparison::loads(run, of));
    let levels = run.record.levels.as_ref().map(|of| levels::section(run, of));
    let operated = operations::sections(run);
    let drove = !run.is_of_operations();
    let found = compared.chain(loads).chain(levels).chain(results::sections(run));
    let found = found.chain(tpcc::sets(run)).chain(operated);
    let found = found
        .chain(limits::section(run))
        .chain(disk_shares::section(run))
        .chain(declared::section(run))
        .chain(host_changes::section(run));
    let trust = [Some(doubts::section(run)), drove.then(|| checks::section(run))].into_iter().flatten();
    let tpcc = tpcc::section(run).into_iter();
    let seen = tpcc.chain(differences::sections(run)).chain(lanes::section(run)).chain(waits::section(run));
    let seen = seen.chain(profile::section(run)).chain(charts::sections(run));
    let details = seen.chain(observed::section(run)).chain(slowest::section(run)).chain(waited(run));
    let sides =
        time::section(run).into_iter().chain(host_findings::section(run)).chain([facts::section(run)]);
    let sides = sides.chain(preset::sections(run)).chain(choices::chosen(run));
    let method = drove.then(|| method::section(run));
    let again = choices::continued(run).into_iter().chain([choices::again(run)]);
    let end = choices::settings(run).into_iter().chain(method).chain(again);
    found.chain(trust).chain(details).chain(sides).chain(end).collect()
}
