//! Input of a report: the record, its JSON with the sources of all figures, and its intervals.

use std::{borrow::Cow, sync::Arc};

use pgdyno_core::{
    measure::{CellSummary, Interval, Workload},
    results::{ComparedRate, Tails},
    units,
};
use pgdyno_document::{
    figure::Format,
    flame::Flame,
    phrase::{Phrase, maybe, phrase},
};
use pgdyno_record::RunRecord;
use serde_json::Value;

use crate::{
    over_time::OverTime,
    source::{Place, Source},
};

/// The default protocol, which is not shown.
const USUAL_PROTOCOL: &str = "prepared";

/// A recorded run with everything that its report needs.
pub struct Run<'a> {
    /// The record.
    pub record: &'a RunRecord,
    /// The record as JSON, from which figures are taken.
    pub source: Source,
    /// The intervals of all runs; may be empty.
    pub timeline: &'a [Interval],
    /// Where the run is kept, if the reader can go there.
    pub kept: Option<&'a Kept>,
    /// What its other files contain.
    pub details: Details<'a>,
}

/// What a run directory contains besides its record and its timeline.
#[derive(Debug, Clone, Copy, Default)]
pub struct Details<'a> {
    /// Observations and events, which only forms with charts show.
    pub over_time: Option<&'a OverTime>,
    /// What the slowest transactions waited for.
    pub tails: Option<&'a Tails>,
    /// Stacks of profiles, which only forms with charts show.
    pub flames: &'a [Arc<Flame>],
}

/// Where a run is kept, and how commands find it there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// What commands call the run: its ID, or its directory.
    pub called: String,
    /// The directory of the run.
    pub directory: String,
}

impl<'a> Run<'a> {
    /// The run of a record and its intervals.
    pub fn new(record: &'a RunRecord, timeline: &'a [Interval]) -> Self {
        let source = Source(serde_json::to_value(record).unwrap_or(Value::Null));
        Self { record, source, timeline, kept: None, details: Details::default() }
    }

    /// The run in its place.
    pub fn kept(self, kept: Option<&'a Kept>) -> Self {
        Self { kept, ..self }
    }

    /// The run with the contents of its other files.
    pub fn with(self, details: Details<'a>) -> Self {
        Self { details, ..self }
    }

    /// The name of the run in a command.
    pub fn in_commands(&self) -> Phrase {
        match self.kept.filter(|kept| kept.called != self.record.id) {
            Some(kept) => units::printable(&kept.called).into_owned().into(),
            None => self.root().figure("id", Format::Text).into(),
        }
    }

    /// Whether tables were operated on and nothing was driven.
    pub fn is_of_operations(&self) -> bool {
        // One that was killed may have none yet.
        let drives = self.record.plan.blocks > 0 || self.record.pgbench.is_some();
        // A comparison of loads has no runs, and operations that verify the tables.
        let asks = self.record.comparison.is_some();
        self.record.runs.is_empty() && !asks && (!drives || !self.record.operations.is_empty())
    }

    /// Whether loads are compared.
    pub fn compares_loads(&self) -> bool {
        self.record.comparison.as_ref().is_some_and(|of| of.by == ComparedRate::LoadedRows)
    }

    /// Whether the storage of directories is compared, without a server.
    pub fn compares_storage(&self) -> bool {
        let by = self.record.comparison.as_ref().map(|of| of.by);
        matches!(by, Some(ComparedRate::Syncs | ComparedRate::Reads))
    }

    /// The place of the whole record.
    pub fn root(&self) -> Place<'_> {
        self.source.root()
    }

    /// The place of a cell.
    pub fn cell(&self, index: usize) -> Place<'_> {
        self.source.at(format!("/cells/{index}"))
    }

    /// The place of a subject.
    pub fn subject(&self, index: usize) -> Place<'_> {
        self.source.at(format!("/subjects/{index}"))
    }

    /// Name of a subject.
    pub fn name(&self, index: usize) -> Phrase {
        self.subject(index).figure("name", Format::Text).into()
    }

    /// ` of NAME`, a suffix of titles; empty if there is one subject.
    pub fn whose(&self, index: usize) -> Phrase {
        match self.record.subjects.len() {
            0 | 1 => Phrase::default(),
            _ => phrase![" of ", self.name(index)],
        }
    }

    /// The only server; `None` with several subjects.
    pub fn only_server(&self) -> Option<&pgdyno_core::facts::ServerFacts> {
        let [only] = self.record.subjects.as_slice() else { return None };
        only.server.as_ref()
    }

    /// Index of a workload's subject; 0 if it names none.
    pub fn place_of(&self, workload: &Workload) -> usize {
        self.record.place_of(workload).unwrap_or(0)
    }

    /// The script of the workload at a place, followed by its protocol if that is not the default or not the only one.
    pub fn script(&self, workload: &Place<'_>, script: &str) -> Phrase {
        let workloads = self.record.cells.iter().map(|cell| &cell.workload);
        let mut protocols = workloads.filter(|own| own.script == script).map(|own| &own.protocol);
        let first = protocols.next();
        let several = protocols.any(|other| Some(other) != first);
        let protocol = workload.figure("protocol", Format::Text);
        let protocol = protocol.filter(|protocol| several || protocol.value != USUAL_PROTOCOL);
        phrase![workload.figure("script", Format::Text), maybe(" (", protocol, ")")]
    }

    /// The script of a cell.
    pub fn script_of(&self, cell: usize) -> Phrase {
        let script = self.record.cells.get(cell).map_or("", |cell| &cell.workload.script);
        self.script(&self.cell(cell).at("workload"), script)
    }

    /// Script of a cell, after the subject if there are several.
    pub fn work_of(&self, cell: usize) -> Phrase {
        phrase![
            maybe("", self.cell(cell).figure("workload/subject", Format::Text), " "),
            self.script_of(cell)
        ]
    }

    /// Subject, script and clients of a cell.
    pub fn name_of(&self, cell: usize) -> Phrase {
        phrase![self.work_of(cell), "/", self.cell(cell).figure("workload/clients", Format::Count)]
    }

    /// Sort key of cells: script and protocol in execution order, clients, subject.
    fn order(&self, cell: usize) -> (usize, u32, usize) {
        let own = &self.record.cells[cell].workload;
        let same = |other: &CellSummary| {
            (&other.workload.script, &other.workload.protocol) == (&own.script, &own.protocol)
        };
        let script = self.record.cells.iter().position(same).unwrap_or(cell);
        (script, own.clients, self.place_of(own))
    }

    /// All cells in listing order, with those of several subjects next to each other, because their execution order is
    /// random.
    pub fn cells(&self) -> Vec<(usize, &'a CellSummary)> {
        let mut cells: Vec<_> = self.record.cells.iter().enumerate().collect();
        if self.record.levels.is_some() {
            cells.sort_by_key(|(index, _)| self.order(*index));
        }
        cells
    }

    /// The cells of one subject, script, protocol and rate each, in the order of the record.
    pub fn groups(&self) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let workload = |cell: usize| &self.record.cells[cell].workload;
        for cell in 0..self.record.cells.len() {
            match groups.iter_mut().find(|group| is_same_work(workload(group[0]), workload(cell))) {
                Some(group) => group.push(cell),
                None => groups.push(vec![cell]),
            }
        }
        if self.record.levels.is_some() {
            groups.sort_by_key(|group| {
                let (script, _, subject) = self.order(group[0]);
                (script, subject)
            });
        }
        groups
    }

    /// The cell of a group with the most TPS.
    pub fn best(&self, group: &[usize]) -> Option<usize> {
        let tps = |cell: &usize| self.record.cells[*cell].tps.value;
        group.iter().copied().max_by(|a, b| tps(a).total_cmp(&tps(b)))
    }

    /// The best cell of every group.
    pub fn best_cells(&self) -> Vec<usize> {
        self.groups().iter().filter_map(|group| self.best(group)).collect()
    }
}

/// Whether two cells differ only in the client count.
pub fn is_same_work(a: &Workload, b: &Workload) -> bool {
    (&a.subject, &a.script, &a.protocol, a.rate_per_s) == (&b.subject, &b.script, &b.protocol, b.rate_per_s)
}

/// ` client` or ` clients`.
pub fn clients(count: u32) -> &'static str {
    if count == 1 { " client" } else { " clients" }
}

/// A record with texts that are safe for a terminal: texts from servers and others may contain escape sequences.
pub fn printable_record(record: &RunRecord) -> Cow<'_, RunRecord> {
    let mut json = serde_json::to_value(record).unwrap_or(Value::Null);
    if !make_printable(&mut json) {
        return Cow::Borrowed(record);
    }
    // Texts remain texts, so the value is still a valid record.
    let text = serde_json::to_vec(&json).unwrap_or_default();
    serde_json::from_slice(&text).map_or(Cow::Borrowed(record), Cow::Owned)
}

/// Escapes all texts but their line ends; returns whether something was changed.
pub fn make_printable(json: &mut Value) -> bool {
    escape(json, units::printable_lines)
}

/// Escapes all texts in a way; returns whether something was changed.
pub fn escape(json: &mut Value, way: fn(&str) -> Cow<'_, str>) -> bool {
    match json {
        Value::String(text) => match way(text) {
            Cow::Borrowed(_) => false,
            Cow::Owned(printable) => {
                *text = printable;
                true
            }
        },
        // Without short circuit: all texts must be escaped.
        Value::Array(list) => list.iter_mut().map(|one| escape(one, way)).fold(false, |any, one| any | one),
        Value::Object(fields) => {
            fields.values_mut().map(|one| escape(one, way)).fold(false, |any, one| any | one)
        }
        _ => false,
    }
}
