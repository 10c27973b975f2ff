//! What was chosen and set, and the command that runs it again.

use crate::{
    block::{Block, Column, Row, Section, Table},
    figure::Format::{Length, Text},
    phrase::phrase,
    run::Run,
};

/// What the command that runs it again promises.
const AGAIN: &str =
    "With the same seed. What was chosen from facts is chosen anew, from the facts of that day.";

/// What was chosen from facts, with the reasons; `None` if nothing was.
pub fn chosen(run: &Run<'_>) -> Option<Section> {
    let table = texts(
        run,
        "choices",
        run.record.choices.len(),
        [("name", "what"), ("value", "value"), ("reason", "why")],
    );
    (!table.is_empty()).then(|| Section::new("Chosen from facts", vec![Block::Table(table)]))
}

/// The settings of a single server that do not have their default; `None` without one.
pub fn settings(run: &Run<'_>) -> Option<Section> {
    let list = "subjects/0/server/settings";
    let count = run.only_server()?.settings.len();
    let table = texts(run, list, count, [("name", "setting"), ("value", "value"), ("source", "from")]);
    let number = run.root().figure(list, Length);
    let title = phrase!["All settings that do not have their default (", number, ")"];
    (count > 0).then(|| Section { folded: true, ..Section::new(title, vec![Block::Table(table)]) })
}

/// A table of texts: a row for each element of a list, a column for each field with its heading.
fn texts(run: &Run<'_>, list: &str, count: usize, columns: [(&str, &'static str); 3]) -> Table {
    let row = |index: usize| {
        let at = run.root().at(list).at(index);
        Row::new(false, columns.map(|(field, _)| at.figure(field, Text).into()))
    };
    let columns = columns.map(|(_, heading)| Column::text(heading));
    Table::new(columns.into(), (0..count).map(row).collect())
}

/// The command that runs it again.
pub fn again(run: &Run<'_>) -> Section {
    let command = phrase![run.root().figure("command", Text)];
    Section::new("Run it again", vec![Block::Code(command), Block::text(AGAIN)])
}
