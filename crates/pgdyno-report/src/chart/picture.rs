//! A chart as it is shown: its picture, its colours, and what a cursor can read.

use plotters::style::RGBColor;
use serde_json::{Value, json};

/// Drawn pixels per pixel shown.
pub(crate) const SCALE: i32 = 4;

/// Text of axes.
pub(crate) const TEXT: RGBColor = RGBColor(1, 1, 1);

/// Grid lines.
pub(crate) const GRID: RGBColor = RGBColor(2, 2, 2);

/// Axis lines and boundaries.
pub(crate) const AXIS: RGBColor = RGBColor(3, 3, 3);

/// The warm-up.
pub(crate) const BAND: RGBColor = RGBColor(4, 4, 4);

/// Number of series colours; further series begin again.
pub(crate) const SERIES: usize = 6;

/// Colour of a series.
pub(crate) fn series(index: usize) -> RGBColor {
    RGBColor(10, 0, (index % SERIES) as u8)
}

/// A chart of the page.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// Identifier within the page.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// Unit of the vertical axis, and what the horizontal one is.
    pub axes: String,
    /// Names of the series with their colours' indexes.
    pub legend: Vec<(usize, String)>,
    /// The picture.
    pub svg: String,
    /// The places a cursor can read.
    pub stops: Vec<Stop>,
    /// Whether it takes the whole width.
    pub wide: bool,
}

/// A place on the horizontal axis where the cursor stops.
#[derive(Debug, Clone, PartialEq)]
pub struct Stop {
    /// Horizontal position in the picture.
    pub x: i32,
    /// What is there, for example `16 clients`.
    pub label: String,
    /// The values there.
    pub values: Vec<StopValue>,
}

/// A value of a series at a stop.
#[derive(Debug, Clone, PartialEq)]
pub struct StopValue {
    /// Vertical position in the picture.
    pub y: i32,
    /// Index of the series' colour.
    pub series: usize,
    /// The value as written.
    pub text: String,
    /// Where it comes from: a pointer into `run.json`, or `timeline#/LINE/…` into the timeline.
    pub src: String,
    /// What stands there.
    pub value: Value,
}

impl Chart {
    /// The data of the cursor, as JSON for the page's script.
    pub fn data(&self) -> Value {
        let value = |v: &StopValue| json!({"y": v.y, "s": v.series, "t": v.text, "src": v.src, "v": v.value});
        let stop = |stop: &Stop| {
            let values: Vec<_> = stop.values.iter().map(value).collect();
            json!({"x": stop.x, "l": stop.label, "p": values})
        };
        json!({"id": self.id, "stops": self.stops.iter().map(stop).collect::<Vec<_>>()})
    }
}
