//! What is dangerous or worth improving on the machine of a run.

use pgdyno_document::{
    block::{Block, Column, Row, Section, Table},
    figure::Format::{Text, Word},
    phrase::{Phrase, maybe, phrase},
};

use crate::{run::Run, source::Place};

/// Most rows: the worst come first, and `pgdyno host check RUN` lists all.
const MOST: usize = 12;

/// The findings of rules, the worst first; `None` if there are none.
pub fn section(run: &Run<'_>) -> Option<Section> {
    let count = run.record.host_findings.len();
    let rows = (0..count.min(MOST)).map(|index| row(&run.root().at(format!("host_findings/{index}"))));
    let columns = ["", "setting"].map(Column::words).into_iter();
    let columns = columns.chain(["now", "better", "why"].map(Column::text)).collect();
    let table = Block::Table(Table::new(columns, rows.collect()));
    let more = Block::Code(phrase!["pgdyno host check ", run.in_commands()]);
    let all = "Findings of the rules about this machine, for many short transactions; nothing was changed. All rules, \
               and how each value was computed:";
    (count > 0).then(|| Section::new("The machine", vec![table, Block::text(all), more]))
}

fn row(at: &Place<'_>) -> Row {
    let object = maybe(" of ", at.figure("object", Text), "");
    let values =
        ["present", "recommended", "reason"].map(|field| Phrase::from(at.figure(field, Text)).into());
    let named = [at.figure("standing", Word).into(), phrase![at.figure("name", Text), object].into()];
    Row::new(false, named.into_iter().chain(values))
}
