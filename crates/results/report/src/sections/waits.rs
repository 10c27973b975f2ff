//! Wait events of the clients' sessions.

use pgdyno_document::{
    block::{Block, Column, Row, Section, Table},
    figure::Format::Text,
    phrase::{joined, phrase},
};

use crate::run::Run;

/// Most wait events that a row names.
const EVENTS: usize = 4;

/// A row for every cell whose sessions were sampled; `None` without one.
pub fn section(run: &Run<'_>) -> Option<Section> {
    let best = run.best_cells();
    let row = |(index, cell): (usize, &pgdyno_core::measure::CellSummary)| {
        let seen = cell.waits.as_ref().filter(|waits| waits.sessions > 0)?;
        let at = run.cell(index).at("waits");
        let events = (0..seen.events.len().min(EVENTS)).map(|event| {
            let name = at.figure(format!("events/{event}/event"), Text);
            phrase![name, " ", at.share(format!("events/{event}/count"), "sessions")]
        });
        let cells = [run.name_of(index).into(), joined(events, ", ").into()];
        Some(Row::new(best.contains(&index), cells))
    };
    let rows: Vec<_> = run.cells().into_iter().filter_map(row).collect();
    let table = || Table::new(vec![Column::text("cell"), Column::text("most frequent waits")], rows.clone());
    (!rows.is_empty()).then(|| Section::new("Wait events", vec![Block::Table(table())]))
}
