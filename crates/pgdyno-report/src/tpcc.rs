//! What cells of TPC-C came to: New-Orders a minute, each transaction, and what the specification asks for.

use pgdyno_core::{measure::CellSummary, tpcc::DERIVED, units};
use pgdyno_record::{ConsistencyRecord, RunRecord, SubjectRecord};

use crate::{
    figure::{Figure, Format, Phrase, Source},
    slowest::name_of_cell,
    subjects::place,
};

/// One cell.
#[derive(Debug, Clone, PartialEq)]
pub struct TpccView {
    /// Arm or subject, workload and clients.
    pub name: Phrase,
    /// New-Orders and transactions a minute.
    pub rate: Phrase,
    /// How it was driven.
    pub how: Phrase,
    /// A row for each transaction.
    pub rows: Vec<ScriptRow>,
    /// What was judged.
    pub judged: Vec<JudgedRow>,
}

/// One transaction.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptRow {
    /// Its name.
    pub name: Option<Figure>,
    /// The figures of [`COLUMNS`].
    pub figures: Vec<Option<Figure>>,
}

/// Something that the specification asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedRow {
    /// Whether it held, in a word.
    pub verdict: &'static str,
    /// Whether it did not.
    pub broken: bool,
    /// Number of the clause.
    pub clause: Option<Figure>,
    /// What was asked for and found.
    pub words: Option<Figure>,
}

/// Columns of the transactions: heading, field of `scripts` in a cell, and how it is written.
pub const COLUMNS: [(&str, &str, Format); 8] = [
    ("done", "committed", Format::Count),
    ("rolled back", "rolled_back", Format::Count),
    ("failed", "failed", Format::Count),
    ("retries", "retries", Format::Count),
    ("p50 ms", "latency/p50_ns", Format::Milliseconds),
    ("p90 ms", "p90_ns", Format::Milliseconds),
    ("p99 ms", "latency/p99_ns", Format::Milliseconds),
    ("max ms", "latency/max_ns", Format::Milliseconds),
];

/// What a number means here.
pub const METHOD: [&str; 2] = [
    "NOPM are New-Orders a minute that were carried out and not rolled back, TPM all transactions a minute, with \
     those that were rolled back as they must; `done` counts these too. They are no tpmC: that word is for results \
     that were audited by the rules of the TPC.",
    "Each transaction is timed from the moment at which its terminal sends it, waiting for a free connection included. \
     Clauses are those of the TPC Benchmark C Standard Specification, revision 5.11; shares hold within four standard \
     deviations.",
];

/// All cells of TPC-C.
pub fn views(record: &RunRecord, source: &Source) -> Vec<TpccView> {
    let cells = record.cells.iter().enumerate().filter(|(_, cell)| cell.tpcc.is_some());
    cells.map(|(index, cell)| view(record, source, index, cell)).collect()
}

fn view(record: &RunRecord, source: &Source, index: usize, cell: &CellSummary) -> TpccView {
    let row = |script: usize| {
        let at =
            |field: &str, format| source.figure(format!("/cells/{index}/scripts/{script}/{field}"), format);
        ScriptRow {
            name: at("name", Format::Text),
            figures: COLUMNS.iter().map(|(_, field, format)| at(field, *format)).collect(),
        }
    };
    let judged = cell.tpcc.iter().flat_map(|tpcc| &tpcc.judged).enumerate().map(|(number, one)| {
        let at =
            |field: &str| source.figure(format!("/cells/{index}/tpcc/judged/{number}/{field}"), Format::Text);
        JudgedRow {
            verdict: match one.holds {
                Some(true) => "holds",
                Some(false) => "NOT MET",
                None => "not judged",
            },
            broken: one.holds == Some(false),
            clause: at("clause"),
            words: at("words"),
        }
    });
    TpccView {
        name: name_of_cell(record, source, index),
        rate: rate(source, index),
        how: how_in_full(source, index, cell),
        rows: (0..cell.scripts.len()).map(row).collect(),
        judged: judged.collect(),
    }
}

fn rate(source: &Source, index: usize) -> Phrase {
    let at = |field: &str| source.figure(format!("/cells/{index}/tpcc/{field}"), Format::Rate);
    let spread = source
        .share(format!("/cells/{index}/tpcc/nopm/half_width"), format!("/cells/{index}/tpcc/nopm/value"));
    Phrase::default()
        .figure(at("nopm/value"))
        .text(" NOPM")
        .maybe(" (±\u{a0}", spread, ")")
        .text(", ")
        .figure(at("tpm/value"))
        .text(" TPM")
}

fn how(source: &Source, index: usize, cell: &CellSummary) -> Phrase {
    let at = |field: &str, format| source.figure(format!("/cells/{index}/tpcc/run/{field}"), format);
    let paced = cell.tpcc.as_ref().is_some_and(|tpcc| tpcc.run.paced);
    let rate = source.figure(format!("/cells/{index}/workload/rate_per_s"), Format::Rate);
    Phrase::default()
        .figure(at("warehouses", Format::Count))
        .text(if cell.tpcc.as_ref().is_some_and(|tpcc| tpcc.run.warehouses == 1) {
            " warehouse, "
        } else {
            " warehouses, "
        })
        .figure(at("shape", Format::Text))
        .text(if paced { ", paced" } else { ", unpaced" })
        .maybe(" at ", rate, " TPS offered")
        .maybe(", ", at("isolation", Format::Text), "")
}

/// The same with what only the section has room for.
fn how_in_full(source: &Source, index: usize, cell: &CellSummary) -> Phrase {
    let tries = cell.tpcc.as_ref().map_or(0, |tpcc| tpcc.run.max_tries);
    let phrase = how(source, index, cell);
    match tries {
        0 => phrase.text(", any number of tries"),
        1 => phrase.text(", one try"),
        _ => phrase.maybe(
            ", ",
            source.figure(format!("/cells/{index}/tpcc/run/max_tries"), Format::Count),
            " tries at most",
        ),
    }
}

/// The opening sentences: the cell with the most New-Orders of each subject, and what they are not.
pub fn verdict(record: &RunRecord, source: &Source) -> Vec<Phrase> {
    let nopm = |cell: &CellSummary| cell.tpcc.as_ref()?.nopm.as_ref().map(|nopm| nopm.value);
    let mut best: Vec<(usize, &CellSummary)> = Vec::new();
    for (index, cell) in record.cells.iter().enumerate().filter(|(_, cell)| nopm(cell).is_some()) {
        let whose = |of: &CellSummary| (of.workload.subject.clone(), of.workload.script.clone());
        match best.iter_mut().find(|(_, other)| whose(other) == whose(cell)) {
            Some(known) if nopm(cell) > nopm(known.1) => *known = (index, cell),
            Some(_) => {}
            None => best.push((index, cell)),
        }
    }
    // Subjects of one workload stand together, as the plan lists them.
    let first = |script: &str| record.cells.iter().position(|cell| cell.workload.script == script);
    best.sort_by_key(|(_, cell)| (first(&cell.workload.script), place(record, &cell.workload)));
    let sentence = |&(index, cell): &(usize, &CellSummary)| {
        name_of_cell(record, source, index)
            .text(": ")
            .then(rate(source, index))
            .text("; ")
            .then(how(source, index, cell))
            .text(".")
    };
    let found: Vec<_> = best.iter().map(sentence).collect();
    let derived = (!found.is_empty()).then(|| Phrase::of(DERIVED));
    found.into_iter().chain(derived).collect()
}

/// Numbers of tables that are not consistent come after that news.
pub fn violated(record: &RunRecord) -> Option<Phrase> {
    let mut all = record.subjects.iter().filter_map(|subject| subject.consistency.as_ref());
    let broken = all.any(|checked| checked.violations > 0);
    broken.then(|| Phrase::of("TPC-C's tables are not consistent: do not use these numbers."))
}

/// Clauses that some cell did not meet, each once, for one line.
pub fn not_met(views: &[TpccView]) -> Option<String> {
    let mut clauses: Vec<_> = views
        .iter()
        .flat_map(|view| &view.judged)
        .filter(|one| one.broken)
        .filter_map(|one| one.clause.as_ref().map(|clause| clause.text.clone()))
        .collect();
    clauses.sort();
    clauses.dedup();
    (!clauses.is_empty()).then(|| format!("clauses NOT MET: {}", clauses.join(", ")))
}

/// The check of consistency in sentences, or that none was made; `None` of runs that did not drive TPC-C.
pub fn consistency(record: &RunRecord, source: &Source) -> Option<Phrase> {
    checked(record, source).or_else(|| {
        let drove = record.cells.iter().any(|cell| cell.tpcc.is_some());
        drove.then(|| {
            Phrase::of(
                "Not checked: TPC-C's conditions were not looked at (--no-check, or consistency in [check]).",
            )
        })
    })
}

fn checked(record: &RunRecord, source: &Source) -> Option<Phrase> {
    let several = record.subjects.len() > 1;
    let of = |(index, subject): (usize, &'_ SubjectRecord)| {
        let name = source.figure(format!("/subjects/{index}/name"), Format::Text);
        let checked = subject.consistency.clone()?;
        Some((format!("/subjects/{index}/consistency"), name.filter(|_| several), checked))
    };
    let mut all = record.subjects.iter().enumerate().filter_map(of).peekable();
    all.peek()?;
    let first = Phrase::default();
    Some(all.fold(first, |sentences, (pointer, name, checked)| {
        let blank = if sentences.0.is_empty() { "" } else { " " };
        sentences.text(blank).maybe("", name, ": ").then(checked_words(source, &pointer, &checked))
    }))
}

fn checked_words(source: &Source, pointer: &str, checked: &ConsistencyRecord) -> Phrase {
    let at = |field: &str, format| source.figure(format!("{pointer}/{field}"), format);
    let phrase = match checked.violations {
        0 => Phrase::of("consistent: all ")
            .figure(at("conditions", Format::Count))
            .text(" conditions hold over "),
        _ => Phrase::of("NOT CONSISTENT: ")
            .figure(at("violations", Format::Count))
            .text(" of ")
            .figure(at("conditions", Format::Count))
            .text(" conditions do not hold over "),
    };
    let phrase = phrase
        .figure(at("rows_examined", Format::Count))
        .text(" rows in one snapshot (")
        .figure(at("duration_s", Format::Seconds))
        .text(").");
    (0..checked.examples.len()).fold(phrase, |phrase, number| {
        phrase.maybe(" Seen: ", at(&format!("examples/{number}"), Format::Text), ".")
    })
}

/// A figure of a table.
pub fn cell(figure: &Option<Figure>) -> &str {
    figure.as_ref().map_or(units::ABSENT, |figure| &figure.text)
}
