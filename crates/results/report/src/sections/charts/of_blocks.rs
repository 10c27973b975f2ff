//! Chart of the blocks of a comparison with the confidence interval of their mean.

use pgdyno_core::measure::Arm;
use pgdyno_record::{BlockRecord, ComparisonRecord};

use super::scales::{linear, ticks};
use pgdyno_document::{
    chart::{Chart, Mark, Rule, Sign, Stop, StopValue},
    figure::Format::Change,
};

use crate::run::Run;

/// Names of the series: the first arm of a block.
const SERIES: [&str; 2] = ["A first", "B first"];

fn series(block: &BlockRecord) -> usize {
    match block.first {
        Arm::A => 0,
        Arm::B => 1,
    }
}

fn percent(share: f64) -> f64 {
    share * 100.0
}

/// The chart; none without a block.
pub fn chart(run: &Run<'_>, comparison: &ComparisonRecord) -> Option<Chart> {
    let ends = comparison.result.iter().flat_map(|result| [result.low, result.high]);
    let all = comparison.blocks.iter().map(|block| block.difference).chain(ends);
    let finite = all.map(|share| percent(share).abs()).filter(|v| v.is_finite());
    let top = finite.fold(percent(comparison.margin), f64::max) * 1.15;
    let above = ticks(top, 3);
    let both = above.iter().skip(1).rev().map(|tick| -tick).chain(above.iter().copied()).collect();
    let numbers = comparison.blocks.iter().map(|block| f64::from(block.number)).collect();
    let x = linear(0.4, comparison.blocks.len() as f64 + 0.6, numbers, |x| format!("{x:.0}"));
    let signs = comparison.blocks.iter().map(|block| {
        Mark::Sign(series(block), Sign::Disc, (f64::from(block.number), percent(block.difference)))
    });
    let stops = comparison.blocks.iter().enumerate().map(|(index, block)| stop(run, index, block));
    (!comparison.blocks.is_empty()).then(|| Chart {
        id: "blocks".into(),
        title: "B over A, block by block",
        label: "A and B".into(),
        note: "B over A in per cent; blocks in the order they ran; the band is the interval of the mean, \
               thin lines are the margin",
        legend: SERIES.map(str::to_owned).into_iter().enumerate().collect(),
        marks: interval(comparison, (x.min, x.max)).into_iter().chain(signs).collect(),
        x,
        y: linear(-top, top, both, |y| format!("{y:+} %").replace("+0 %", "0")),
        stops: stops.collect(),
        height: 280,
        wide: true,
    })
}

/// The interval, its mean, the zero line, and the margin.
fn interval(comparison: &ComparisonRecord, (from, to): (f64, f64)) -> Vec<Mark> {
    let level = |rule: Rule, share: f64| Mark::Rule(rule, (from, percent(share)), (to, percent(share)));
    let result = comparison.result.as_ref();
    let band = result.map(|result| Mark::Band((from, percent(result.low)), (to, percent(result.high))));
    let middle = result.map(|result| level(Rule::Middle(0), result.effect));
    // As ratios, the two ends of the margin are reciprocal.
    let margin = [comparison.margin, 1.0 / (1.0 + comparison.margin) - 1.0];
    let margin = margin.map(|share| level(Rule::Limit, share));
    band.into_iter().chain(middle).chain([level(Rule::Axis, 0.0)]).chain(margin).collect()
}

fn stop(run: &Run<'_>, index: usize, block: &BlockRecord) -> Stop {
    let src = format!("/comparison/blocks/{index}/difference");
    let text = run.source.figure(&*src, Change).map_or_else(String::new, |figure| figure.text);
    let value = run.source.value(&src).cloned().unwrap_or_default();
    let outlier = if block.outlier { ", outlier" } else { "" };
    let y = percent(block.difference);
    Stop {
        x: f64::from(block.number),
        label: format!("block {}{outlier}", block.number),
        values: vec![StopValue { y, series: series(block), text, src, value }],
    }
}
