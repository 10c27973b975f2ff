//! A report, independent of its form.

use crate::{
    block::{Block, Doubt, Fact, Section, Table},
    phrase::Phrase,
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

/// The parts of the short report, from top to bottom.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Short {
    /// What was measured on what.
    pub what: Vec<Fact>,
    /// Whether doubts were looked for.
    pub is_judged: bool,
    /// All doubts, the worst first.
    pub doubts: Vec<Doubt>,
    /// The checks that failed.
    pub failed: Vec<Phrase>,
    /// The results in sentences.
    pub found: Vec<Phrase>,
    /// The results in tables, then what was done in addition to the runs.
    pub tables: Vec<Section>,
    /// Number of the first tables that are the results of runs.
    pub results: usize,
    /// What the signs in the tables mean.
    pub legend: Vec<Phrase>,
    /// The checks that passed, and the noise floor.
    pub passed: Vec<Fact>,
    /// The directory of the run, if it is known.
    pub directory: Option<String>,
    /// The command that prints the whole report.
    pub whole: Phrase,
    /// Commands to continue with, each after what it does.
    pub next: Vec<(Phrase, Phrase)>,
}
