//! What of the host was changed for the runs.

use pgdyno_document::{
    block::{Block, Column, Row, Section, Table},
    figure::Format::Text,
    phrase::{Phrase, joined, phrase},
};
use pgdyno_record::{HostChangesRecord, HostStateRecord};

use crate::{run::Run, source::Place};

/// The changes of each state, and what became of them; `None` if the plan says nothing of the host.
pub fn section(run: &Run<'_>) -> Option<Section> {
    let changes = run.record.host_changes.as_ref()?;
    let at = run.root().at("host_changes");
    let by_subject = changes.states.iter().any(|state| !state.subjects.is_empty());
    let states = changes.states.iter().enumerate();
    let rows: Vec<Row> =
        states.flat_map(|(number, of)| rows(&at.at(format!("states/{number}")), of, by_subject)).collect();
    let table = (!rows.is_empty()).then(|| Block::Table(Table::new(columns(by_subject), rows)));
    let ended = match &changes.not_done {
        Some(_) => Block::text(phrase!["Not done: ", at.figure("not_done", Text), "."]),
        None => Block::text(ended(changes)),
    };
    let left = (0..changes.left.len())
        .map(|number| Block::text(phrase!["Left: ", at.figure(format!("left/{number}"), Text), "."]));
    Some(Section::new("Changes of the host", table.into_iter().chain([ended]).chain(left).collect()))
}

fn ended(changes: &HostChangesRecord) -> &'static str {
    match changes.restored {
        Some(true) => "Made for the runs, and reverted after them.",
        Some(false) => {
            "Not reverted when the record was written: `pgdyno host status` shows the state of the host."
        }
        None => "Nothing had to be changed.",
    }
}

fn columns(by_subject: bool) -> Vec<Column> {
    let subject = by_subject.then(|| Column::words("runs of"));
    let values = ["before", "set to", "became"].map(Column::text);
    subject.into_iter().chain([Column::words("setting")]).chain(values).collect()
}

fn rows(at: &Place<'_>, state: &HostStateRecord, by_subject: bool) -> Vec<Row> {
    let subjects = joined(
        at.texts("subjects", state.subjects.len(), state.subjects.len()).into_iter().map(Phrase::from),
        ", ",
    );
    let row = |number: usize| {
        let at = at.at(format!("changed/{number}"));
        let subject = by_subject.then(|| subjects.clone().into());
        let values =
            ["name", "before", "wanted", "became"].map(|field| Phrase::from(at.figure(field, Text)).into());
        Row::new(false, subject.into_iter().chain(values))
    };
    (0..state.changed.len()).map(row).collect()
}
