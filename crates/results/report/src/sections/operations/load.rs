//! A load of tables: its stages, and what it wrote over time.

use pgdyno_record::LoadRecord;

use super::verification;
use pgdyno_document::{
    block::{Block, Cell, Column, Fact, Row, Table},
    chart::{Chart, Mark, Stop, StopValue},
    figure::Format::{Bytes, Count, Rate, Seconds, Text},
    phrase::{Phrase, joined, maybe, phrase},
};

use crate::{
    sections::{
        charts::scales::{linear, ticks},
        load::{phase, terms, workers},
    },
    source::Place,
};

/// Most phases of a stage that are shown; the record has all.
const MOST_PHASES: usize = 4;

/// What was loaded, how fast, and whether it is right.
pub fn sentence(at: &Place<'_>, load: &LoadRecord) -> Phrase {
    let rows = at.figure("rows", Count);
    if load.duration_s.is_none() {
        let kept = maybe("; the tables kept ", at.figure("kept_rows", Count), " when the load ended");
        return phrase![rows, " rows were sent so far", kept, "."];
    }
    let proof = match &load.verification {
        Some(of) => phrase![verification::result(&at.at("verification"), of), "."],
        None => phrase![at.figure("unverified", Text), "."],
    };
    phrase![
        "Loaded ",
        rows,
        " rows",
        maybe(" at ", at.figure("rows_per_s", Rate), " rows/s"),
        maybe(" (", at.figure("copy_bytes_per_s", Bytes), "/s of COPY data)"),
        ", ",
        at.figure("size_bytes", Bytes),
        " on disk, in ",
        at.figure("duration_s", Seconds),
        " with everything else. ",
        proof,
    ]
}

/// Terms, stages, phases, and a chart.
pub fn blocks(at: &Place<'_>, load: &LoadRecord) -> Vec<Block> {
    let facts = Block::facts(facts(at, load));
    let chart = chart(at, load).map(Block::Chart);
    let stages = (!load.stages.is_empty()).then(|| Block::Table(stages(at, load)));
    let faults = load.verification.as_ref();
    let faults = faults.and_then(|of| verification::faults(&at.at("verification"), of.faults.len()));
    [facts].into_iter().chain(stages).chain(faults).chain(chart).collect()
}

fn facts(at: &Place<'_>, load: &LoadRecord) -> Vec<Fact> {
    let mut facts = vec![Fact::new("rows", at.figure("rows", Count))];
    facts.extend(load.terms.as_ref().map(|of| Fact::new("tables", terms(of, &at.at("terms")))));
    if load.copy_bytes > 0 {
        let sent = phrase![at.figure("copy_bytes", Bytes), " of ", at.figure("copy_format", Text)];
        facts.push(Fact::new("sent", sent));
    }
    facts.extend(load.tasks.map(|_| Fact::new("tasks", at.figure("tasks", Count))));
    facts.extend(load.key_workers.as_ref().map(|_| Fact::new("key workers", workers(&at.at("key_workers")))));
    facts.push(Fact::new("size", at.figure("size_bytes", Bytes)));
    let proof = match &load.verification {
        Some(of) => verification::result(&at.at("verification"), of),
        None => at.figure("unverified", Text).into(),
    };
    facts.push(Fact::new("comparison", proof));
    facts
}

fn stages(at: &Place<'_>, load: &LoadRecord) -> Table {
    let row = |index: usize| {
        let own = at.at("stages").at(index);
        let name: Phrase = own.figure("name", Text).into();
        let figures = [
            own.figure("duration_s", Seconds),
            own.figure("rows_per_s", Rate),
            own.figure("wal_bytes", Bytes),
            own.figure("temp_bytes", Bytes),
        ];
        let cells = [Cell::from(name)].into_iter().chain(figures.map(Cell::from));
        Row::new(false, cells.chain([phases(&own, load, index).into()]))
    };
    let names = ["time", "rows/s", "WAL", "temp files"].map(Column::number);
    let columns = [Column::words("stage")].into_iter().chain(names).chain([Column::text("server")]);
    Table::new(columns.collect(), (0..load.stages.len()).map(row).collect())
}

/// The longest phases of a stage, in execution order.
fn phases(at: &Place<'_>, load: &LoadRecord, index: usize) -> Phrase {
    let phases = &load.stages[index].phases;
    let mut longest: Vec<usize> = (0..phases.len()).collect();
    longest.sort_by(|a, b| phases[*b].duration_s.total_cmp(&phases[*a].duration_s));
    longest.truncate(MOST_PHASES);
    longest.sort_unstable();
    joined(longest.into_iter().map(|index| phase(&at.at("phases").at(index))), ", ")
}

/// A number of rows on an axis: `0`, `250 k`, `1.5 M`.
fn short(rows: f64) -> String {
    match rows {
        1e6.. => format!("{} M", rows / 1e6),
        1e3.. => format!("{} k", rows / 1e3),
        _ => format!("{rows:.0}"),
    }
}

/// Rows per second over time; `None` for a load that was over within a second.
fn chart(at: &Place<'_>, load: &LoadRecord) -> Option<Chart> {
    let all = &load.progress;
    let end_s = all.last()?.end_s;
    let top = all.iter().map(|one| one.rows_per_s).fold(1.0, f64::max) * 1.1;
    let steps = all.iter().flat_map(|one| [(one.start_s, one.rows_per_s), (one.end_s, one.rows_per_s)]);
    let stop = |index: usize| {
        let own = at.at("progress").at(index);
        let figure = own.figure("rows_per_s", Rate);
        let (src, text) = figure.as_ref().map(|of| (of.pointer.clone(), of.text.clone())).unwrap_or_default();
        let y = all[index].rows_per_s;
        let value = figure.map(|of| of.value).unwrap_or_default();
        let label = own.figure("end_s", Seconds).map(|of| of.text).unwrap_or_default();
        Stop { x: all[index].end_s, label, values: vec![StopValue { y, series: 0, text, src, value }] }
    };
    (all.len() > 1).then(|| Chart {
        id: format!("load{}", at.path().replace('/', "-")),
        title: "Rows per second",
        label: "load".into(),
        note: "rows that the server received, by seconds since the start of the load",
        legend: vec![(0, "rows/s".to_owned())],
        x: linear(0.0, end_s, ticks(end_s, 6), |x| format!("{x:.0}")),
        y: linear(0.0, top, ticks(top, 4), short),
        marks: vec![Mark::Line(0, steps.collect())],
        stops: (0..all.len()).map(stop).collect(),
        height: 220,
        wide: true,
    })
}
