//! Results of TPC-C cells: NOPM, transactions, and the clauses of the specification.

use pgdyno_core::{
    measure::{CellSummary, SetCell, TpccRun},
    tpcc::DERIVED,
};
use pgdyno_document::{
    block::{Block, Column, Group, Row, Section, Table},
    figure::Format::{self, Count, Milliseconds, Percent, Rate, Seconds, Text},
    phrase::{Phrase, joined, maybe, phrase},
};
use pgdyno_record::ConsistencyRecord;

use crate::{run::Run, source::Place};

/// Columns of the transactions: heading, field of `scripts` in a cell, and format.
const COLUMNS: [(&str, &str, Format); 8] = [
    ("done", "committed", Count),
    ("rolled back", "rolled_back", Count),
    ("failed", "failed", Count),
    ("retries", "retries", Count),
    ("p50 ms", "latency/p50_ns", Milliseconds),
    ("p90 ms", "p90_ns", Milliseconds),
    ("p99 ms", "latency/p99_ns", Milliseconds),
    ("max ms", "latency/max_ns", Milliseconds),
];

/// Columns of the sets of tables: heading, field of `tpcc/sets` in a cell, and format.
const SET_COLUMNS: [(&str, &str, Format); 8] = [
    ("warehouses", "warehouses", Count),
    ("clients", "clients", Count),
    ("driver process", "driver", Count),
    ("NOPM", "nopm/value", Rate),
    ("TPM", "tpm/value", Rate),
    ("share", "share", Percent),
    ("p95 ms", "latency/p95_ns", Milliseconds),
    ("max ms", "latency/max_ns", Milliseconds),
];

/// A column whose heading is split over two lines, if it has two words.
fn column(name: &'static str) -> Column {
    match name.split_once(' ') {
        Some((over, name)) if name != "ms" => Column::number(name).under(over),
        _ => Column::number(name),
    }
}

/// Whether the run has a TPC-C cell.
pub fn was_driven(run: &Run<'_>) -> bool {
    run.record.cells.iter().any(|cell| cell.tpcc.is_some())
}

/// The TPC-C cells in listing order.
fn cells<'a>(run: &Run<'a>) -> Vec<(usize, &'a CellSummary)> {
    run.cells().into_iter().filter(|(_, cell)| cell.tpcc.is_some()).collect()
}

/// Transactions and clauses, a group for each cell; `None` for other workloads.
pub fn section(run: &Run<'_>) -> Option<Section> {
    let cells = cells(run);
    let best = run.best_cells();
    let grouped = |columns: Vec<Column>, of: &dyn Fn(usize, &CellSummary) -> Group| {
        let groups = cells.iter().map(|(index, cell)| {
            let mut group = of(*index, cell);
            group.rows.iter_mut().for_each(|row| row.main |= best.contains(index));
            group
        });
        Block::Table(Table { group_name: "cell", columns, groups: groups.collect(), ..Table::default() })
    };
    let transactions = [Column::words("transaction")].into_iter();
    let transactions = transactions.chain(COLUMNS.iter().map(|(name, ..)| column(name))).collect();
    let clauses = vec![Column::words("clause"), Column::words(""), Column::text("found and required")];
    (!cells.is_empty()).then(|| {
        Section::new(
            "TPC-C",
            vec![
                grouped(transactions, &|index, cell| of_transactions(run, index, cell)),
                grouped(clauses, &|index, cell| of_clauses(run, index, cell)),
            ],
        )
    })
}

fn of_transactions(run: &Run<'_>, index: usize, cell: &CellSummary) -> Group {
    let row = |script: usize| {
        let at = run.cell(index).at("scripts").at(script);
        let figures = COLUMNS.iter().map(|(_, field, format)| at.figure(field, *format).into());
        Row::new(false, [at.figure("name", Text).into()].into_iter().chain(figures))
    };
    let tries = match cell.tpcc.as_ref().map_or(0, |tpcc| tpcc.run.max_tries) {
        0 => ", any number of tries".into(),
        1 => ", one try".into(),
        _ => maybe(", ", run.cell(index).figure("tpcc/run/max_tries", Count), " tries at most"),
    };
    Group {
        name: run.name_of(index),
        note: phrase![
            rate(&run.cell(index)),
            completed(&run.cell(index)),
            "; ",
            how(run, index, cell),
            tries
        ],
        rows: (0..cell.scripts.len()).map(row).collect(),
    }
}

/// The sets of tables of each cell that drove several, whose rates add up to those of the cell.
pub fn sets(run: &Run<'_>) -> Option<Section> {
    let cells: Vec<_> = cells(run).into_iter().filter(|(_, cell)| !sets_of(cell).is_empty()).collect();
    let has_drivers = cells.iter().any(|(_, cell)| sets_of(cell).iter().any(|set| set.driver.is_some()));
    let shown = || SET_COLUMNS.iter().filter(move |(_, field, _)| *field != "driver" || has_drivers);
    let columns = [Column::words("set")].into_iter().chain(shown().map(|(name, ..)| column(name))).collect();
    let group = |(index, cell): &(usize, &CellSummary)| {
        let row = |set: usize| {
            let at = run.cell(*index).at("tpcc/sets").at(set);
            let figures = shown().map(|(_, field, format)| at.figure(field, *format).into());
            Row::new(false, [at.figure("name", Text).into()].into_iter().chain(figures))
        };
        let rows = (0..sets_of(cell).len()).map(row).collect();
        Group { name: run.name_of(*index), note: phrase!["together ", rate(&run.cell(*index))], rows }
    };
    let groups = cells.iter().map(group).collect();
    let table = Table { group_name: "cell", columns, groups, ..Table::default() };
    (!cells.is_empty()).then(|| Section::new("Sets of tables", vec![Block::Table(table)]))
}

fn sets_of(cell: &CellSummary) -> &[SetCell] {
    cell.tpcc.as_ref().map(|tpcc| tpcc.sets.as_slice()).unwrap_or_default()
}

/// The clauses; unmet ones are warnings, and part of the summary.
fn of_clauses(run: &Run<'_>, index: usize, cell: &CellSummary) -> Group {
    let judged = cell.tpcc.iter().flat_map(|tpcc| &tpcc.judged).enumerate();
    let row = |(number, one): (usize, &pgdyno_core::measure::Judged)| {
        let at = run.cell(index).at("tpcc/judged").at(number);
        let verdict = match one.holds {
            Some(true) => "met",
            Some(false) => "NOT MET",
            None => "not judged",
        };
        let [clause, words] = [at.figure("clause", Text), at.figure("words", Text)];
        let broken = one.holds == Some(false);
        Row { warning: broken, ..Row::new(broken, [clause.into(), verdict.into(), words.into()]) }
    };
    let rows = judged.map(row).chain(unmet_by_sets(run, index, cell)).collect();
    Group { name: run.name_of(index), rows, ..Group::default() }
}

/// The clauses that a single set of tables does not meet.
fn unmet_by_sets(run: &Run<'_>, index: usize, cell: &CellSummary) -> Vec<Row> {
    let judged = sets_of(cell).iter().enumerate().flat_map(|(set, of)| {
        let judged = of.judged.iter().enumerate();
        judged.filter(|(_, one)| one.holds == Some(false)).map(move |(number, _)| (set, number))
    });
    let row = |(set, number): (usize, usize)| {
        let set = run.cell(index).at("tpcc/sets").at(set);
        let at = set.at("judged").at(number);
        let words = phrase![set.figure("name", Text), ": ", at.figure("words", Text)];
        Row {
            warning: true,
            ..Row::new(true, [at.figure("clause", Text).into(), "NOT MET".into(), words.into()])
        }
    };
    judged.map(row).collect()
}

/// NOPM and TPM.
fn rate(cell: &Place<'_>) -> Phrase {
    phrase![
        cell.rate("tpcc/nopm"),
        " NOPM",
        maybe(" (±\u{a0}", cell.share("tpcc/nopm/half_width", "tpcc/nopm/value"), ")"),
        ", ",
        cell.rate("tpcc/tpm"),
        " TPM",
    ]
}

/// New-Orders as the specification counts them.
fn completed(cell: &Place<'_>) -> Phrase {
    let rate = cell.figure("tpcc/completed_per_min", Rate);
    maybe("; ", rate, " New-Orders per minute with those rolled back, as the specification counts")
}

/// Warehouses, shape, pacing and isolation of a cell.
fn how(run: &Run<'_>, index: usize, cell: &CellSummary) -> Phrase {
    let at = run.cell(index);
    let of =
        |is: fn(&pgdyno_core::measure::TpccRun) -> bool| cell.tpcc.as_ref().is_some_and(|of| is(&of.run));
    phrase![
        at.figure("tpcc/run/warehouses", Count),
        if of(|run| run.warehouses == 1) { " warehouse" } else { " warehouses" },
        cell.tpcc.as_ref().map(|tpcc| in_sets(&at, &tpcc.run)).unwrap_or_default(),
        ", ",
        at.figure("tpcc/run/shape", Text),
        if of(|run| run.paced) { ", paced" } else { ", unpaced" },
        maybe(" at ", at.figure("workload/rate_per_s", Rate), " TPS offered"),
        maybe(", ", at.figure("tpcc/run/transactions", Count), " transactions of each client"),
        maybe(", ", at.figure("tpcc/run/isolation", Text), ""),
    ]
}

/// How many sets of tables there are, and how many processes drove them.
fn in_sets(at: &Place<'_>, run: &TpccRun) -> Phrase {
    let processes = if run.drivers == Some(1) { " driver process" } else { " driver processes" };
    phrase![
        maybe(" in ", at.figure("tpcc/run/sets", Count), " sets"),
        maybe(", driven by ", at.figure("tpcc/run/drivers", Count), processes),
    ]
}

/// The opening sentences: the cell with the highest NOPM of each subject, and the disclaimer about tpmC.
pub fn sentences(run: &Run<'_>) -> Vec<Phrase> {
    let nopm = |cell: &CellSummary| cell.tpcc.as_ref()?.nopm.as_ref().map(|nopm| nopm.value);
    let whose = |of: &CellSummary| (of.workload.script.clone(), run.place_of(&of.workload));
    let mut best: Vec<(usize, &CellSummary)> = Vec::new();
    for (index, cell) in run.record.cells.iter().enumerate().filter(|(_, cell)| nopm(cell).is_some()) {
        match best.iter_mut().find(|(_, other)| whose(other) == whose(cell)) {
            Some(known) if nopm(cell) > nopm(known.1) => *known = (index, cell),
            Some(_) => {}
            None => best.push((index, cell)),
        }
    }
    // Subjects of one workload are adjacent, in the order of the plan.
    let first = |script: &str| run.record.cells.iter().position(|cell| cell.workload.script == script);
    best.sort_by_key(|(_, cell)| (first(&cell.workload.script), run.place_of(&cell.workload)));
    let sentence = |&(index, cell): &(usize, &CellSummary)| {
        phrase![run.name_of(index), ": ", rate(&run.cell(index)), "; ", how(run, index, cell), "."]
    };
    let found: Vec<_> = best.iter().map(sentence).collect();
    let derived = (!found.is_empty()).then(|| DERIVED.into());
    found.into_iter().chain(derived).collect()
}

/// Sentence about inconsistent tables, which precedes all numbers.
pub fn violated(run: &Run<'_>) -> Option<Phrase> {
    let mut all = run.record.subjects.iter().filter_map(|subject| subject.consistency.as_ref());
    let broken = all.any(|checked| checked.violations > 0);
    broken.then(|| "The TPC-C tables are inconsistent: do not use these numbers.".into())
}

/// The clauses that some cell did not meet, in one line.
pub fn not_met(run: &Run<'_>) -> Option<Phrase> {
    let judged = run.record.cells.iter().enumerate().flat_map(|(index, cell)| {
        let judged = cell.tpcc.iter().flat_map(|tpcc| &tpcc.judged).enumerate();
        judged.map(move |(number, one)| (index, number, one))
    });
    let mut broken: Vec<_> = judged.filter(|(_, _, one)| one.holds == Some(false)).collect();
    broken.sort_by_key(|(_, _, one)| one.clause.clone());
    broken.dedup_by_key(|(_, _, one)| one.clause.clone());
    let clauses = broken
        .iter()
        .map(|(index, number, _)| run.cell(*index).at("tpcc/judged").at(number).figure("clause", Text));
    let clauses = joined(clauses, ", ");
    (!clauses.is_empty()).then(|| phrase!["clauses NOT MET: ", clauses])
}

/// Result of the consistency check, or that there was none; `None` for runs without TPC-C.
pub fn consistency(run: &Run<'_>) -> Option<Phrase> {
    let several = run.record.subjects.len() > 1;
    let subjects = run.record.subjects.iter().enumerate();
    let checked = subjects.filter_map(|(index, subject)| Some((index, subject.consistency.as_ref()?)));
    let checked = checked.map(|(index, checked)| {
        let name = if several { phrase![run.name(index), ": "] } else { Phrase::default() };
        phrase![name, checked_words(&run.subject(index).at("consistency"), checked)]
    });
    let found = joined(checked, " ");
    match found.is_empty() {
        false => Some(found),
        true => was_driven(run).then(|| "not checked (--no-check, or consistency in [check]).".into()),
    }
}

fn checked_words(at: &Place<'_>, checked: &ConsistencyRecord) -> Phrase {
    let conditions = at.figure("conditions", Count);
    let verdict = match checked.violations {
        0 => phrase!["consistent: all ", conditions, " conditions hold over "],
        _ => phrase![
            "NOT CONSISTENT: ",
            at.figure("violations", Count),
            " of ",
            conditions,
            " conditions violated, over ",
        ],
    };
    let examples = (0..checked.examples.len()).map(|number| at.figure(format!("examples/{number}"), Text));
    phrase![
        verdict,
        at.figure("rows_examined", Count),
        if checked.sets.is_empty() { " rows in one snapshot (" } else { " rows, a snapshot of each set (" },
        at.figure("duration_s", Seconds),
        ").",
        joined(examples.map(|example| maybe(" Example: ", example, ".")), ""),
    ]
}
