//! The latency distribution in HDR style: latency on a log scale against the number of nines.

use pgdyno_core::units;
use plotters::prelude::*;
use serde_json::json;

use super::{
    Chart, Stop, StopValue,
    axes::{Axis, failed, line, mesh, picture, plot},
    over_clients::short_latency,
    series,
};
use crate::document::Document;

const WIDTH: i32 = 1020;
const HEIGHT: i32 = 320;
/// Ticks of the quantile axis.
const QUANTILES: [f64; 8] = [0.0, 0.5, 0.9, 0.99, 0.999, 0.999_9, 0.999_99, 0.999_999];

/// A point of a cell's distribution: its index in the record, latency in ns, quantile.
type Points = Vec<(usize, f64, f64)>;

/// The chart; none where no cell has a distribution.
pub(crate) fn chart(document: &Document, group: usize) -> Option<Chart> {
    let cells: Vec<(usize, Points)> = document.groups[group]
        .rows
        .iter()
        .map(|row| (row.index, points(document, row.index)))
        .filter(|(_, points)| points.len() > 1)
        .collect();
    let all = || cells.iter().flat_map(|(_, points)| points);
    let min = all().map(|(_, ns, _)| *ns).fold(f64::INFINITY, f64::min) / 1.1;
    let max = all().map(|(_, ns, _)| *ns).fold(0.0, f64::max) * 1.1;
    let top = all().map(|(_, _, quantile)| nines(*quantile)).fold(0.0, f64::max);
    if max <= 0.0 || top <= 0.0 {
        return None;
    }
    let mut stops = Vec::new();
    let svg = picture(WIDTH, HEIGHT, "latency distribution", |area| {
        let x = Axis::log(min, max);
        let keys = QUANTILES.into_iter().map(nines).filter(|key| *key <= top).collect();
        let mut plot = plot(area, x, Axis::linear(0.0, top, keys))?;
        mesh(&mut plot, &|x| short_latency(*x), &|y| percentile(1.0 - 10f64.powf(-*y)))?;
        for (colour, (cell, points)) in cells.iter().enumerate() {
            let curve = points.iter().map(|(_, ns, quantile)| (*ns, nines(*quantile)));
            plot.draw_series(LineSeries::new(curve, line(&series(colour), 2))).map_err(failed)?;
            let workload = &document.record.cells[*cell].workload;
            let clients = units::plural(u64::from(workload.clients), "client");
            for (index, ns, quantile) in points {
                let (x, y) = plot.backend_coord(&(*ns, nines(*quantile)));
                let text =
                    format!("{} of transactions within {}", percentile(*quantile), units::latency(*ns));
                let src = format!("/cells/{cell}/distribution/{index}");
                let value = json!([*ns as u64, quantile]);
                let value = StopValue { y, series: colour, text, src, value };
                stops.push(Stop { x, label: clients.clone(), values: vec![value] });
            }
        }
        Ok(())
    });
    let legend = cells.iter().enumerate().map(|(colour, (cell, _))| {
        let clients = document.record.cells[*cell].workload.clients;
        (colour, units::plural(u64::from(clients), "client"))
    });
    Some(Chart {
        id: format!("distribution-{group}"),
        title: "Latency distribution".into(),
        axes: "share of transactions, scaled by nines; latency on a log scale; all blocks together".into(),
        legend: legend.collect(),
        svg: svg.ok()?,
        stops,
        wide: true,
    })
}

/// The points below the maximum, whose quantile of 1 has infinitely many nines.
fn points(document: &Document, cell: usize) -> Points {
    let distribution = document.record.cells[cell].distribution.iter().enumerate();
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
