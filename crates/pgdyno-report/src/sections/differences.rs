//! In what subjects differ from the first, and whether they can be compared with it.

use pgdyno_analysis::compare::Fairness;

use crate::{
    block::{Block, Column, Row, Section, Table},
    figure::Format::{Text, Word},
    phrase::{Phrase, joined, phrase},
    run::Run,
};

/// Most names that a sentence lists; the table has all of them.
const NAMES: usize = 6;

/// How the verdicts begin: identical, as requested, not as requested, not known.
type Words = [&'static str; 4];

const OF_TWO: Words = [
    "A and B are identical",
    "A and B are identical except the requested difference",
    "A and B differ in more than was requested: ",
    "Whether A and B are comparable is not known. Not seen: ",
];
const OF_ONE: Words = [
    "identical in everything that was seen",
    "identical except the requested difference",
    "differs in more than was requested: ",
    "whether it is comparable is not known. Not seen: ",
];

/// Whether A and B can be compared, in a sentence without a full stop.
pub fn of_two(run: &Run<'_>) -> Phrase {
    comparable(run, 1, OF_TWO).unwrap_or_else(|| {
        "Whether A and B are comparable was not judged: it ended before their servers were there".into()
    })
}

/// Whether a subject can be compared with the first; `None` if that was not judged.
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
        Some(_) => Section::new("What differs", vec![table(run, index, ["A", "B"])]),
        None => {
            let title = phrase!["What differs: ", run.name(index)];
            Section::new(title, vec![table(run, index, ["baseline", "this one"])])
        }
    };
    (1..run.record.subjects.len()).map(of).collect()
}

fn table(run: &Run<'_>, index: usize, [first, this]: [&str; 2]) -> Block {
    let count = run.record.subjects[index].differences.len();
    if count == 0 {
        return Block::text("No fact and no setting of the servers that pgdyno saw.");
    }
    let row = |row: usize| {
        let at = run.subject(index).at("differences").at(row);
        let texts = ["what", "a", "b"].map(|field| at.figure(field, Text).into());
        Row::new(false, texts.into_iter().chain([at.figure("why", Word).into()]))
    };
    let columns = ["what", first, this, "why"].map(Column::text).into();
    Block::Table(Table::new(columns, (0..count).map(row).collect()))
}
