//! A report of one run, independent of its form.

use pgdyno_core::measure::Interval;
use pgdyno_record::RunRecord;

use crate::{
    block::{Block, Fact, Section, Table},
    figure::Format::{Count, Text},
    phrase::{Phrase, phrase},
    run::{Kept, Run, printable_record},
    sections::{
        self, brief, cells, data, head,
        short::{self, Short},
    },
};

/// A report of one run. Every figure in it is tied to its place in `run.json`.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// Identifier of the run.
    pub id: Phrase,
    /// What the run was for, in one sentence.
    pub title: Phrase,
    /// Name of the experiment, servers, instant and status.
    pub heading: Phrase,
    /// Warning above an incomplete run.
    pub warning: Option<Phrase>,
    /// The results, above all sections.
    pub head: Vec<Block>,
    /// The most important figures, for forms that show them large.
    pub cards: Vec<Fact>,
    /// The sections from top to bottom.
    pub sections: Vec<Section>,
    /// The short report, for e-mail.
    pub brief: Vec<Block>,
    /// The short report, for a terminal.
    pub short: Short,
    /// The cells in machine units.
    pub cells: Table,
    /// The runs in machine units, or the blocks of a comparison.
    pub data: Table,
    /// Version of pgdyno, and source of the report.
    pub foot: Phrase,
}

impl Document {
    /// The report of a record and its intervals (which may be empty).
    pub fn new(record: &RunRecord, timeline: &[Interval]) -> Self {
        Self::kept(None, record, timeline)
    }

    /// The report of a run that is kept in this place.
    pub fn kept(kept: Option<&Kept>, record: &RunRecord, timeline: &[Interval]) -> Self {
        let printable = printable_record(record);
        let run = &Run::new(&printable, timeline).kept(kept);
        Self {
            id: run.root().figure("id", Text).into(),
            title: run.root().figure("plan/description", Text).into(),
            heading: head::heading(run),
            warning: head::warning(run),
            head: head::blocks(run),
            cards: head::cards(run),
            sections: sections::all(run),
            brief: brief::blocks(run),
            short: short::short(run),
            cells: cells::table(run),
            data: data::table(run),
            foot: foot(run),
        }
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
