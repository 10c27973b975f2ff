//! Comparisons of tables with what they must hold, and copies.

use pgdyno_document::{
    block::{Block, Column, Row, Table, Tone},
    figure::Format::{Bytes, Count, Length, Seconds, Text},
    phrase::{Phrase, joined, maybe, phrase},
};
use pgdyno_record::{CopyRecord, StructureRecord, VerificationRecord};

use crate::source::Place;

/// Whether the tables are right, in a sentence.
pub fn sentence(at: &Place<'_>, of: &VerificationRecord) -> Phrase {
    let structure = of.structure.as_ref().map(|structure| {
        let at = at.at("structure");
        match structure.faults.len() {
            0 => phrase![" The structure of tables and indexes has no fault."],
            count => phrase![" STRUCTURE: ", at.figure("faults", Length), plural(count, " fault"), "."],
        }
    });
    phrase![result(at, of), ".", structure.unwrap_or_default()]
}

/// Rows, and whether they are as expected.
pub fn result(at: &Place<'_>, of: &VerificationRecord) -> Phrase {
    let rows = at.figure("rows", Count);
    let time = phrase![" (", at.figure("duration_s", Seconds), ")"];
    let more = if of.keys_and_storage { ", keys and storage" } else { "" };
    match of.faults.len() {
        0 => phrase![
            "Verified: ",
            rows,
            " rows, counts and checksums of all columns",
            more,
            " are as expected",
            time
        ],
        count => phrase!["NOT VERIFIED: ", at.figure("faults", Length), plural(count, " difference"), time],
    }
}

/// What was compared, with every difference.
pub fn blocks(at: &Place<'_>, of: &VerificationRecord) -> Vec<Block> {
    let mut blocks = vec![Block::text(phrase![result(at, of), "."])];
    blocks.extend(faults(at, of.faults.len()));
    let left =
        |index: usize| phrase!["The load is not finished: ", at.figure(format!("remains/{index}"), Text)];
    blocks.extend(Block::prose(Tone::Warning, (0..of.remains.len()).map(left).collect()));
    if let Some(structure) = &of.structure {
        blocks.extend(structured(&at.at("structure"), structure));
    }
    blocks
}

/// Every difference of a list in a sentence; `None` without any.
pub fn faults(at: &Place<'_>, count: usize) -> Option<Block> {
    let fault = |index: usize| phrase!["! ", at.figure(format!("faults/{index}"), Text)];
    Block::prose(Tone::Warning, (0..count).map(fault).collect())
}

fn structured(at: &Place<'_>, of: &StructureRecord) -> Vec<Block> {
    let looked = phrase![at.figure("indexes", Count), " indexes and ", at.figure("tables", Count), " tables"];
    let found = match of.faults.len() {
        0 => "no fault".into(),
        count => phrase![at.figure("faults", Length), plural(count, " fault")],
    };
    let missing = match of.rows_in_indexes {
        true => "",
        false => " Whether each row is in its indexes was not checked: that requires PostgreSQL 11 or newer.",
    };
    let time = at.figure("duration_s", Seconds);
    let said = phrase!["Structure of ", looked, " by amcheck: ", found, " (", time, ").", words(missing)];
    [Block::text(said)].into_iter().chain(faults(at, of.faults.len())).collect()
}

/// A noun for so many.
fn plural(count: usize, noun: &str) -> String {
    format!("{noun}{}", if count == 1 { "" } else { "s" })
}

/// Words with a constant number.
fn words(text: &'static str) -> Phrase {
    if text.is_empty() { Phrase::default() } else { pgdyno_document::phrase::Piece::Fixed(text).into() }
}

/// Copies and their results in a sentence.
pub fn copied(at: &Place<'_>, of: &[CopyRecord]) -> Phrase {
    let wrong: Vec<_> = of.iter().enumerate().filter(|(_, copy)| !passed(copy)).collect();
    let names = wrong.iter().map(|(index, _)| at.figure(format!("{index}/name"), Text));
    match wrong.len() {
        0 => phrase!["All copies equal their source."],
        _ => phrase!["NOT EQUAL to the source: ", joined(names.map(Phrase::from), ", "), "."],
    }
}

fn passed(copy: &CopyRecord) -> bool {
    copy.verification.as_ref().is_none_or(VerificationRecord::passed)
}

/// A row for each copy, and every difference.
pub fn copies(at: &Place<'_>, of: &[CopyRecord]) -> Vec<Block> {
    let row = |(index, copy): (usize, &CopyRecord)| {
        let own = at.at(index);
        let verified = match &copy.verification {
            Some(of) => result(&own.at("verification"), of),
            None => "copied and verified before".into(),
        };
        let [name, time] = [own.figure("name", Text), own.figure("duration_s", Seconds)];
        let size = own.figure("size_bytes", Bytes);
        let rate = phrase![maybe("", own.figure("bytes_per_s", Bytes), "/s")];
        let cells = [name.into(), time.into(), size.into(), rate.into(), verified.into()];
        Row { warning: !passed(copy), ..Row::new(false, cells) }
    };
    let numbers = ["copied in", "size", "rate"].map(Column::number);
    let columns = [Column::words("copy")].into_iter().chain(numbers).chain([Column::text("comparison")]);
    let columns = columns.collect();
    let table = Table::new(columns, of.iter().enumerate().map(row).collect());
    let differences = of.iter().enumerate().filter_map(|(index, copy)| {
        faults(&at.at(index).at("verification"), copy.verification.as_ref()?.faults.len())
    });
    [Block::Table(table)].into_iter().chain(differences).collect()
}
