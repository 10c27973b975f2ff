//! Breakdown of the elapsed time by stage.

use crate::{
    block::{Block, Cell, Column, Row, Section, Table},
    figure::Format::{Seconds, Text},
    phrase::{Phrase, phrase},
    run::Run,
};

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

/// Shares of the whole time.
fn shares(run: &Run<'_>) -> Phrase {
    let at = run.root().at("time");
    let share = |part: &str| at.share(format!("{part}_s"), "whole_s");
    phrase![
        "Of ",
        at.figure("whole_s", Seconds),
        ": measured ",
        share("measured"),
        ", warm-up ",
        share("warmup"),
        ", load ",
        share("load"),
        run.record
            .operations
            .first()
            .map_or_else(Phrase::default, |_| phrase![", operations ", share("operations")]),
        run.record.starts.first().map_or_else(Phrase::default, |_| phrase![", starts ", share("starts")]),
        ", resets ",
        share("reset"),
        ", CHECKPOINTs ",
        share("checkpoint"),
        ", servers ",
        share("server"),
        ". ",
        share("overhead"),
        " overhead: connections ",
        share("connect"),
        ", the rest ",
        share("rest"),
        ".",
    ]
}
