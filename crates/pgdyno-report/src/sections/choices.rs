//! Chosen values, settings, and the command that repeats the run.

use crate::{
    block::{Block, Column, Row, Section, Table},
    figure::Format::{Length, Text},
    phrase::phrase,
    run::Run,
};

/// Remark on the command.
const AGAIN: &str =
    "With the same seed. Values chosen from facts are chosen again, from the facts found then.";

/// Values chosen from facts, with the reasons; `None` without any.
pub fn chosen(run: &Run<'_>) -> Option<Section> {
    let table = texts(
        run,
        "choices",
        run.record.choices.len(),
        [("name", "choice"), ("value", "value"), ("reason", "reason")],
    );
    (!table.is_empty()).then(|| Section::new("Chosen from facts", vec![Block::Table(table)]))
}

/// Non-default settings of a single server; `None` without one.
pub fn settings(run: &Run<'_>) -> Option<Section> {
    let list = "subjects/0/server/settings";
    let count = run.only_server()?.settings.len();
    let table = texts(run, list, count, [("name", "setting"), ("value", "value"), ("source", "from")]);
    let number = run.root().figure(list, Length);
    let title = phrase!["Non-default settings (", number, ")"];
    (count > 0).then(|| Section { folded: true, ..Section::new(title, vec![Block::Table(table)]) })
}

/// A table of texts with a row for each element of a list and a column for each field.
fn texts(run: &Run<'_>, list: &str, count: usize, columns: [(&str, &'static str); 3]) -> Table {
    let row = |index: usize| {
        let at = run.root().at(list).at(index);
        Row::new(false, columns.map(|(field, _)| at.figure(field, Text).into()))
    };
    let columns = columns.map(|(_, heading)| Column::text(heading));
    Table::new(columns.into(), (0..count).map(row).collect())
}

/// The command that repeats the run.
pub fn again(run: &Run<'_>) -> Section {
    let command = phrase![run.root().figure("command", Text)];
    let remark = (!run.is_of_operations()).then(|| Block::text(AGAIN));
    Section::new("Repeat this run", [Block::Code(command)].into_iter().chain(remark).collect())
}
