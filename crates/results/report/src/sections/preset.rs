//! Presets of the servers, and what of them a server does not have as published.

use pgdyno_core::facts::PresetFacts;
use pgdyno_document::{
    block::{Block, Column, Row, Section, Table},
    figure::Format::{Count, Length, Text},
    phrase::{Phrase, maybe, phrase},
};

use crate::{run::Run, source::Place};

/// A section for each server that was given a preset.
pub fn sections(run: &Run<'_>) -> Vec<Section> {
    let given = run.record.subjects.iter().enumerate();
    let given = given.filter_map(|(index, subject)| Some((index, subject.preset.as_ref()?)));
    given.map(|(index, preset)| section(run, index, preset)).collect()
}

fn section(run: &Run<'_>, index: usize, preset: &PresetFacts) -> Section {
    let at = run.subject(index).at("preset");
    let how = if preset.as_published { ", as published" } else { "" };
    let words = phrase![
        at.figure("name", Text),
        maybe(" (", at.figure("title", Text), ")"),
        how,
        ": ",
        at.figure("settings", Count),
        " settings, ",
        at.figure("changes", Length),
        " of them otherwise on this server.",
    ];
    let rows: Vec<_> = (0..preset.changes.len()).map(|row| change(preset, &at, row)).collect();
    let columns = ["setting", "published", "here", "reason"].map(Column::text).into();
    let table = (!rows.is_empty()).then(|| Block::Table(Table::new(columns, rows)));
    Section::new(phrase!["Preset", run.whose(index)], [Block::text(words)].into_iter().chain(table).collect())
}

fn change(preset: &PresetFacts, at: &Place<'_>, row: usize) -> Row {
    let of = &preset.changes[row];
    let own = at.at("changes").at(row);
    let here: Phrase = match of.used {
        None => "left out".into(),
        Some(_) => phrase![maybe("", own.figure("renamed", Text), " = "), own.figure("used", Text)],
    };
    let published: Phrase = match of.published {
        None => "–".into(),
        Some(_) => own.figure("published", Text).into(),
    };
    Row::new(
        false,
        [own.figure("name", Text).into(), published.into(), here.into(), own.figure("reason", Text).into()],
    )
}
