//! The slowest transactions of each cell, so that they can be found in the server's log.

use pgdyno_core::measure::CellSummary;
use pgdyno_record::RunRecord;

use crate::{
    figure::{Format, Phrase, Source},
    subjects::{cell_order, name_of_work},
};

/// How many of a cell are shown where there is room.
const SHOWN: usize = 3;

/// The slowest transactions of one cell over its blocks.
#[derive(Debug, Clone, PartialEq)]
pub struct SlowCell {
    /// Subject, script and clients.
    pub cell: Phrase,
    /// The slowest first, at least one: how long, when, who, and in which statement.
    pub attempts: Vec<Phrase>,
}

/// A list for each cell of which single attempts were kept.
pub fn slowest(record: &RunRecord, source: &Source) -> Vec<SlowCell> {
    let mut cells: Vec<_> = record.cells.iter().enumerate().collect();
    if record.levels.is_some() {
        cells.sort_by_key(|(index, _)| cell_order(record, *index));
    }
    cells.into_iter().filter_map(|(index, cell)| of_cell(record, source, index, cell)).collect()
}

fn of_cell(record: &RunRecord, source: &Source, index: usize, cell: &CellSummary) -> Option<SlowCell> {
    let runs = record.runs.iter().enumerate().filter(|(_, run)| run.workload == cell.workload);
    let mut found: Vec<_> = runs
        .flat_map(|(run, of)| of.slowest.iter().enumerate().map(move |(at, slow)| (slow.latency_ns, run, at)))
        .collect();
    found.sort_by(|a, b| b.0.cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let attempts: Vec<_> =
        found.into_iter().take(SHOWN).map(|(_, run, at)| attempt(source, run, at)).collect();
    (!attempts.is_empty()).then(|| SlowCell { cell: name_of_cell(record, source, index), attempts })
}

/// Subject, script and clients of a cell.
pub fn name_of_cell(record: &RunRecord, source: &Source, index: usize) -> Phrase {
    let script = record.cells.get(index).map_or("", |cell| &cell.workload.script);
    let at = |field: &str, format| source.figure(format!("/cells/{index}/workload/{field}"), format);
    Phrase::default()
        .maybe("", at("subject", Format::Text), " ")
        .then(name_of_work(record, source, &format!("/cells/{index}/workload"), script))
        .text("/")
        .figure(at("clients", Format::Count))
}

fn attempt(source: &Source, run: usize, slow: usize) -> Phrase {
    let at = |field: &str, format| source.figure(format!("/runs/{run}/slowest/{slow}/{field}"), format);
    let waited = at("lag_ns", Format::Latency).filter(|lag| lag.value.as_u64() != Some(0));
    let phrase = Phrase::default()
        .figure(at("latency_ns", Format::Latency))
        .maybe(" (", waited, " before it began)")
        .maybe(" at ", at("at_s", Format::Seconds), "")
        .maybe(" (", at("ended_at", Format::Clock), ")")
        .maybe(", pid ", at("backend_pid", Format::Identifier), "");
    match at("statement", Format::Text) {
        Some(statement) => {
            phrase.maybe(", ", at("statement_ns", Format::Latency), " of it in ").figure(Some(statement))
        }
        None => phrase,
    }
}
