//! Charts under each other with one time axis, as data.

use std::sync::Arc;

use pgdyno_core::units;

use crate::{chart::Axis, marks::Mark};

/// Charts under each other with one time axis: seconds since the start of the run.
#[derive(Debug, Clone, PartialEq)]
pub struct Lanes {
    /// Length of the axis in seconds.
    pub length_s: f64,
    /// The axis with its ticks.
    pub x: Axis,
    /// Names of the subjects; empty if there is one.
    pub subjects: Vec<String>,
    /// Events, a row for each kind.
    pub rows: Vec<MarkRow>,
    /// The charts from top to bottom.
    pub lanes: Vec<Lane>,
    /// Times that all lanes shade: checkpoints.
    pub shaded: Vec<(f64, f64)>,
    /// Length of the longest point that consists of several lines, in seconds; `None` if every point is one line.
    pub merged_s: Option<f64>,
}

/// Events of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct MarkRow {
    /// Name of the kind.
    pub name: &'static str,
    /// The events.
    pub marks: Vec<Mark>,
}

/// A chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Lane {
    /// Heading.
    pub title: &'static str,
    /// What is shown, and in which unit.
    pub note: String,
    /// Unit of the values.
    pub unit: Unit,
    /// Vertical axis.
    pub y: Axis,
    /// Names with their colours.
    pub legend: Vec<(usize, String)>,
    /// The values.
    pub series: Vec<Series>,
}

/// Unit of the values of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Per second.
    Rate,
    /// Nanoseconds.
    Latency,
    /// A share.
    Share,
    /// Bytes per second.
    BytesEachSecond,
}

impl Unit {
    /// Name of the unit in the data of the page, where numbers are as short as they can be.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rate => "per-second",
            Self::Latency => "us",
            Self::Share => "percent",
            Self::BytesEachSecond => "KiB-per-second",
        }
    }

    /// A value with its unit.
    pub fn words(self, value: f64) -> String {
        match self {
            Self::Rate => units::rate(value),
            Self::Latency => units::latency(value),
            Self::Share => units::percent(value),
            Self::BytesEachSecond => units::bytes_per_s(value),
        }
    }

    /// A value in the unit of the page's data, with four significant digits.
    pub fn scaled(self, value: f64) -> f64 {
        let scaled = match self {
            Self::Rate => value,
            Self::Latency => value / 1e3,
            Self::Share => value * 100.0,
            Self::BytesEachSecond => value / 1024.0,
        };
        four_digits(scaled)
    }
}

/// Rounds to four significant digits.
fn four_digits(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    let digits = 3 - value.abs().log10().floor() as i32;
    let scale = 10f64.powi(digits.abs());
    if digits >= 0 { (value * scale).round() / scale } else { (value / scale).round() * scale }
}

/// Values over time.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Index in the lane's legend.
    pub key: usize,
    /// Index of the subject, if there are several and the values are of one.
    pub subject: Option<usize>,
    /// Whether it lies on top of the series before it.
    pub stacked: bool,
    /// Where the values come from: the stream, the kind of its lines, and the field.
    pub src: String,
    /// Begin and end of each point in seconds; shared by the series of a stream.
    pub times: Arc<Vec<(f64, f64)>>,
    /// A value for each point, where it is known.
    pub values: Vec<Option<Value>>,
}

/// A value of a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Value {
    /// The value that is shown.
    pub shown: f64,
    /// Least and largest value of the lines that are merged; `None` if there is one.
    pub range: Option<(f64, f64)>,
}

impl Series {
    /// The parts without a gap, as ranges of points.
    pub fn stretches(&self) -> Vec<std::ops::Range<usize>> {
        let mut all = Vec::new();
        let mut begin = None;
        for at in 0..=self.values.len() {
            let known = self.values.get(at).is_some_and(Option::is_some);
            let follows = at > 0 && known && is_next(self.times[at - 1], self.times[at]);
            if let Some(from) = begin.filter(|_| !(known && follows)) {
                all.push(from..at);
                begin = None;
            }
            if known && begin.is_none() {
                begin = Some(at);
            }
        }
        all
    }
}

/// Whether a point follows another without a gap; a line that was a little late leaves none.
fn is_next(before: (f64, f64), next: (f64, f64)) -> bool {
    next.0 - before.1 < 0.2 * (before.1 - before.0).max(next.1 - next.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_four_digits() {
        let rounded = [0.0, 12_345.678, 0.000_123_456, -9_999.6, 7.0, f64::NAN].map(four_digits);
        assert_eq!(rounded, [0.0, 12_350.0, 0.000_123_5, -10_000.0, 7.0, 0.0]);
        assert_eq!(Unit::Latency.scaled(1_234_567.0), 1_235.0);
        assert_eq!((Unit::Share.scaled(0.123_456), Unit::BytesEachSecond.scaled(2_048.0)), (12.35, 2.0));
    }

    #[test]
    fn gaps_divide_a_series() {
        let times = [(0.0, 1.0), (1.0, 2.0), (2.1, 3.0), (9.0, 10.0), (10.0, 11.0), (11.0, 12.0)];
        let value = |known: bool| known.then_some(Value { shown: 1.0, range: None });
        let of = |known: [bool; 6]| {
            let values = known.map(value).to_vec();
            let times = Arc::new(times.to_vec());
            Series { key: 0, subject: None, stacked: false, src: String::new(), times, values }.stretches()
        };
        assert_eq!(of([true; 6]), [0..3, 3..6]);
        assert_eq!(of([true, true, true, true, false, true]), [0..3, 3..4, 5..6]);
        assert_eq!(of([false; 6]), []);
    }
}
