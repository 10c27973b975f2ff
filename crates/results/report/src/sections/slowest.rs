//! The slowest transactions of each cell, so that they can be found in the server's log.

use pgdyno_core::measure::{CellRun, CellSummary};
use pgdyno_document::{
    block::{Block, Cell, Column, Row, Section, Table},
    figure::Format::{Clock, Identifier, Latency, Seconds, Text},
    phrase::{Phrase, maybe, phrase},
};
use pgdyno_record::ComparisonRecord;

use crate::run::Run;

/// Most attempts of a cell, for forms that show several.
const SHOWN: usize = 3;

/// A row for each cell with recorded attempts; `None` without one.
pub fn section(run: &Run<'_>) -> Option<Section> {
    let best = run.best_cells();
    let row = |(index, cell): (usize, &CellSummary)| {
        let mut attempts = attempts(run, cell).into_iter();
        let slowest = Cell::from(attempts.next()?).with(attempts);
        Some(Row::new(best.contains(&index), [run.name_of(index).into(), slowest]))
    };
    let rows: Vec<_> = run.cells().into_iter().filter_map(row).collect();
    if rows.is_empty() {
        return None;
    }
    let table = Table::new(vec![Column::text("cell"), Column::text("transaction")], rows);
    Some(Section::new("The slowest transaction of each cell", vec![Block::Table(table)]))
}

/// The slowest attempts of a cell over its blocks that count, the slowest first.
fn attempts(run: &Run<'_>, cell: &CellSummary) -> Vec<Phrase> {
    let counted = run.record.comparison.as_ref().map(ComparisonRecord::counted_blocks);
    let counts = |of: &CellRun| counted.as_ref().is_none_or(|blocks| blocks.contains(&of.block));
    let runs = run.record.measured_runs().iter().enumerate();
    let runs = runs.filter(|(_, of)| of.workload == cell.workload && counts(of));
    let mut found: Vec<_> = runs
        .flat_map(|(index, of)| {
            of.slowest.iter().enumerate().map(move |(at, slow)| (slow.latency_ns, index, at))
        })
        .collect();
    found.sort_by(|a, b| b.0.cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    found.into_iter().take(SHOWN).map(|(_, index, at)| attempt(run, index, at)).collect()
}

fn attempt(run: &Run<'_>, index: usize, slow: usize) -> Phrase {
    let at = run.source.at(format!("/runs/{index}/slowest/{slow}"));
    let waited = at.figure("lag_ns", Latency).filter(|lag| lag.value.as_u64() != Some(0));
    let statement = match at.figure("statement", Text) {
        Some(text) => phrase![maybe(", ", at.figure("statement_ns", Latency), " of it in "), Some(text)],
        None => Phrase::default(),
    };
    phrase![
        at.figure("latency_ns", Latency),
        maybe(" (", waited, " before it began)"),
        maybe(" at ", at.figure("at_s", Seconds), ""),
        maybe(" (", at.figure("ended_at", Clock), ")"),
        maybe(", pid ", at.figure("backend_pid", Identifier), ""),
        statement,
        driver_waited(run, index, slow),
    ]
}

/// The driver's own wait for a CPU, if it may be half of the latency or more.
fn driver_waited(run: &Run<'_>, index: usize, slow: usize) -> Phrase {
    let at = run.source.at(format!("/runs/{index}/slowest/{slow}"));
    let ns = |field: &str| at.figure(field, Latency).and_then(|figure| figure.value.as_u64());
    match ns("driver_waited_ns").zip(ns("latency_ns")) {
        Some((waited, latency)) if 2 * waited >= latency => {
            phrase![
                ", around which pgdyno's threads together waited ",
                at.figure("driver_waited_ns", Latency),
                " for a CPU"
            ]
        }
        _ => Phrase::default(),
    }
}
