//! What was driven over time: transactions, their latencies, and rows of loads.

use pgdyno_core::units;

use super::build::{LATENCIES, Shown, Tracks, by_subject, entry, series, times};
use pgdyno_document::{
    chart::Axis,
    lanes::{Lane, Series, Unit},
};

use crate::{
    run::Run,
    sections::charts::scales::{latencies, linear, short_rate, ticks},
};

/// Colours of [`LATENCIES`].
const COLOURS: [usize; 4] = [0, 1, 2, 5];
/// Ticks of a vertical axis.
const TICKS: usize = 3;
/// Room above the largest value.
const ROOM: f64 = 1.05;

/// Throughput and latency of what was driven; rows of loads.
pub fn lanes(run: &Run<'_>, tracks: &Tracks) -> Vec<Lane> {
    [throughput(run, tracks), latency(run, tracks), rows(tracks)].into_iter().flatten().collect()
}

/// An axis from 0 that has room for all values; `None` if none is above 0.
pub fn from_zero(all: &[Series], label: impl Fn(f64) -> String) -> Option<Axis> {
    let largest = |value: &pgdyno_document::lanes::Value| value.range.map_or(value.shown, |(_, most)| most);
    let values = all.iter().flat_map(|series| series.values.iter().flatten()).map(largest);
    let most = values.fold(0.0, f64::max) * ROOM;
    (most > 0.0).then(|| linear(0.0, most, ticks(most, TICKS), label))
}

/// An axis of bytes per second from 0, with ticks that are round in binary units.
pub fn bytes_from_zero(all: &[Series]) -> Option<Axis> {
    let mut axis = from_zero(all, |_| String::new())?;
    let unit = 1024_f64.powf(axis.max.max(1.0).log(1024.0).floor());
    let round = ticks(axis.max / unit, TICKS).into_iter().map(|tick| tick * unit);
    axis.ticks = round.map(|bytes| (bytes, units::bytes(bytes.round() as u64))).collect();
    Some(axis)
}

fn throughput(run: &Run<'_>, tracks: &Tracks) -> Option<Lane> {
    let (mut legend, mut all) = (Vec::new(), Vec::new());
    for (place, track) in by_subject(run.record, &tracks.driven) {
        legend.push(entry(run.record, place, "TPS"));
        let src = "timeline#/counts/committed".to_owned();
        let series = series(track, &times(track), "tps", Shown::Mean, legend.len() - 1, src);
        all.push(Series { subject: place, ..series });
    }
    let y = from_zero(&all, short_rate)?;
    let note = "transactions committed per second".to_owned();
    Some(Lane { title: "Throughput", note, unit: Unit::Rate, y, legend, series: all })
}

/// Percentiles of merged points are the largest of their seconds.
fn latency(run: &Run<'_>, tracks: &Tracks) -> Option<Lane> {
    let mut all = Vec::new();
    for (place, track) in by_subject(run.record, &tracks.driven) {
        let times = times(track);
        for (key, name) in LATENCIES.into_iter().enumerate() {
            let src = format!("timeline#/latency/{name}_ns");
            all.push(Series { subject: place, ..series(track, &times, name, Shown::Most, key, src) });
        }
    }
    let known = all.iter().flat_map(|series| series.values.iter().flatten()).map(|value| value.shown);
    let known: Vec<f64> = known.filter(|ns| *ns > 0.0).collect();
    let least = known.iter().copied().reduce(f64::min)? / 1.2;
    let most = known.iter().copied().fold(least, f64::max) * 1.2;
    let mut y = latencies(least, most);
    let each = y.ticks.len().div_ceil(TICKS + 1).max(1);
    y.ticks = y.ticks.into_iter().step_by(each).collect();
    let legend = COLOURS.into_iter().zip(LATENCIES).map(|(colour, name)| (colour, name.to_owned())).collect();
    let note = "of each second, on a log scale; percentiles with too few samples are omitted".to_owned();
    Some(Lane { title: "Latency", note, unit: Unit::Latency, y, legend, series: all })
}

fn rows(tracks: &Tracks) -> Option<Lane> {
    let of = |(operation, track): (&usize, &crate::over_time::Track)| {
        let src = format!("run.json#/operations/{operation}/found/load/progress/rows_per_s");
        series(track, &times(track), "rows", Shown::Mean, 0, src)
    };
    let all: Vec<Series> = tracks.loaded.iter().map(of).collect();
    let y = from_zero(&all, short_rate)?;
    let note = "rows per second that the server received".to_owned();
    let legend = vec![(0, "rows/s".to_owned())];
    Some(Lane { title: "Rows loaded", note, unit: Unit::Rate, y, legend, series: all })
}
