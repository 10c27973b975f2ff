//! TPS and latency over the seconds that were driven, run after run.

use pgdyno_core::{
    measure::{CellRun, Interval},
    units,
};
use plotters::prelude::*;
use serde_json::Value;

use super::{
    AXIS, BAND, Chart, SCALE, Stop, StopValue,
    axes::{Axis, Drawn, Plot, failed, line, mesh, picture, plot, text_style, ticks},
    over_clients::short_latency,
    series,
};
use crate::document::Document;

const WIDTH: i32 = 1020;
const HEIGHT: i32 = 240;
/// Intervals that a chart can show side by side.
const MOST_POINTS: usize = 1_500;

/// A run of the workload, laid end to end with the others: the gaps between runs are left out.
struct Stretch<'a> {
    run: &'a CellRun,
    /// Seconds driven before it.
    from_s: f64,
    points: Vec<Point>,
}

/// One interval, or several neighbours.
struct Point {
    /// Indexes of the first and last line of the timeline.
    lines: (usize, usize),
    /// Start and end in seconds driven.
    span_s: (f64, f64),
    /// Start in seconds of its run.
    at_s: f64,
    warm_up: bool,
    committed: u64,
    /// In the order of [`LATENCIES`].
    latencies_ns: [Option<u64>; 4],
}

/// Name, field of the timeline and colour. The longest is always known; a second often has too few samples
/// for p99.
const LATENCIES: [(&str, &str, usize); 4] =
    [("p50", "p50_ns", 0), ("p95", "p95_ns", 1), ("p99", "p99_ns", 2), ("max", "max_ns", 5)];

impl Point {
    fn tps(&self) -> f64 {
        self.committed as f64 / (self.span_s.1 - self.span_s.0).max(1e-9)
    }

    fn middle(&self) -> f64 {
        (self.span_s.0 + self.span_s.1) / 2.0
    }

    /// Pointer into the timeline; of several lines, the range of them.
    fn src(&self, field: &str) -> String {
        match self.lines {
            (first, last) if first == last => format!("timeline#/{first}/{field}"),
            (first, last) => format!("timeline#/{first}..{last}/{field}"),
        }
    }
}

/// Both charts; none where there is no timeline.
pub(crate) fn charts(document: &Document, group: usize) -> Vec<Chart> {
    let stretches = stretches(document, group);
    if stretches.is_empty() {
        return Vec::new();
    }
    let charts = [throughput(&stretches, group), latency(&stretches, group)];
    charts.into_iter().filter_map(Drawn::ok).flatten().collect()
}

fn stretches(document: &Document, group: usize) -> Vec<Stretch<'_>> {
    let of_group = |run: &CellRun| {
        let rows = &document.groups[group].rows;
        rows.iter().any(|row| document.record.cells[row.index].workload == run.workload)
    };
    let lines = |index: usize| {
        document.timeline.iter().enumerate().filter(move |(_, line)| line.run as usize == index)
    };
    let runs: Vec<_> = document.record.runs.iter().enumerate().filter(|(_, run)| of_group(run)).collect();
    let count: usize = runs.iter().map(|(index, _)| lines(*index).count()).sum();
    let join = count.div_ceil(MOST_POINTS).next_power_of_two();
    let mut from_s = 0.0;
    let mut stretches = Vec::new();
    for (index, run) in runs {
        let own: Vec<_> = lines(index).collect();
        let Some((_, last)) = own.last() else { continue };
        let length_s = (last.start_ns + last.duration_ns) as f64 / 1e9;
        stretches.push(Stretch { run, from_s, points: points(&own, from_s, join) });
        from_s += length_s;
    }
    stretches
}

fn points(lines: &[(usize, &Interval)], from_s: f64, join: usize) -> Vec<Point> {
    let same_side = lines.chunk_by(|a, b| a.1.warm_up == b.1.warm_up);
    same_side.flat_map(|side| side.chunks(join)).map(|chunk| point(chunk, from_s)).collect()
}

/// Of several intervals: all commits, and the worst percentiles.
fn point(chunk: &[(usize, &Interval)], from_s: f64) -> Point {
    let (first, last) = (&chunk[0], &chunk[chunk.len() - 1]);
    let worst = |of: fn(&Interval) -> Option<u64>| chunk.iter().filter_map(|(_, line)| of(line)).max();
    let at_s = first.1.start_ns as f64 / 1e9;
    let end_s = (last.1.start_ns + last.1.duration_ns) as f64 / 1e9;
    Point {
        lines: (first.0, last.0),
        span_s: (from_s + at_s, from_s + end_s),
        at_s,
        warm_up: first.1.warm_up,
        committed: chunk.iter().map(|(_, line)| line.counts.committed).sum(),
        latencies_ns: [
            worst(|line| line.latency.as_ref()?.p50_ns),
            worst(|line| line.latency.as_ref()?.p95_ns),
            worst(|line| line.latency.as_ref()?.p99_ns),
            worst(|line| Some(line.latency.as_ref()?.max_ns)),
        ],
    }
}

fn end_s(stretches: &[Stretch<'_>]) -> f64 {
    let last = stretches.last().and_then(|stretch| stretch.points.last());
    last.map_or(1.0, |point| point.span_s.1)
}

fn throughput(stretches: &[Stretch<'_>], group: usize) -> Drawn<Option<Chart>> {
    let max = stretches.iter().flat_map(|s| &s.points).map(Point::tps).fold(0.0, f64::max) * 1.08;
    if max <= 0.0 {
        return Ok(None);
    }
    let mut stops = Vec::new();
    let svg = picture(WIDTH, HEIGHT, "throughput over time", |area| {
        let end = end_s(stretches);
        let x = Axis::linear(0.0, end, ticks(end, 10));
        let mut plot = plot(area, x, Axis::linear(0.0, max, ticks(max, 5)))?;
        background(&mut plot, stretches, (0.0, max))?;
        mesh(&mut plot, &|x| seconds(*x), &|y| units::rate(*y).replace("0.000", "0"))?;
        for stretch in stretches {
            let points = stretch.points.iter().map(|point| (point.middle(), point.tps()));
            plot.draw_series(LineSeries::new(points, line(&series(0), 2))).map_err(failed)?;
            for point in &stretch.points {
                let (x, y) = plot.backend_coord(&(point.middle(), point.tps()));
                let text = format!("{} TPS", units::rate(point.tps()));
                let value = Value::from(point.committed);
                let src = point.src("counts/committed");
                let value = StopValue { y, series: 0, text, src, value };
                stops.push(Stop { x, label: label(stretch, point), values: vec![value] });
            }
        }
        Ok(())
    })?;
    Ok(Some(Chart {
        id: format!("time-tps-{group}"),
        title: "Throughput over time".into(),
        axes: "transactions per second; seconds driven, runs end to end, warm-up shaded; clients above"
            .into(),
        legend: Vec::new(),
        svg,
        stops,
        wide: true,
    }))
}

fn latency(stretches: &[Stretch<'_>], group: usize) -> Drawn<Option<Chart>> {
    let points = || stretches.iter().flat_map(|s| &s.points);
    let values = || points().flat_map(|p| p.latencies_ns).flatten().map(|ns| ns as f64);
    let (min, max) = (values().fold(f64::INFINITY, f64::min) / 1.3, values().fold(0.0, f64::max) * 1.3);
    if max <= 0.0 {
        return Ok(None);
    }
    let mut stops = Vec::new();
    let svg = picture(WIDTH, HEIGHT, "latency over time", |area| {
        let end = end_s(stretches);
        let x = Axis::linear(0.0, end, ticks(end, 10));
        let mut plot = plot(area, x, Axis::log(min, max))?;
        background(&mut plot, stretches, (min, max))?;
        mesh(&mut plot, &|x| seconds(*x), &|y| short_latency(*y))?;
        for stretch in stretches {
            latency_lines(&mut plot, stretch)?;
        }
        let all = stretches.iter().flat_map(|s| s.points.iter().map(move |p| (s, p)));
        stops = all.map(|(stretch, point)| latency_stop(&plot, stretch, point)).collect();
        Ok(())
    })?;
    Ok(Some(Chart {
        id: format!("time-latency-{group}"),
        title: "Latency over time".into(),
        axes: "latency on a log scale; a percentile with too few samples in its second is left out".into(),
        legend: legend(stretches),
        svg,
        stops,
        wide: true,
    }))
}

/// The series that have a point at all.
fn legend(stretches: &[Stretch<'_>]) -> Vec<(usize, String)> {
    let known = |index: &usize| {
        stretches.iter().flat_map(|s| &s.points).any(|point| point.latencies_ns[*index].is_some())
    };
    let named = |index: usize| (LATENCIES[index].2, LATENCIES[index].0.to_owned());
    (0..LATENCIES.len()).filter(known).map(named).collect()
}

/// Percentiles as lines, the longest latency as dots: one slow attempt a second makes no line.
fn latency_lines(plot: &mut Plot<'_, '_>, stretch: &Stretch<'_>) -> Drawn<()> {
    for (index, (name, _, colour)) in LATENCIES.into_iter().enumerate() {
        let known = |point: &Point| Some((point.middle(), point.latencies_ns[index]? as f64));
        let points: Vec<_> = stretch.points.iter().filter_map(known).collect();
        let dots = if name == "max" || points.len() == 1 { &points[..] } else { &[] };
        let circles = dots.iter().map(|point| Circle::new(*point, 7 * SCALE / 4, series(colour).filled()));
        plot.draw_series(circles).map_err(failed)?;
        if name != "max" {
            plot.draw_series(LineSeries::new(points, line(&series(colour), 2))).map_err(failed)?;
        }
    }
    Ok(())
}

fn latency_stop(plot: &Plot<'_, '_>, stretch: &Stretch<'_>, point: &Point) -> Stop {
    let value = |((name, field, colour), ns): ((&str, &str, usize), Option<u64>)| {
        let ns = ns?;
        let y = plot.backend_coord(&(point.middle(), ns as f64)).1;
        let src = point.src(&format!("latency/{field}"));
        let text = format!("{name} {}", units::latency(ns as f64));
        Some(StopValue { y, series: colour, text, src, value: Value::from(ns) })
    };
    let values = LATENCIES.into_iter().zip(point.latencies_ns).filter_map(value).collect();
    let x = plot.backend_coord(&(point.middle(), 0.0)).0;
    Stop { x, label: label(stretch, point), values }
}

fn label(stretch: &Stretch<'_>, point: &Point) -> String {
    let clients = units::plural(u64::from(stretch.run.workload.clients), "client");
    let side = if point.warm_up { ", warm-up" } else { "" };
    format!("{clients}, block {}, {:.0} s{side}", stretch.run.block + 1, point.at_s)
}

fn seconds(x: f64) -> String {
    format!("{x:.0} s")
}

/// Shades warm-ups, draws a line where a run begins, and writes its clients above where there is room.
fn background(plot: &mut Plot<'_, '_>, stretches: &[Stretch<'_>], y: (f64, f64)) -> Drawn<()> {
    let warm = stretches.iter().flat_map(|s| &s.points).filter(|point| point.warm_up);
    let bands = warm.map(|p| Rectangle::new([(p.span_s.0, y.0), (p.span_s.1, y.1)], BAND.filled()));
    plot.draw_series(bands).map_err(failed)?;
    let starts = stretches.iter().skip(1);
    let lines = starts.map(|s| PathElement::new([(s.from_s, y.0), (s.from_s, y.1)], line(&AXIS, 1)));
    plot.draw_series(lines).map_err(failed)?;
    let pixels = plot.plotting_area().get_pixel_range().0;
    let room = f64::from(pixels.end - pixels.start) / f64::from(SCALE) / stretches.len() as f64;
    if room < 24.0 {
        return Ok(());
    }
    for stretch in stretches {
        let place = plot.backend_coord(&(stretch.from_s, y.1));
        let clients = stretch.run.workload.clients.to_string();
        let at = (place.0 + 2 * SCALE, place.1 - 14 * SCALE);
        let area = plot.plotting_area().strip_coord_spec();
        let origin = plot.plotting_area().get_pixel_range();
        let within = (at.0 - origin.0.start, at.1 - origin.1.start);
        area.draw(&Text::new(clients, within, text_style(11))).map_err(failed)?;
    }
    Ok(())
}
