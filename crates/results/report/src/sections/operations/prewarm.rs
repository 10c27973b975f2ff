//! Tables that were read into shared buffers.

use pgdyno_core::probe::{Prewarm, Residency, SeenBy};

use super::probe::heading;
use pgdyno_document::{
    block::{Block, Column, Row, Table, Tone},
    figure::Format::{Bytes, Count, Part, Percent, Seconds, Text, Word},
    phrase::{Phrase, phrase},
};

use crate::source::Place;

/// Share of shared buffers above which tables may evict each other.
const NEARLY_FULL: f64 = 0.75;

/// How much was read, and how much of it is there.
pub fn sentence(at: &Place<'_>, _: &Prewarm) -> Phrase {
    let total = at.at("total");
    let there = total.figure("share", Part);
    let there =
        there.map_or_else(Phrase::default, |share| phrase![", ", Some(share), " of all pages are resident"]);
    phrase![
        total.figure("read_bytes", Bytes),
        " were read into shared buffers in ",
        at.figure("duration_s", Seconds),
        there,
        "."
    ]
}

/// Relations with their pages, and remarks.
pub fn blocks(at: &Place<'_>, of: &Prewarm) -> Vec<Block> {
    let server = at.at("server");
    let head = phrase![heading(&server), ", shared buffers ", server.figure("shared_buffers_bytes", Bytes)];
    // Of a table that is cut, the sum stays, and what is not there as a whole.
    let weight = |of: &Residency| u8::from(of.share.is_none_or(|share| share < 1.0));
    let weighed = |(index, of): (usize, &Residency)| Row { weight: weight(of), ..relation(at, index) };
    let mut rows: Vec<_> = of.relations.iter().enumerate().map(weighed).collect();
    rows.push(Row { weight: 2, ..row("all".into(), &at.at("total")) });
    let names = ["pages", "resident", "share"].map(Column::number);
    let columns = [Column::words("relation")].into_iter().chain(names).collect();
    let read = phrase![
        at.at("total").figure("read_bytes", Bytes),
        " read by ",
        at.figure("method", Text),
        " in ",
        at.figure("duration_s", Seconds),
        "; checked with ",
        at.figure("seen_by", Word)
    ];
    let warnings = Block::prose(Tone::Warning, warnings(at, of));
    let notes = (of.seen_by == SeenBy::SecondRead).then(|| {
        Block::text("for indexes, the second read measures only the share of leaf pages that were resident")
    });
    let found = [Block::text(head), Block::Table(Table::new(columns, rows)), Block::text(read)];
    found.into_iter().chain(warnings).chain(notes).collect()
}

fn relation(at: &Place<'_>, index: usize) -> Row {
    let own = at.at("relations").at(index);
    let name: Phrase = own.figure("name", Text).into();
    Row::new(
        false,
        [
            name.into(),
            own.figure("pages", Count).into(),
            own.figure("resident_pages", Count).into(),
            own.figure("share", Part).into(),
        ],
    )
}

fn row(name: Phrase, at: &Place<'_>) -> Row {
    let [pages, resident] = [at.figure("pages", Count), at.figure("resident_pages", Count)];
    Row::new(false, [name.into(), pages.into(), resident.into(), at.figure("share", Part).into()])
}

fn warnings(at: &Place<'_>, of: &Prewarm) -> Vec<Phrase> {
    let unread = of.relations.iter().enumerate().filter(|(_, relation)| relation.not_read.is_some());
    let mut warnings: Vec<_> = unread
        .map(|(index, _)| {
            let own = at.at("relations").at(index);
            phrase!["! ", own.figure("name", Text), " was not read: ", own.figure("not_read", Text)]
        })
        .collect();
    if of.total.share_of_buffers > NEARLY_FULL {
        let share = at.at("total").figure("share_of_buffers", Percent);
        warnings.push(phrase!["! they take ", share, " of shared buffers: other reads may evict them"]);
    }
    warnings
}
