//! Everything that was measured and observed over time, under each other with one time axis.

mod build;
mod driven;
mod events;
mod observed;

use std::sync::Arc;

use pgdyno_core::units;

use self::build::Tracks;
use pgdyno_document::{
    block::{Block, Section},
    chart::Axis,
    lanes::{Lane, Lanes, MarkRow},
};

use crate::{
    over_time::{Kind, OverTime},
    run::Run,
    sections::charts::scales::{linear, ticks},
};

/// The charts; `None` if nothing was measured or observed over time.
pub fn section(run: &Run<'_>) -> Option<Section> {
    let lanes = lanes(run)?;
    Some(Section::new("Over time: one axis", vec![Block::Lanes(Arc::new(lanes))]))
}

fn lanes(run: &Run<'_>) -> Option<Lanes> {
    let nothing = OverTime::default();
    let over_time = run.details.over_time.unwrap_or(&nothing);
    let tracks = Tracks::gather(run, over_time);
    let lanes: Vec<Lane> =
        driven::lanes(run, &tracks).into_iter().chain(observed::lanes(run, &tracks)).collect();
    let rows = events::rows(run, over_time);
    let checkpoints = rows.iter().find(|row| row.name == Kind::Checkpoint.name());
    let shaded = checkpoints.iter().flat_map(|row| &row.marks).map(|mark| (mark.from_s, mark.to_s)).collect();
    let length_s = length_s(&lanes, &rows);
    let names = || run.record.subjects.iter().map(|subject| subject.name.clone()).collect();
    (!lanes.is_empty()).then(|| Lanes {
        length_s,
        x: seconds(length_s),
        subjects: if run.record.subjects.len() > 1 { names() } else { Vec::new() },
        rows,
        lanes,
        shaded,
        merged_s: tracks.merged_s(),
    })
}

/// The end of the last point or event.
fn length_s(lanes: &[Lane], rows: &[MarkRow]) -> f64 {
    let points = lanes.iter().flat_map(|lane| &lane.series).filter_map(|series| series.times.last());
    let marks = rows.iter().flat_map(|row| &row.marks).map(|mark| mark.to_s);
    points.map(|(_, end_s)| *end_s).chain(marks).fold(1e-3, f64::max)
}

/// An axis of seconds from 0, with fractions where the ticks need them.
fn seconds(end_s: f64) -> Axis {
    let ticks = ticks(end_s, 8);
    let step = ticks.get(1).copied().unwrap_or(1.0);
    linear(0.0, end_s, ticks, |s| match step.fract() {
        0.0 => format!("{} s", units::count(s.round() as u64)),
        _ => format!("{} s", (s * 1e3).round() / 1e3),
    })
}
