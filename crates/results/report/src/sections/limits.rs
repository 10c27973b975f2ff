//! What limits each cell, with its evidence.

use std::collections::BTreeSet;

use pgdyno_core::results::BottleneckKind;
use pgdyno_document::{
    block::{Block, Column, Row, Section, Table, Tone},
    figure::Format::{Part, Text, Word},
    phrase::{Phrase, joined, phrase},
};

use crate::{run::Run, words};

/// A row for every limit of every cell, then what to try; `None` if no cell was judged.
pub fn section(run: &Run<'_>) -> Option<Section> {
    let cells = &run.record.limits;
    let columns =
        vec![Column::words("cell"), Column::text("limit, share of the clients' time, and evidence")];
    let rows = (0..cells.len()).flat_map(|cell| of_cell(run, cell)).collect();
    let table = Block::Table(Table::new(columns, rows));
    (!cells.is_empty()).then(|| {
        let blocks = [Some(table), advice(run)].into_iter().flatten().collect();
        Section::new("What limits throughput", blocks)
    })
}

/// The limits of a cell, whose name is in the first row.
fn of_cell(run: &Run<'_>, cell: usize) -> Vec<Row> {
    let (limits, at) = (&run.record.limits[cell], run.root().at(format!("limits/{cell}")));
    let name = |first: bool| if first { at.figure("cell", Text).into() } else { Phrase::default() };
    let row = |index: usize| {
        let own = at.at(format!("found/{index}"));
        let count = limits.found[index].evidence.len();
        let evidence = at.texts(&format!("found/{index}/evidence"), count, MOST_EVIDENCE);
        let text = phrase![
            words::bottleneck(limits.found[index].kind),
            ", ",
            own.figure("share", Part),
            ", ",
            own.figure("confidence", Word),
            ": ",
            joined(evidence.into_iter().map(Phrase::from), "; "),
        ];
        Row::new(index == 0, [name(index == 0).into(), text.into()])
    };
    match limits.found.len() {
        0 => vec![Row::new(true, [name(true).into(), phrase!["none found: ", unseen(run, cell)].into()])],
        found => (0..found).map(row).collect(),
    }
}

/// Most clauses of evidence.
const MOST_EVIDENCE: usize = 4;

/// What could not be seen, for a cell of which nothing was found.
fn unseen(run: &Run<'_>, cell: usize) -> Phrase {
    let (limits, at) = (&run.record.limits[cell], run.root().at(format!("limits/{cell}")));
    let missing = at.texts("unseen", limits.unseen.len(), limits.unseen.len());
    match missing.is_empty() {
        true => "clients, CPUs and devices had reserves".into(),
        false => phrase!["not observed: ", joined(missing.into_iter().map(Phrase::from), "; ")],
    }
}

/// What to try about the first limit of each cell, and how to check it, each kind once.
fn advice(run: &Run<'_>) -> Option<Block> {
    let mut seen: BTreeSet<BottleneckKind> = BTreeSet::new();
    let first = |(cell, limits): (usize, &pgdyno_core::results::CellLimits)| {
        let own = run.root().at(format!("limits/{cell}/found/0"));
        let kind = limits.found.first()?.kind;
        let text = phrase![
            words::bottleneck(kind),
            ": ",
            own.figure("next", Text),
            " To check: ",
            own.figure("refuted_by", Text),
            ". If throughput stays the same, this was not the limit."
        ];
        seen.insert(kind).then_some(text)
    };
    let all: Vec<_> = run.record.limits.iter().enumerate().filter_map(first).collect();
    Block::prose(Tone::Notes, all)
}

/// The limit of the best cell of each script in a sentence; nothing for cells without one.
pub fn sentences(run: &Run<'_>) -> Vec<Phrase> {
    let best = run.best_cells();
    let names: Vec<String> = best.iter().map(|cell| run.record.cells[*cell].workload.cell()).collect();
    let of = |(cell, limits): (usize, &pgdyno_core::results::CellLimits)| {
        let kind = limits.found.first()?.kind;
        let at = run.root().at(format!("limits/{cell}"));
        let share = at.figure("found/0/share", Part);
        names.contains(&limits.cell).then(|| {
            phrase![
                at.figure("cell", Text),
                " is limited by ",
                words::bottleneck(kind),
                " (",
                share,
                " of the time)."
            ]
        })
    };
    run.record.limits.iter().enumerate().filter_map(of).collect()
}
