//! What the slowest transactions waited for, as `pgdyno why` prints it.

use pgdyno_core::results::{Tail, Tails};
use pgdyno_document::{
    Document, Short,
    block::{Block, Column, Fact, Row, Section, Table, Tone},
    figure::Format::{Count, Latency, Text},
    phrase::{Phrase, phrase},
};
use pgdyno_record::RunRecord;

use crate::{
    run::{Kept, Run, printable_record},
    sections::{
        head,
        tail::{self, TailPlace},
    },
    source::Source,
};

/// What the slowest transactions of a run waited for, as a document. Its figures refer to the tails as JSON.
/// `in_detail` are the cells that the short form describes; all others have a line.
pub fn why(kept: &Kept, record: &RunRecord, tails: &Tails, in_detail: &[String]) -> Document {
    let printable = printable_record(record);
    let run = &Run::new(&printable, &[]).kept(Some(kept));
    let source = &tail::source(tails);
    let of_run = head::heading(run);
    let all: Vec<(usize, &Tail)> = tails.tails.iter().enumerate().collect();
    let (detailed, others): (Vec<_>, Vec<_>) =
        all.iter().copied().partition(|(_, tail)| in_detail.contains(&tail.cell));
    let lead = detailed.iter().flat_map(|(index, of)| tail::sentences(of, &at(source, *index)));
    let head: Vec<Block> = Block::prose(Tone::Lead, lead.collect()).into_iter().collect();
    Document {
        id: run.root().figure("id", Text).into(),
        title: phrase!["Why the slowest transactions were slow"],
        heading: phrase!["Why: ", of_run],
        warning: head::warning(run),
        head: head.clone(),
        cards: Vec::new(),
        sections: all.iter().flat_map(|(index, tail)| in_full(tail, &at(source, *index))).collect(),
        short: short(run, source, &detailed, &others),
        brief: head,
        cells: Table::default(),
        data: Table::default(),
        foot: "Written by pgdyno from the recorded run. Every number has a reference to its field in \
               `pgdyno why --json`."
            .into(),
    }
}

fn at(source: &Source, tail: usize) -> TailPlace<'_> {
    TailPlace::of(source, tail, "")
}

/// Everything about a cell.
fn in_full(of: &Tail, at: &TailPlace<'_>) -> Vec<Section> {
    let sentences = tail::sentences(of, at).into_iter().chain(tail::circumstances(of, at));
    let lead = [phrase!["Of ", tail::size(at), ":"]].into_iter().chain(sentences).collect();
    let title: Phrase = at.figure("cell", Text).into();
    let causes = Block::Table(tail::causes(of, at));
    let notes = Block::prose(Tone::Notes, limits(of, at));
    let blocks = Block::prose(Tone::Plain, lead).into_iter().chain([causes]).chain(notes);
    let quotes = Block::Table(tail::quotes(of, at, of.slowest.len()));
    vec![
        Section::new(title, blocks.collect()),
        Section::new(
            phrase![at.figure("cell", Text), ": the slowest, and what was seen of them"],
            vec![quotes],
        ),
    ]
}

/// What was examined, and what cannot be known.
fn limits(of: &Tail, at: &TailPlace<'_>) -> Vec<Phrase> {
    [samples(at)].into_iter().chain(tail::limits(of, at)).collect()
}

fn samples(at: &TailPlace<'_>) -> Phrase {
    phrase![
        at.figure("seen", Count),
        " of ",
        at.figure("recorded", Count),
        " recorded transactions were seen, in ",
        at.figure("samples", Count),
        " samples.",
    ]
}

/// What a terminal shows of it.
fn short(run: &Run<'_>, source: &Source, detailed: &[(usize, &Tail)], others: &[(usize, &Tail)]) -> Short {
    let of_cells = detailed.iter().map(|(index, _)| at(source, *index));
    let what = of_cells.map(|at| Fact::new(at.figure("cell", Text), tail::size(&at)));
    let found = detailed.iter().flat_map(|(index, of)| {
        let at = at(source, *index);
        tail::sentences(of, &at).into_iter().chain(tail::circumstances(of, &at)).chain(limits(of, &at))
    });
    let table = |title: &'static str, table: Table| {
        (!table.is_empty()).then(|| Section::new(title, vec![Block::Table(table)]))
    };
    let of_detailed = detailed.iter().flat_map(|(index, of)| {
        let at = at(source, *index);
        let causes = table("What they waited for", tail::causes(of, &at));
        let quotes = tail::quotes(of, &at, MOST_QUOTED);
        [causes, table("The slowest, and what was seen of them", quotes)]
    });
    let tables = of_detailed.chain([table("Other cells", of_others(source, others))]).flatten().collect();
    let why = phrase!["pgdyno why ", run.in_commands()];
    let of_cell = others.first().map(|(index, _)| {
        let cell = at(source, *index).figure("cell", Text);
        ("see another cell".into(), phrase![why.clone(), " '", cell, "'"])
    });
    Short {
        what: what.collect(),
        found: found.collect(),
        tables,
        whole: phrase![why.clone(), " --full"],
        next: of_cell.into_iter().collect(),
        ..Short::default()
    }
}

/// Most transactions that the short form quotes.
const MOST_QUOTED: usize = 5;

fn of_others(source: &Source, others: &[(usize, &Tail)]) -> Table {
    let columns = vec![Column::text("cell"), Column::number("tail over"), Column::text("most waited for")];
    let row = |(index, of): &(usize, &Tail)| {
        let at = at(source, *index);
        let cells = [
            at.figure("cell", Text).into(),
            at.figure("over_ns", Latency).into(),
            tail::in_short(of, &at).into(),
        ];
        Row::new(true, cells)
    };
    Table::new(columns, others.iter().map(row).collect())
}
