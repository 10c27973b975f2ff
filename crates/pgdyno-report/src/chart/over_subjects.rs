//! One script against clients, a line for each subject.

use pgdyno_core::{measure::CellSummary, units};
use plotters::{
    element::{EmptyElement, Polygon},
    prelude::*,
};
use serde_json::Value;

use super::{
    Chart, SCALE, SERIES, Stop, StopValue,
    axes::{Axis, Drawn, Plot, failed, line, mesh, picture, plot, ticks},
    over_clients::{clients_label, short_latency},
    series,
};
use crate::{document::Document, subjects::place};

const WIDTH: i32 = 500;
const HEIGHT: i32 = 300;
/// Signs of the lines, so that nobody has to tell colours apart; those of the legend look like those drawn.
const SIGNS: [char; SERIES] = ['●', '■', '▲', '◆', '▼', '○'];
/// What lines at one level are moved apart by, in doublings of the clients: their intervals would cover each other.
const APART: f64 = 0.05;

/// What is drawn of a cell.
#[derive(Clone, Copy)]
struct What {
    id: &'static str,
    title: &'static str,
    axes: &'static str,
    pointer: &'static str,
    value: fn(&CellSummary) -> Option<f64>,
    half_width: fn(&CellSummary) -> Option<f64>,
    on_axis: fn(f64) -> String,
    text: fn(f64) -> String,
}

const THROUGHPUT: What = What {
    id: "subjects-tps",
    title: "Throughput against clients",
    axes: "transactions per second; clients on a log scale; bars span the 95 % interval",
    pointer: "tps/value",
    value: |cell| Some(cell.tps.value),
    half_width: |cell| cell.tps.half_width,
    on_axis: |tps| units::rate(tps).replace("0.000", "0"),
    text: |tps| format!("{} TPS", units::rate(tps)),
};

const LATENCY: What = What {
    id: "subjects-p95",
    title: "Latency against clients",
    axes: "95th percentile of latency; clients on a log scale",
    pointer: "latency/p95_ns",
    value: |cell| Some(cell.latency.as_ref()?.p95_ns? as f64),
    half_width: |_| None,
    on_axis: short_latency,
    text: |ns| format!("p95 {}", units::latency(ns)),
};

/// The charts of a script over a protocol, numbered from 0; none where there is no cell.
pub(crate) fn charts(document: &Document, number: usize, work: (&str, &str)) -> Vec<Chart> {
    let (script, protocol) = work;
    let cells = document.record.cells.iter().enumerate();
    let of_script: Vec<_> = cells.filter(|(_, cell)| cell.workload.script == script).collect();
    let (mut cells, others): (Vec<_>, Vec<_>) =
        of_script.into_iter().partition(|(_, cell)| cell.workload.protocol == protocol);
    let name = if others.is_empty() { script.to_owned() } else { format!("{script} ({protocol})") };
    cells.sort_by_key(|(_, cell)| (cell.workload.clients, place(&document.record, &cell.workload)));
    let drawn = [THROUGHPUT, LATENCY].into_iter().map(|what| draw(document, &cells, number, &name, what));
    drawn.filter_map(Drawn::ok).flatten().collect()
}

type Cells<'a> = [(usize, &'a CellSummary)];

/// The place of a level on the axis.
fn level(cell: &CellSummary) -> f64 {
    f64::from(cell.workload.clients.max(1)).log2()
}

fn draw(
    document: &Document,
    cells: &Cells<'_>,
    number: usize,
    script: &str,
    what: What,
) -> Drawn<Option<Chart>> {
    let names = document.record.names();
    let high = |cell: &CellSummary| (what.value)(cell).map(|v| v + (what.half_width)(cell).unwrap_or(0.0));
    let max = cells.iter().filter_map(|(_, cell)| high(cell)).fold(0.0, f64::max) * 1.08;
    let Some((first, last)) = cells.first().zip(cells.last()).filter(|_| max > 0.0) else { return Ok(None) };
    let margin = ((level(last.1) - level(first.1)) * 0.08).max(0.25) + APART * names.len() as f64 / 2.0;
    let mut stops: Vec<Stop> = Vec::new();
    let title = format!("{script}: {}", what.title.to_lowercase());
    let svg = picture(WIDTH, HEIGHT, &title, |area| {
        let mut keys: Vec<f64> = cells.iter().map(|(_, cell)| level(cell)).collect();
        keys.dedup();
        let x = Axis::linear(level(first.1) - margin, level(last.1) + margin, keys);
        let mut plot = plot(area, x, Axis::linear(0.0, max, ticks(max, 5)))?;
        mesh(&mut plot, &|x| format!("{:.0}", x.exp2()), &|y| (what.on_axis)(*y))?;
        for of in 0..names.len() {
            let own = cells.iter().filter(|(_, cell)| place(&document.record, &cell.workload) == of);
            let points: Vec<_> = own
                .filter_map(|(index, cell)| {
                    let aside = APART * (of as f64 - (names.len() - 1) as f64 / 2.0);
                    Some((*index, *cell, level(cell) + aside, (what.value)(cell)?))
                })
                .collect();
            one_line(&mut plot, of, &points, what)?;
            for (index, cell, _, y) in points {
                let (px, py) = plot.backend_coord(&(level(cell), y));
                add(&mut stops, px, cell, stop_value(document, (index, cell), of, (py, y), what, names[of]));
            }
        }
        Ok(())
    })?;
    Ok(Some(Chart {
        id: format!("{}-{number}", what.id),
        title: what.title.into(),
        axes: what.axes.into(),
        legend: names.iter().enumerate().map(|(of, name)| (of, format!("{} {name}", sign(of)))).collect(),
        svg,
        stops,
        wide: false,
    }))
}

/// The sign of a subject. Beyond the number of colours, colours and signs meet in other pairs.
fn sign(of: usize) -> char {
    SIGNS[(of + of / SERIES) % SERIES]
}

/// The line of one subject: its points with signs and intervals.
fn one_line(
    plot: &mut Plot<'_, '_>,
    of: usize,
    points: &[(usize, &CellSummary, f64, f64)],
    what: What,
) -> Drawn<()> {
    let ends = points.iter().map(|(_, _, x, y)| (*x, *y));
    plot.draw_series(LineSeries::new(ends, line(&series(of), 2))).map_err(failed)?;
    for (_, cell, x, y) in points {
        if let Some(half) = (what.half_width)(cell) {
            let cap = APART / 2.0;
            let (low, high) = ((y - half).max(0.0), y + half);
            let lines = [
                [(*x, low), (*x, high)],
                [(x - cap, low), (x + cap, low)],
                [(x - cap, high), (x + cap, high)],
            ];
            let lines = lines.map(|ends| PathElement::new(ends, line(&series(of), 1)));
            plot.draw_series(lines).map_err(failed)?;
        }
        mark(plot, of, (*x, *y))?;
    }
    Ok(())
}

fn mark(plot: &mut Plot<'_, '_>, of: usize, at: (f64, f64)) -> Drawn<()> {
    let size = 4 * SCALE;
    let style = series(of).filled();
    let corners = match sign(of) {
        '■' => vec![(-size, -size), (size, -size), (size, size), (-size, size)],
        '▲' => vec![(0, -size), (size, size), (-size, size)],
        '▼' => vec![(0, size), (size, -size), (-size, -size)],
        '◆' => vec![(0, -size - SCALE), (size + SCALE, 0), (0, size + SCALE), (-size - SCALE, 0)],
        '○' => {
            let ring = Circle::new(at, size, line(&series(of), 2));
            return plot.draw_series([ring]).map_err(failed).map(drop);
        }
        _ => return plot.draw_series([Circle::new(at, size, style)]).map_err(failed).map(drop),
    };
    let polygon = EmptyElement::at(at) + Polygon::new(corners, style);
    plot.draw_series([polygon]).map_err(failed).map(drop)
}

fn stop_value(
    document: &Document,
    (index, cell): (usize, &CellSummary),
    of: usize,
    (y, value): (i32, f64),
    what: What,
    name: &str,
) -> StopValue {
    let src = format!("/cells/{index}/{}", what.pointer);
    let spread = (what.half_width)(cell).map(|half| format!(" ± {}", units::percent(half / value)));
    let text = format!("{name} {}{}", (what.text)(value), spread.unwrap_or_default());
    let raw = document.source.0.pointer(&src).cloned().unwrap_or(Value::Null);
    StopValue { y, series: of % SERIES, text, src, value: raw }
}

/// Adds a value to the stop of its level.
fn add(stops: &mut Vec<Stop>, x: i32, cell: &CellSummary, value: StopValue) {
    let label = clients_label(cell);
    match stops.iter_mut().find(|stop| stop.label == label) {
        Some(stop) => stop.values.push(value),
        None => stops.push(Stop { x, label, values: vec![value] }),
    }
    stops.sort_by_key(|stop| stop.x);
}
