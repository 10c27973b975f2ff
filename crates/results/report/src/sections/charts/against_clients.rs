//! Throughput and latency against client count: a line per percentile of one subject, or per subject.

use pgdyno_core::{
    measure::{CellSummary, LatencySummary},
    units,
};

use super::scales::{linear, short_latency, short_rate, ticks};
use pgdyno_document::chart::{COLOURS, Chart, Mark, Sign, Stop, StopValue};

use crate::run::Run;

/// Marker symbols of the lines, in chart and legend, so that lines can be distinguished without colours.
const SIGNS: [(Sign, char); COLOURS] = [
    (Sign::Disc, '●'),
    (Sign::Square, '■'),
    (Sign::Up, '▲'),
    (Sign::Diamond, '◆'),
    (Sign::Down, '▼'),
    (Sign::Ring, '○'),
];
/// Horizontal offset between lines at one level, in doublings of the client count, so that intervals do not overlap.
const APART: f64 = 0.05;

/// A quantity of a cell to draw.
#[derive(Clone, Copy)]
struct What {
    pointer: &'static str,
    value: fn(&CellSummary) -> Option<f64>,
    half_width: fn(&CellSummary) -> Option<f64>,
    text: fn(f64) -> String,
}

const TPS: What = What {
    pointer: "tps/value",
    value: |cell| Some(cell.tps.value),
    half_width: |cell| cell.tps.half_width,
    text: |tps| format!("{} TPS", units::rate(tps)),
};

const fn percentile(
    pointer: &'static str,
    value: fn(&CellSummary) -> Option<f64>,
    text: fn(f64) -> String,
) -> What {
    What { pointer, value, half_width: |_| None, text }
}

fn of(cell: &CellSummary, get: fn(&LatencySummary) -> Option<u64>) -> Option<f64> {
    cell.latency.as_ref().and_then(get).map(|ns| ns as f64)
}

const P50: What =
    percentile("latency/p50_ns", |cell| of(cell, |l| l.p50_ns), |ns| format!("p50 {}", units::latency(ns)));
const P95: What =
    percentile("latency/p95_ns", |cell| of(cell, |l| l.p95_ns), |ns| format!("p95 {}", units::latency(ns)));
const P99: What =
    percentile("latency/p99_ns", |cell| of(cell, |l| l.p99_ns), |ns| format!("p99 {}", units::latency(ns)));

/// A line of the chart.
struct Curve<'a> {
    name: String,
    /// Prefix of values; may be empty.
    prefix: String,
    sign: Sign,
    cells: Vec<(usize, &'a CellSummary)>,
    what: What,
}

/// Both charts of one workload; none without a cell.
pub fn of_workload(run: &Run<'_>, number: usize, group: &[usize]) -> Vec<Chart> {
    let curve = |name: &str, what: What| Curve {
        name: name.to_owned(),
        prefix: String::new(),
        sign: Sign::Disc,
        cells: sorted(run, group),
        what,
    };
    let percentiles = [curve("p50", P50), curve("p95", P95), curve("p99", P99)];
    let tps = throughput(run, format!("clients-tps-{number}"), &[curve("", TPS)]);
    let note = "latency; clients on a log scale";
    tps.into_iter().chain(latency(run, format!("clients-latency-{number}"), note, &percentiles)).collect()
}

/// Both charts of one script of several subjects.
pub fn of_subjects(run: &Run<'_>, number: usize, groups: &[Vec<usize>]) -> Vec<Chart> {
    let curves = |what: What| -> Vec<Curve<'_>> {
        let curve = |group: &Vec<usize>| {
            let subject = run.place_of(&run.record.cells[group[0]].workload);
            let name = run.record.names().get(subject).copied().unwrap_or_default();
            let (sign, shown) = sign(subject);
            let cells = sorted(run, group);
            Curve { name: format!("{shown} {name}"), prefix: format!("{name} "), sign, cells, what }
        };
        groups.iter().map(curve).collect()
    };
    let tps = throughput(run, format!("subjects-tps-{number}"), &curves(TPS));
    let note = "95th percentile of latency; clients on a log scale";
    tps.into_iter().chain(latency(run, format!("subjects-p95-{number}"), note, &curves(P95))).collect()
}

fn throughput(run: &Run<'_>, id: String, curves: &[Curve<'_>]) -> Option<Chart> {
    let note = "transactions per second; clients on a log scale; bars show the 95 % confidence interval";
    Some(Chart { id, title: "Throughput against clients", note, ..draw(run, curves, short_rate)? })
}

fn latency(run: &Run<'_>, id: String, note: &'static str, curves: &[Curve<'_>]) -> Option<Chart> {
    Some(Chart { id, title: "Latency against clients", note, ..draw(run, curves, short_latency)? })
}

/// Marker symbol of a subject. Beyond the number of colours, symbols are paired with other colours.
fn sign(subject: usize) -> (Sign, char) {
    SIGNS[(subject + subject / COLOURS) % COLOURS]
}

fn sorted<'a>(run: &Run<'a>, group: &[usize]) -> Vec<(usize, &'a CellSummary)> {
    let mut cells: Vec<_> = group.iter().map(|index| (*index, &run.record.cells[*index])).collect();
    cells.sort_by_key(|(_, cell)| cell.workload.clients);
    cells
}

/// Clients on a logarithmic scale to the base 2, so that doublings are equally far apart.
fn level(cell: &CellSummary) -> f64 {
    f64::from(cell.workload.clients.max(1)).log2()
}

/// A chart without a name; none without a value.
fn draw(run: &Run<'_>, curves: &[Curve<'_>], on_axis: fn(f64) -> String) -> Option<Chart> {
    let high =
        |what: What, cell: &CellSummary| Some((what.value)(cell)? + (what.half_width)(cell).unwrap_or(0.0));
    let all = || curves.iter().flat_map(|curve| curve.cells.iter().map(move |(_, cell)| (curve.what, *cell)));
    let max = all().filter_map(|(what, cell)| high(what, cell)).fold(0.0, f64::max) * 1.08;
    let mut levels: Vec<f64> = all().map(|(_, cell)| level(cell)).collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    let (first, last) = levels.first().copied().zip(levels.last().copied()).filter(|_| max > 0.0)?;
    let apart = if curves.iter().any(|curve| curve.prefix.is_empty()) { 0.0 } else { APART };
    let margin = ((last - first) * 0.08).max(0.25) + apart * curves.len() as f64 / 2.0;
    let x = linear(first - margin, last + margin, levels, |level| format!("{:.0}", level.exp2()));
    let aside = |series: usize| apart * (series as f64 - (curves.len() - 1) as f64 / 2.0);
    let marks = curves.iter().enumerate().flat_map(|(series, curve)| marks(series, curve, aside(series)));
    let legend = curves.iter().enumerate().filter(|(_, curve)| !curve.name.is_empty());
    let script = curves[0].cells.first().map(|(cell, _)| run.script_of(*cell).plain());
    Some(Chart {
        id: String::new(),
        title: "",
        label: script.unwrap_or_default(),
        note: "",
        legend: legend.map(|(series, curve)| (series, curve.name.clone())).collect(),
        x,
        y: linear(0.0, max, ticks(max, 5), on_axis),
        marks: marks.collect(),
        stops: stops(run, curves),
        height: 280,
        wide: false,
    })
}

/// The line of a curve with its intervals and marker symbols.
fn marks(series: usize, curve: &Curve<'_>, aside: f64) -> Vec<Mark> {
    let known = curve.cells.iter().filter_map(|(_, cell)| Some((*cell, (curve.what.value)(cell)?)));
    let known: Vec<_> = known.map(|(cell, y)| (cell, (level(cell) + aside, y))).collect();
    let mut marks = vec![Mark::Line(series, known.iter().map(|(_, point)| *point).collect())];
    for (cell, (x, y)) in known {
        let half = (curve.what.half_width)(cell);
        marks.extend(half.map(|half| Mark::Interval(series, x, (y - half).max(0.0), y + half)));
        marks.push(Mark::Sign(series, curve.sign, (x, y)));
    }
    marks
}

/// A cursor stop for each client count with the values of all curves.
fn stops(run: &Run<'_>, curves: &[Curve<'_>]) -> Vec<Stop> {
    let mut stops: Vec<Stop> = Vec::new();
    for (series, curve) in curves.iter().enumerate() {
        for (index, cell) in &curve.cells {
            let Some(y) = (curve.what.value)(cell) else { continue };
            let spread = (curve.what.half_width)(cell).map(|half| format!(" ± {}", units::percent(half / y)));
            let text = format!("{}{}{}", curve.prefix, (curve.what.text)(y), spread.unwrap_or_default());
            let src = format!("/cells/{index}/{}", curve.what.pointer);
            let value = run.source.value(&src).cloned().unwrap_or_default();
            let value = StopValue { y, series, text, src, value };
            let label = units::plural(u64::from(cell.workload.clients), "client");
            match stops.iter_mut().find(|stop| stop.label == label) {
                Some(stop) => stop.values.push(value),
                None => stops.push(Stop { x: level(cell), label, values: vec![value] }),
            }
        }
    }
    stops.sort_by(|a, b| a.x.total_cmp(&b.x));
    stops
}

#[cfg(test)]
mod tests {
    use testkit::fixtures::several;

    use super::*;

    #[test]
    fn every_subject_has_a_value_at_every_stop() {
        let record = several().record;
        let run = Run::new(&record, &[]);
        let charts = of_subjects(&run, 0, &run.groups());
        assert_eq!(charts.len(), 2);
        for chart in charts {
            let values: Vec<_> = chart.stops.iter().map(|stop| stop.values.len()).collect();
            assert_eq!(values, [3, 3, 3], "{}", chart.id);
            assert_eq!(chart.label, "select-only");
        }
    }
}
