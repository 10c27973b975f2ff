//! The blocks of a comparison with the interval of their mean.

use pgdyno_core::measure::Arm;
use pgdyno_record::{BlockKind, BlockRecord, ComparisonRecord};
use plotters::prelude::*;
use serde_json::Value;

use super::{
    AXIS, BAND, Chart, SCALE, Stop, StopValue,
    axes::{Axis, Drawn, Plot, failed, line, mesh, picture, plot, ticks},
    series,
};
use crate::{
    document::Document,
    figure::{Figure, Format},
};

const WIDTH: i32 = 1_020;
const HEIGHT: i32 = 280;

/// The chart; none where there is no block.
pub(crate) fn chart(document: &Document) -> Option<Chart> {
    let comparison =
        document.record.comparison.as_ref().filter(|comparison| !comparison.blocks.is_empty())?;
    draw(document, comparison).ok()
}

/// Colour of a block: the order of its arms, or that both are A.
fn colour(block: &BlockRecord) -> usize {
    match (block.kind, block.first) {
        (BlockKind::Aa, _) => 2,
        (BlockKind::Ab, Arm::A) => 0,
        (BlockKind::Ab, Arm::B) => 1,
    }
}

fn draw(document: &Document, comparison: &ComparisonRecord) -> Drawn<Chart> {
    let percent = |share: f64| share * 100.0;
    let ends = comparison.result.iter().flat_map(|result| [result.low, result.high]);
    let all = comparison.blocks.iter().map(|block| block.difference).chain(ends);
    let most = all
        .map(|share| percent(share).abs())
        .filter(|v| v.is_finite())
        .fold(percent(comparison.margin), f64::max);
    let top = most * 1.15;
    let count = comparison.blocks.len() as f64;
    let mut stops = Vec::new();
    let svg = picture(WIDTH, HEIGHT, "B over A, block by block", |area| {
        let above = ticks(top, 3);
        let both = above.iter().skip(1).rev().map(|tick| -tick).chain(above.iter().copied()).collect();
        let numbers = comparison.blocks.iter().map(|block| f64::from(block.number)).collect();
        let mut plot = plot(area, Axis::linear(0.4, count + 0.6, numbers), Axis::linear(-top, top, both))?;
        interval(&mut plot, comparison, count)?;
        mesh(&mut plot, &|x| format!("{x:.0}"), &|y| format!("{y:+} %").replace("+0 %", "0"))?;
        for (index, block) in comparison.blocks.iter().enumerate() {
            let (x, y) = (f64::from(block.number), percent(block.difference));
            plot.draw_series([Circle::new((x, y), 4 * SCALE, series(colour(block)).filled())])
                .map_err(failed)?;
            let (px, py) = plot.backend_coord(&(x, y));
            stops.push(stop(document, index, block, (px, py)));
        }
        Ok(())
    })?;
    let names = ["A first", "B first", "A against A"].map(str::to_owned);
    Ok(Chart {
        id: "blocks".into(),
        title: "B over A, block by block".into(),
        axes: "B over A in per cent; blocks in the order they ran; the band is the interval of the mean, \
               thin lines are the margin"
            .into(),
        legend: names.into_iter().enumerate().collect(),
        svg,
        stops,
        wide: true,
    })
}

/// The band of the interval, its middle, no difference at all, and the margin.
fn interval(plot: &mut Plot<'_, '_>, comparison: &ComparisonRecord, count: f64) -> Drawn<()> {
    let (from, to) = (0.4, count + 0.6);
    let mut level = |share: f64, style| {
        let ends = [(from, share * 100.0), (to, share * 100.0)];
        plot.draw_series([PathElement::new(ends, style)]).map_err(failed).map(drop)
    };
    if let Some(result) = &comparison.result {
        level(result.effect, line(&series(0), 1))?;
    }
    level(0.0, line(&AXIS, 1))?;
    // As ratios the two ends of the margin are one the inverse of the other.
    level(comparison.margin, line(&super::GRID, 2))?;
    level(1.0 / (1.0 + comparison.margin) - 1.0, line(&super::GRID, 2))?;
    let Some(result) = &comparison.result else { return Ok(()) };
    let band =
        Rectangle::new([(from, result.low * 100.0), (to, result.high * 100.0)], BAND.mix(0.5).filled());
    plot.draw_series([band]).map_err(failed).map(drop)
}

fn stop(document: &Document, index: usize, block: &BlockRecord, (x, y): (i32, i32)) -> Stop {
    let src = format!("/comparison/blocks/{index}/difference");
    let figure = document.source.figure(src.clone(), Format::Change);
    let text = figure.as_ref().map_or_else(String::new, |figure: &Figure| figure.text.clone());
    let value = document.source.0.pointer(&src).cloned().unwrap_or(Value::Null);
    let label = if block.outlier {
        format!("block {}, outlier", block.number)
    } else {
        format!("block {}", block.number)
    };
    Stop { x, label, values: vec![StopValue { y, series: colour(block), text, src, value }] }
}
