//! A chart as data: axes, marks, and the values at the cursor.

use serde_json::{Value, json};

/// Number of colours of series; further series begin again.
pub const COLOURS: usize = 6;

/// A chart of the page.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// Identifier within the page.
    pub id: String,
    /// Heading of the chart.
    pub title: &'static str,
    /// Subject of the chart, for screen readers.
    pub label: String,
    /// Description of the axes.
    pub note: &'static str,
    /// Names of the series with their numbers.
    pub legend: Vec<(usize, String)>,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// The marks, from bottom to top.
    pub marks: Vec<Mark>,
    /// Cursor stops.
    pub stops: Vec<Stop>,
    /// Height in pixels.
    pub height: u32,
    /// Whether it takes the whole width of the page.
    pub wide: bool,
}

/// An axis of a chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Value at the beginning.
    pub min: f64,
    /// Value at the end.
    pub max: f64,
    /// Whether the scale is logarithmic; `min` is above 0 then.
    pub log: bool,
    /// Values with a tick, and the label of each.
    pub ticks: Vec<(f64, String)>,
}

impl Axis {
    /// Where a value lies: 0 at the beginning of the axis, 1 at its end.
    pub fn share(&self, value: f64) -> f64 {
        let scaled = |v: f64| if self.log { v.max(f64::MIN_POSITIVE).ln() } else { v };
        let length = scaled(self.max) - scaled(self.min);
        if length > 0.0 { (scaled(value) - scaled(self.min)) / length } else { 0.5 }
    }
}

/// A point in the units of the axes.
pub type Point = (f64, f64);

/// A mark in a chart.
#[derive(Debug, Clone, PartialEq)]
pub enum Mark {
    /// A line through points.
    Line(usize, Vec<Point>),
    /// A sign of a series at a point.
    Sign(usize, Sign, Point),
    /// An interval of a series: place, lower and upper end.
    Interval(usize, f64, f64, f64),
    /// A shaded area between two corners.
    Band(Point, Point),
    /// A thin line between two points.
    Rule(Rule, Point, Point),
    /// A text to the upper right of a point.
    Note(Point, String),
}

/// A marker symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// A small disc.
    Dot,
    /// A disc.
    Disc,
    /// A square.
    Square,
    /// A triangle that points upwards.
    Up,
    /// A diamond.
    Diamond,
    /// A triangle that points downwards.
    Down,
    /// A circle.
    Ring,
}

/// Purpose of a thin line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// A boundary, or the zero line.
    Axis,
    /// A limit.
    Limit,
    /// The middle of a series.
    Middle(usize),
}

/// A place on the horizontal axis where the cursor stops.
#[derive(Debug, Clone, PartialEq)]
pub struct Stop {
    /// Place on the horizontal axis.
    pub x: f64,
    /// Label, for example `16 clients`.
    pub label: String,
    /// The values there.
    pub values: Vec<StopValue>,
}

/// A value of a series at a stop.
#[derive(Debug, Clone, PartialEq)]
pub struct StopValue {
    /// Place on the vertical axis.
    pub y: f64,
    /// Number of the series.
    pub series: usize,
    /// The value as written.
    pub text: String,
    /// Source: a pointer into `run.json`, or `timeline#/LINE/…` into the timeline.
    pub src: String,
    /// The value at the source.
    pub value: Value,
}

impl Chart {
    /// The data of the cursor, as JSON for the page's script; `place` gives the pixel of a point.
    pub fn data(&self, place: impl Fn(Point) -> Point) -> Value {
        let value = |x: f64, v: &StopValue| {
            let y = place((x, v.y)).1;
            json!({"y": y, "s": v.series % COLOURS, "t": v.text, "src": v.src, "v": v.value})
        };
        let stop = |stop: &Stop| {
            let values: Vec<_> = stop.values.iter().map(|v| value(stop.x, v)).collect();
            json!({"x": place((stop.x, self.y.max)).0, "l": stop.label, "p": values})
        };
        json!({"id": self.id, "stops": self.stops.iter().map(stop).collect::<Vec<_>>()})
    }
}
