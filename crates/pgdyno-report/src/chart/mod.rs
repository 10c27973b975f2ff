//! Charts as SVG, with the points a cursor can read.
//!
//! Lines and axes are drawn by `plotters` in sentinel colours, which the style sheet of the page maps to
//! those of the light and the dark theme. Everything is drawn at [`SCALE`] times its size, since `plotters`
//! rounds to whole pixels.

mod axes;
mod blocks;
mod distribution;
mod over_clients;
mod over_subjects;
mod over_time;
mod picture;

pub(crate) use picture::{AXIS, BAND, GRID, SCALE, SERIES, TEXT, series};
pub use picture::{Chart, Stop, StopValue};

use crate::document::Document;

/// The chart of a comparison.
pub(crate) fn of_comparison(document: &Document) -> Option<Chart> {
    blocks::chart(document)
}

/// The charts of a script over a protocol that several subjects ran.
pub(crate) fn of_subjects(document: &Document, number: usize, work: (&str, &str)) -> Vec<Chart> {
    over_subjects::charts(document, number, work)
}

/// The charts of a workload.
pub(crate) fn charts(document: &Document, group: usize) -> Vec<Chart> {
    let over_clients = over_clients::charts(document, group);
    let over_time = over_time::charts(document, group);
    over_clients.into_iter().chain(over_time).chain(distribution::chart(document, group)).collect()
}
