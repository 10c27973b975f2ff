//! The latency distribution in HDR style: latency on a log scale against the number of nines.

use pgdyno_core::units;
use serde_json::json;

use super::scales::{latencies, linear};
use pgdyno_document::chart::{Chart, Mark, Stop, StopValue};

use crate::run::Run;

/// Ticks of the quantile axis.
const QUANTILES: [f64; 8] = [0.0, 0.5, 0.9, 0.99, 0.999, 0.999_9, 0.999_99, 0.999_999];

/// A point of a cell's distribution: its index in the record, latency in ns, quantile.
type Points = Vec<(usize, f64, f64)>;

/// The chart of one workload; none if no cell has a distribution.
pub fn chart(run: &Run<'_>, number: usize, group: &[usize]) -> Option<Chart> {
    let cells = group.iter().map(|cell| (*cell, points(run, *cell)));
    let cells: Vec<(usize, Points)> = cells.filter(|(_, points)| points.len() > 1).collect();
    let all = || cells.iter().flat_map(|(_, points)| points);
    let min = all().map(|(_, ns, _)| *ns).fold(f64::INFINITY, f64::min) / 1.1;
    let max = all().map(|(_, ns, _)| *ns).fold(0.0, f64::max) * 1.1;
    let top = all().map(|(_, _, quantile)| nines(*quantile)).fold(0.0, f64::max);
    if max <= 0.0 || top <= 0.0 {
        return None;
    }
    let clients = |cell: usize| units::plural(u64::from(run.record.cells[cell].workload.clients), "client");
    let curves = cells.iter().enumerate();
    let line = |(series, (_, points)): (usize, &(usize, Points))| {
        Mark::Line(series, points.iter().map(|(_, ns, quantile)| (*ns, nines(*quantile))).collect())
    };
    let stops = curves.clone().flat_map(|(series, (cell, points))| {
        let label = clients(*cell);
        points.iter().map(move |point| Stop {
            x: point.1,
            label: label.clone(),
            values: vec![value(series, *cell, *point)],
        })
    });
    let ticks = QUANTILES.into_iter().map(nines).filter(|key| *key <= top).collect();
    Some(Chart {
        id: format!("distribution-{number}"),
        title: "Latency distribution",
        label: group.first().map(|cell| run.work_of(*cell).plain()).unwrap_or_default(),
        note: "share of transactions, scaled by nines; latency on a log scale; all blocks together",
        legend: curves.clone().map(|(series, (cell, _))| (series, clients(*cell))).collect(),
        x: latencies(min, max),
        y: linear(0.0, top, ticks, |y| percentile(1.0 - 10f64.powf(-y))),
        marks: curves.clone().map(line).collect(),
        stops: stops.collect(),
        height: 320,
        wide: true,
    })
}

fn value(series: usize, cell: usize, (index, ns, quantile): (usize, f64, f64)) -> StopValue {
    let text = format!("{} of transactions within {}", percentile(quantile), units::latency(ns));
    let src = format!("/cells/{cell}/distribution/{index}");
    StopValue { y: nines(quantile), series, text, src, value: json!([ns as u64, quantile]) }
}

/// The points below the maximum, whose quantile of 1 has infinitely many nines.
fn points(run: &Run<'_>, cell: usize) -> Points {
    let distribution = run.record.cells[cell].distribution.iter().enumerate();
    let finite = distribution.filter(|(_, (ns, quantile))| *ns > 0 && *quantile < 1.0);
    finite.map(|(index, (ns, quantile))| (index, *ns as f64, *quantile)).collect()
}

fn nines(quantile: f64) -> f64 {
    -(1.0 - quantile).log10()
}

/// `99.9 %`: as many decimals as the quantile needs.
fn percentile(quantile: f64) -> String {
    let decimals = ((nines(quantile) - 1.0).ceil() as i32).clamp(0, 5) as usize;
    let text = format!("{:.decimals$}", quantile * 100.0);
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} %")
}
