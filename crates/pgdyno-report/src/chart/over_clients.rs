//! TPS and latency against clients.

use pgdyno_core::{measure::CellSummary, units};
use plotters::prelude::*;
use serde_json::Value;

use super::{
    Chart, SCALE, Stop, StopValue,
    axes::{Axis, Drawn, Plot, failed, line, mesh, picture, plot, ticks},
    series,
};
use crate::document::Document;

const WIDTH: i32 = 500;
const HEIGHT: i32 = 260;
const LATENCIES: [(&str, &str); 3] = [("p50", "p50_ns"), ("p95", "p95_ns"), ("p99", "p99_ns")];

/// Both charts; none where there is no cell.
pub(crate) fn charts(document: &Document, group: usize) -> Vec<Chart> {
    let rows = &document.groups[group].rows;
    let mut cells: Vec<_> = rows.iter().map(|row| (row.index, &document.record.cells[row.index])).collect();
    cells.sort_by_key(|(_, cell)| cell.workload.clients);
    let script = cells.first().map_or("", |(_, cell)| &cell.workload.script);
    let charts = [throughput(&cells, group, script), latency(document, &cells, group, script)];
    charts.into_iter().filter_map(Drawn::ok).flatten().collect()
}

type Cells<'a> = [(usize, &'a CellSummary)];

/// Clients on a logarithmic scale to the base 2, so that doublings are equally far apart.
fn at(cell: &CellSummary) -> f64 {
    f64::from(cell.workload.clients.max(1)).log2()
}

fn x_range(cells: &Cells<'_>) -> (f64, f64) {
    let first = cells.first().map_or(0.0, |(_, cell)| at(cell));
    let last = cells.last().map_or(0.0, |(_, cell)| at(cell));
    let margin = ((last - first) * 0.08).max(0.25);
    (first - margin, last + margin)
}

pub(super) fn clients_label(cell: &CellSummary) -> String {
    units::plural(u64::from(cell.workload.clients), "client")
}

fn throughput(cells: &Cells<'_>, group: usize, script: &str) -> Drawn<Option<Chart>> {
    let high = cells.iter().map(|(_, cell)| cell.tps.max.max(cell.tps.value + half_width(cell)));
    let max = high.fold(0.0, f64::max) * 1.08;
    if max <= 0.0 {
        return Ok(None);
    }
    let mut stops = Vec::new();
    let title = format!("{script}: throughput against clients");
    let svg = picture(WIDTH, HEIGHT, &title, |area| {
        let (low, high) = x_range(cells);
        let keys = cells.iter().map(|(_, cell)| at(cell)).collect();
        let x = Axis::linear(low, high, keys);
        let mut plot = plot(area, x, Axis::linear(0.0, max, ticks(max, 5)))?;
        mesh(&mut plot, &|x| format!("{:.0}", x.exp2()), &|y| units::rate(*y).replace("0.000", "0"))?;
        let points = cells.iter().map(|(_, cell)| (at(cell), cell.tps.value));
        plot.draw_series(LineSeries::new(points, line(&series(0), 2))).map_err(failed)?;
        for (index, cell) in cells {
            let (x, y) = (at(cell), cell.tps.value);
            whisker(&mut plot, x, cell)?;
            plot.draw_series([Circle::new((x, y), 3 * SCALE, series(0).filled())]).map_err(failed)?;
            let (px, py) = plot.backend_coord(&(x, y));
            let spread = cell.tps.half_width.map(|half| format!(" ± {}", units::percent(half / y)));
            let text = format!("{} TPS{}", units::rate(y), spread.unwrap_or_default());
            let src = format!("/cells/{index}/tps/value");
            let value = StopValue { y: py, series: 0, text, src, value: Value::from(y) };
            stops.push(Stop { x: px, label: clients_label(cell), values: vec![value] });
        }
        Ok(())
    })?;
    Ok(Some(Chart {
        id: format!("clients-tps-{group}"),
        title: "Throughput against clients".into(),
        axes: "transactions per second; clients on a log scale; bars span the 95 % interval".into(),
        legend: Vec::new(),
        svg,
        stops,
        wide: false,
    }))
}

/// The 95 % interval as a bar with caps; nothing where it is not known.
fn whisker(plot: &mut Plot<'_, '_>, x: f64, cell: &CellSummary) -> Drawn<()> {
    let Some(half) = cell.tps.half_width else { return Ok(()) };
    let cap = plot.x_range().end.abs().max(1.0) * 0.012;
    let (low, high) = (cell.tps.value - half, cell.tps.value + half);
    let lines = [[(x, low), (x, high)], [(x - cap, low), (x + cap, low)], [(x - cap, high), (x + cap, high)]];
    let lines = lines.map(|ends| PathElement::new(ends, line(&series(0), 2)));
    plot.draw_series(lines).map_err(failed).map(drop)
}

fn half_width(cell: &CellSummary) -> f64 {
    cell.tps.half_width.unwrap_or(0.0)
}

fn latency(document: &Document, cells: &Cells<'_>, group: usize, script: &str) -> Drawn<Option<Chart>> {
    let ns = |index: usize, field: &str| {
        let pointer = format!("/cells/{index}/latency/{field}");
        document.source.0.pointer(&pointer).and_then(Value::as_f64)
    };
    let all = cells.iter().flat_map(|(index, _)| LATENCIES.map(|(_, field)| ns(*index, field)));
    let max = all.flatten().fold(0.0, f64::max) * 1.08;
    if max <= 0.0 {
        return Ok(None);
    }
    let mut stops: Vec<Stop> = Vec::new();
    let title = format!("{script}: latency against clients");
    let svg = picture(WIDTH, HEIGHT, &title, |area| {
        let (low, high) = x_range(cells);
        let x = Axis::linear(low, high, cells.iter().map(|(_, cell)| at(cell)).collect());
        let mut plot = plot(area, x, Axis::linear(0.0, max, ticks(max, 5)))?;
        mesh(&mut plot, &|x| format!("{:.0}", x.exp2()), &|y| short_latency(*y))?;
        let places = cells.iter().map(|(_, cell)| plot.backend_coord(&(at(cell), 0.0)).0);
        stops = places.zip(cells).map(|(x, (_, cell))| stop(x, cell)).collect();
        for (colour, (name, field)) in LATENCIES.into_iter().enumerate() {
            let points: Vec<_> =
                cells.iter().filter_map(|(index, cell)| Some((at(cell), ns(*index, field)?))).collect();
            plot.draw_series(LineSeries::new(points.clone(), line(&series(colour), 2))).map_err(failed)?;
            let dots = points.iter().map(|point| Circle::new(*point, 3 * SCALE, series(colour).filled()));
            plot.draw_series(dots).map_err(failed)?;
            for (stop, (index, cell)) in stops.iter_mut().zip(cells) {
                let Some(y) = ns(*index, field) else { continue };
                let src = format!("/cells/{index}/latency/{field}");
                let value = document.source.0.pointer(&src).cloned().unwrap_or_default();
                let text = format!("{name} {}", units::latency(y));
                let py = plot.backend_coord(&(at(cell), y)).1;
                stop.values.push(StopValue { y: py, series: colour, text, src, value });
            }
        }
        Ok(())
    })?;
    Ok(Some(Chart {
        id: format!("clients-latency-{group}"),
        title: "Latency against clients".into(),
        axes: "latency; clients on a log scale".into(),
        legend: LATENCIES.iter().enumerate().map(|(i, (name, _))| (i, (*name).to_owned())).collect(),
        svg,
        stops,
        wide: false,
    }))
}

fn stop(x: i32, cell: &CellSummary) -> Stop {
    Stop { x, label: clients_label(cell), values: Vec::new() }
}

/// A latency on an axis: `0`, `2 ms`, `500 µs`.
pub(crate) fn short_latency(ns: f64) -> String {
    if ns == 0.0 {
        return "0".into();
    }
    let text = units::latency(ns);
    let Some((number, unit)) = text.split_once(' ') else { return text };
    let number =
        if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number };
    format!("{number} {unit}")
}
