//! The report of a run.

use pgdyno_core::measure::Interval;
use pgdyno_document::{
    Document,
    figure::Format::{Count, Text},
    phrase::{Phrase, phrase},
};
use pgdyno_record::RunRecord;

use crate::{
    run::{Details, Kept, Run, printable_record},
    sections::{self, brief, csv_cells, csv_runs, head, short},
};

/// The report of a run: the place where it is kept, if it is, its record, its intervals (which may be empty), and what
/// its other files contain. Every figure in it is tied to its place in `run.json`.
pub fn report(
    kept: Option<&Kept>,
    record: &RunRecord,
    timeline: &[Interval],
    details: Details<'_>,
) -> Document {
    let printable = printable_record(record);
    let run = &Run::new(&printable, timeline).kept(kept).with(details);
    Document {
        id: run.root().figure("id", Text).into(),
        title: run.root().figure("plan/description", Text).into(),
        heading: head::heading(run),
        warning: head::warning(run),
        head: head::blocks(run),
        cards: head::cards(run),
        sections: sections::all(run),
        brief: brief::blocks(run),
        short: short::short(run),
        cells: csv_cells::table(run),
        data: csv_runs::table(run),
        foot: foot(run),
    }
}

fn foot(run: &Run<'_>) -> Phrase {
    let root = run.root();
    phrase![
        "Written by pgdyno ",
        root.figure("tool/version", Text),
        " (commit ",
        root.figure("tool/commit", Text),
        ") from run.json, format ",
        root.figure("version", Count),
        ". Every number on this page has a reference to its field there.",
    ]
}
