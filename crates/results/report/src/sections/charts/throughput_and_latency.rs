//! Charts of TPS and latency over the time under load, run after run.

use pgdyno_core::{
    measure::{CellRun, Interval},
    units,
};
use serde_json::Value;

use super::scales::{latencies, linear, seconds, short_rate, ticks};
use pgdyno_document::chart::{Axis, Chart, Mark, Rule, Sign, Stop, StopValue};

use crate::run::{Run, is_same_work};

/// Most intervals in a chart.
const MOST_POINTS: usize = 1_500;
/// Most runs with a label of their client count.
const MOST_NOTES: usize = 39;

/// A run of the workload, without the gaps between runs.
struct Stretch<'a> {
    run: &'a CellRun,
    /// Seconds under load before the run.
    from_s: f64,
    points: Vec<Point>,
}

/// One interval, or several merged ones.
struct Point {
    /// Indexes of the first and last line of the timeline.
    lines: (usize, usize),
    /// Start and end in seconds under load.
    span_s: (f64, f64),
    /// Start in seconds since the start of the run.
    at_s: f64,
    warm_up: bool,
    committed: u64,
    /// In the order of [`LATENCIES`].
    latencies_ns: [Option<u64>; 4],
}

/// Name, field of the timeline and series. The maximum is always known; a second often has too few samples for p99.
const LATENCIES: [(&str, &str, usize); 4] =
    [("p50", "p50_ns", 0), ("p95", "p95_ns", 1), ("p99", "p99_ns", 2), ("max", "max_ns", 5)];

impl Point {
    fn tps(&self) -> f64 {
        self.committed as f64 / (self.span_s.1 - self.span_s.0).max(1e-9)
    }

    fn middle(&self) -> f64 {
        (self.span_s.0 + self.span_s.1) / 2.0
    }

    /// Pointer into the timeline; a range for several lines.
    fn src(&self, field: &str) -> String {
        match self.lines {
            (first, last) if first == last => format!("timeline#/{first}/{field}"),
            (first, last) => format!("timeline#/{first}..{last}/{field}"),
        }
    }
}

/// Both charts of a workload; none without a timeline.
pub fn charts(run: &Run<'_>, number: usize, group: &[usize]) -> Vec<Chart> {
    let stretches = stretches(run, group);
    let charts = [throughput(&stretches, number), latency(&stretches, number)];
    charts.into_iter().flatten().collect()
}

fn stretches<'a>(run: &Run<'a>, group: &[usize]) -> Vec<Stretch<'a>> {
    let Some(first) = group.first() else { return Vec::new() };
    let work = &run.record.cells[*first].workload;
    let runs = run.record.runs.iter().enumerate().filter(|(_, own)| is_same_work(&own.workload, work));
    let runs: Vec<_> = runs.map(|(index, own)| (own, lines(run.timeline, index))).collect();
    let count: usize = runs.iter().map(|(_, lines)| lines.len()).sum();
    let join = count.div_ceil(MOST_POINTS).next_power_of_two();
    let mut from_s = 0.0;
    let mut stretches = Vec::new();
    for (run, lines) in runs {
        let Some((_, last)) = lines.last() else { continue };
        let length_s = (last.start_ns + last.duration_ns) as f64 / 1e9;
        stretches.push(Stretch { run, from_s, points: points(&lines, from_s, join) });
        from_s += length_s;
    }
    stretches
}

/// The intervals of a run with their indexes; they are consecutive in the timeline.
fn lines(timeline: &[Interval], run: usize) -> Vec<(usize, &Interval)> {
    let start = timeline.partition_point(|line| (line.run as usize) < run);
    let own = timeline.iter().enumerate().skip(start);
    own.take_while(|(_, line)| line.run as usize == run).collect()
}

fn points(lines: &[(usize, &Interval)], from_s: f64, join: usize) -> Vec<Point> {
    let same_side = lines.chunk_by(|a, b| a.1.warm_up == b.1.warm_up);
    same_side.flat_map(|side| side.chunks(join)).map(|chunk| point(chunk, from_s)).collect()
}

/// Merges intervals: added commits, and the worst percentiles.
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

fn all<'a>(stretches: &'a [Stretch<'a>]) -> impl Iterator<Item = (&'a Stretch<'a>, &'a Point)> {
    stretches.iter().flat_map(|stretch| stretch.points.iter().map(move |point| (stretch, point)))
}

fn throughput(stretches: &[Stretch<'_>], number: usize) -> Option<Chart> {
    let max = all(stretches).map(|(_, point)| point.tps()).fold(0.0, f64::max) * 1.08;
    let lines = stretches.iter().map(|stretch| {
        Mark::Line(0, stretch.points.iter().map(|point| (point.middle(), point.tps())).collect())
    });
    let stops = all(stretches).map(|(stretch, point)| {
        let text = format!("{} TPS", units::rate(point.tps()));
        let (src, value) = (point.src("counts/committed"), Value::from(point.committed));
        stop(stretch, point, vec![StopValue { y: point.tps(), series: 0, text, src, value }])
    });
    let chart = || Chart {
        id: format!("time-tps-{number}"),
        title: "Throughput over time",
        note: "transactions per second; seconds under load, runs end to end, warm-up shaded; clients above",
        legend: Vec::new(),
        ..wide(stretches, linear(0.0, max, ticks(max, 5), short_rate), lines.collect(), stops.collect())
    };
    (max > 0.0).then(chart)
}

fn latency(stretches: &[Stretch<'_>], number: usize) -> Option<Chart> {
    let values = all(stretches).flat_map(|(_, point)| point.latencies_ns).flatten();
    let values: Vec<f64> = values.map(|ns| ns as f64).collect();
    let min = values.iter().copied().fold(f64::INFINITY, f64::min) / 1.3;
    let max = values.iter().copied().fold(0.0, f64::max) * 1.3;
    let stops = all(stretches).map(|(stretch, point)| stop(stretch, point, latency_values(point)));
    let known = |index: &usize| all(stretches).any(|(_, point)| point.latencies_ns[*index].is_some());
    let named = |index: usize| (LATENCIES[index].2, LATENCIES[index].0.to_owned());
    let chart = || Chart {
        id: format!("time-latency-{number}"),
        title: "Latency over time",
        note: "latency on a log scale; percentiles with too few samples in a second are omitted",
        legend: (0..LATENCIES.len()).filter(known).map(named).collect(),
        ..wide(
            stretches,
            latencies(min, max),
            stretches.iter().flat_map(latency_lines).collect(),
            stops.collect(),
        )
    };
    (max > 0.0).then(chart)
}

/// A chart over the whole time with the common elements.
fn wide(stretches: &[Stretch<'_>], y: Axis, marks: Vec<Mark>, stops: Vec<Stop>) -> Chart {
    let last = stretches.last().and_then(|stretch| stretch.points.last());
    Chart {
        id: String::new(),
        title: "",
        label: stretches.first().map(|stretch| stretch.run.workload.title()).unwrap_or_default(),
        note: "",
        legend: Vec::new(),
        x: seconds(last.map_or(1.0, |point| point.span_s.1)),
        marks: background(stretches, (y.min, y.max)).into_iter().chain(marks).collect(),
        y,
        stops,
        height: 240,
        wide: true,
    }
}

/// Percentiles as lines, the maximum as dots, because one slow attempt per second does not make a line.
fn latency_lines(stretch: &Stretch<'_>) -> Vec<Mark> {
    let mut marks = Vec::new();
    for (index, (name, _, series)) in LATENCIES.into_iter().enumerate() {
        let known = |point: &Point| Some((point.middle(), point.latencies_ns[index]? as f64));
        let points: Vec<_> = stretch.points.iter().filter_map(known).collect();
        if name == "max" || points.len() == 1 {
            marks.extend(points.iter().map(|point| Mark::Sign(series, Sign::Dot, *point)));
        }
        if name != "max" {
            marks.push(Mark::Line(series, points));
        }
    }
    marks
}

fn latency_values(point: &Point) -> Vec<StopValue> {
    let value = |((name, field, series), ns): ((&str, &str, usize), Option<u64>)| {
        let ns = ns?;
        let src = point.src(&format!("latency/{field}"));
        let text = format!("{name} {}", units::latency(ns as f64));
        Some(StopValue { y: ns as f64, series, text, src, value: Value::from(ns) })
    };
    LATENCIES.into_iter().zip(point.latencies_ns).filter_map(value).collect()
}

fn stop(stretch: &Stretch<'_>, point: &Point, values: Vec<StopValue>) -> Stop {
    let clients = units::plural(u64::from(stretch.run.workload.clients), "client");
    let side = if point.warm_up { ", warm-up" } else { "" };
    let label = format!("{clients}, block {}, {:.0} s{side}", stretch.run.block + 1, point.at_s);
    Stop { x: point.middle(), label, values }
}

/// Shades warm-ups, and marks the beginning of each run with a line and its client count.
fn background(stretches: &[Stretch<'_>], (low, high): (f64, f64)) -> Vec<Mark> {
    let warm = all(stretches).filter(|(_, point)| point.warm_up);
    let bands = warm.map(|(_, point)| Mark::Band((point.span_s.0, low), (point.span_s.1, high)));
    let starts = stretches.iter().skip(1);
    let starts = starts.map(|of| Mark::Rule(Rule::Axis, (of.from_s, low), (of.from_s, high)));
    let named = if stretches.len() > MOST_NOTES { &[] } else { stretches };
    let notes = named.iter().map(|of| Mark::Note((of.from_s, high), of.run.workload.clients.to_string()));
    bands.chain(starts).chain(notes).collect()
}
