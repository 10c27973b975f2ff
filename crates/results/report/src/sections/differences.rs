//! Differences between the subjects and the first, and whether they are comparable.

use pgdyno_analysis::compare::Fairness;
use pgdyno_document::{
    block::{Block, Column, Row, Section, Table},
    figure::Format::{Text, Word},
    phrase::{Phrase, joined, phrase},
};

use crate::run::Run;

/// Most names that a sentence lists; the table has all of them.
const NAMES: usize = 6;

/// Sentences for the verdicts: identical, as requested, not as requested, unknown.
type Words = [&'static str; 4];

const OF_TWO: Words = [
    "A and B are identical",
    "A and B are identical except the requested difference",
    "A and B differ in more than was requested: ",
    "It is unknown whether A and B are comparable. Missing facts: ",
];
const OF_ONE: Words = [
    "identical in all known facts",
    "identical except the requested difference",
    "differs in more than was requested: ",
    "unknown whether comparable. Missing facts: ",
];

/// Whether A and B are comparable, in a sentence without a full stop.
pub fn of_two(run: &Run<'_>) -> Phrase {
    comparable(run, 1, OF_TWO).unwrap_or_else(|| {
        "Whether A and B are comparable was not checked: the run ended before their servers started".into()
    })
}

/// Whether a subject is comparable with the first; `None` if that was not checked.
pub fn of_one(run: &Run<'_>, index: usize) -> Option<Phrase> {
    comparable(run, index, OF_ONE)
}

fn comparable(run: &Run<'_>, index: usize, words: Words) -> Option<Phrase> {
    let found = run.record.subjects.get(index)?.comparable.as_ref()?;
    let list = |field: &str, names: &[String]| {
        let shown = if names.len() > NAMES { NAMES - 1 } else { names.len() };
        let names_shown = run.subject(index).at("comparable").texts(field, names.len(), shown);
        phrase![joined(names_shown, ", "), if shown < names.len() { " and others" } else { "" }]
    };
    Some(match found.verdict {
        Fairness::Alike => words[0].into(),
        Fairness::AlikeButForWhatWasAsked => {
            let plural = if found.asked.len() == 1 { ": " } else { "s: " };
            let defaults = match found.defaults_of_version.as_slice() {
                [] => Phrase::default(),
                names => phrase!["; defaults of the version: ", list("defaults_of_version", names)],
            };
            phrase![words[1], plural, list("asked", &found.asked), defaults]
        }
        Fairness::DiffersBesides => phrase![words[2], list("besides", &found.besides)],
        Fairness::NotKnown => phrase![words[3], list("unknown", &found.unknown)],
    })
}

/// A table for each subject but the first.
pub fn sections(run: &Run<'_>) -> Vec<Section> {
    let of = |index: usize| match run.record.comparison {
        Some(_) => Section::new("Differences", vec![table(run, index, ["A", "B"])]),
        None => {
            let title = phrase!["Differences: ", run.name(index)];
            Section::new(title, vec![table(run, index, ["baseline", "subject"])])
        }
    };
    (1..run.record.subjects.len()).map(of).collect()
}

fn table(run: &Run<'_>, index: usize, [first, this]: [&str; 2]) -> Block {
    let count = run.record.subjects[index].differences.len();
    if count == 0 {
        return Block::text("No differences in the known facts and settings.");
    }
    let row = |row: usize| {
        let at = run.subject(index).at("differences").at(row);
        let texts = ["what", "a", "b"].map(|field| at.figure(field, Text).into());
        Row::new(false, texts.into_iter().chain([at.figure("why", Word).into()]))
    };
    let columns = ["fact or setting", first, this, "reason"].map(Column::text).into();
    Block::Table(Table::new(columns, (0..count).map(row).collect()))
}
