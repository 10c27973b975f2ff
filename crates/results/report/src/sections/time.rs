//! Breakdown of the elapsed time by stage.

use pgdyno_document::{
    block::{Block, Cell, Column, Row, Section, Table},
    figure::Format::{Seconds, Text},
    phrase::{Phrase, joined, phrase},
};

use crate::run::Run;

/// The stages with their shares; `None` if there is none.
pub fn section(run: &Run<'_>) -> Option<Section> {
    let stages = &run.record.stages;
    let whole: f64 = stages.iter().map(|stage| stage.duration_s).sum();
    let row = |(index, stage): (usize, &pgdyno_record::StageRecord)| {
        let at = run.source.at(format!("/stages/{index}"));
        let share = if whole > 0.0 { stage.duration_s / whole } else { 0.0 };
        let [name, length] = [at.figure("name", Text), at.figure("duration_s", Seconds)];
        Row::new(false, [name.into(), length.into(), Cell::bar(share)])
    };
    let columns = vec![Column::text("stage"), Column::number("time"), Column::words("")];
    let table = Table::new(columns, stages.iter().enumerate().map(row).collect());
    let shares = run.record.time.as_ref().map(|_| Block::text(shares(run)));
    (!stages.is_empty()).then(|| {
        Section::new("Where the time went", shares.into_iter().chain([Block::Table(table)]).collect())
    })
}

/// Parts of the time besides the measured intervals, with their fields.
const PARTS: [(&str, &str); 7] = [
    ("warm-up", "warmup"),
    ("load", "load"),
    ("operations", "operations"),
    ("starts", "starts"),
    ("resets", "reset"),
    ("CHECKPOINTs", "checkpoint"),
    ("servers", "server"),
];

/// Shares of the whole time.
fn shares(run: &Run<'_>) -> Phrase {
    let at = run.root().at("time");
    let share = |part: &str| at.share(format!("{part}_s"), "whole_s");
    // Parts that took no time say nothing.
    let part = |(name, part): (&str, &str)| {
        let share = share(part).filter(|share| share.value.as_f64().is_some_and(|seconds| seconds > 0.0))?;
        Some(phrase![", ", name, " ", Some(share)])
    };
    phrase![
        "Of ",
        at.figure("whole_s", Seconds),
        ": measured ",
        share("measured"),
        joined(PARTS.into_iter().filter_map(part), ""),
        ". ",
        share("overhead"),
        " overhead: connections ",
        share("connect"),
        ", the rest ",
        share("rest"),
        ".",
    ]
}
