//! A number of a report, with a reference to its field in the JSON that it is taken from.

use pgdyno_core::{probe::median, units};
use serde_json::Value;

use crate::words;

/// The format of a value. The name is the `data-format` attribute of the HTML report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Text as it is.
    Text,
    /// A whole number.
    Count,
    /// Length of a list.
    Length,
    /// Per second.
    Rate,
    /// A rate, with no more digits than the half-width of its interval (`data-of`) allows.
    RateWithin,
    /// Any number, three significant digits.
    Number,
    /// Nanoseconds with a unit.
    Latency,
    /// Nanoseconds as milliseconds without a unit.
    Milliseconds,
    /// Nanoseconds as a length of time.
    Nanoseconds,
    /// Seconds as a length of time.
    Seconds,
    /// A share.
    Percent,
    /// A share as a percentage, or that it is over 100 %.
    PercentUpTo100,
    /// A share of another number (`data-of`).
    PercentOf,
    /// A part of a whole (`data-of`), rounded to 100 % only if it is the whole.
    PartOf,
    /// A part of a whole that is recorded as a share, rounded to 100 % only if it is the whole.
    Part,
    /// The median of a list of seconds, as a length of time.
    MedianSeconds,
    /// The least of a list of seconds.
    LeastSeconds,
    /// The largest of a list of seconds.
    MostSeconds,
    /// A share as a change, with its sign: `+7.1 %`.
    Change,
    /// A share without its sign.
    Size,
    /// A change as the factor that it is: `12.3` for +1130 %.
    Factor,
    /// A share in per cent, as a number alone.
    Points,
    /// The significance level of an interval as its confidence: `99 %` for 0.01.
    Confidence,
    /// Seconds as a rough length of time.
    Minutes,
    /// Bytes.
    Bytes,
    /// Bytes per second, for columns whose heading says so.
    BytesEachSecond,
    /// An instant, RFC 3339.
    Instant,
    /// The time of day, as in a server's log.
    Clock,
    /// A whole number that is an identifier, such as a process id.
    Identifier,
    /// A value of the record as a word of the report.
    Word,
    /// A value in the units of the record; a list as its elements with semicolons between them.
    Raw,
}

impl Format {
    /// Name of the format in the attribute `data-format` of the HTML report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Count => "count",
            Self::Length => "length",
            Self::Rate => "rate",
            Self::RateWithin => "rate-within",
            Self::Number => "number",
            Self::Latency => "latency",
            Self::Milliseconds => "milliseconds",
            Self::Nanoseconds => "nanoseconds",
            Self::Seconds => "seconds",
            Self::Percent => "percent",
            Self::PercentUpTo100 => "percent-up-to-100",
            Self::PercentOf => "percent-of",
            Self::PartOf => "part-of",
            Self::Part => "part",
            Self::MedianSeconds => "median-seconds",
            Self::LeastSeconds => "least-seconds",
            Self::MostSeconds => "most-seconds",
            Self::Change => "change",
            Self::Size => "size",
            Self::Factor => "factor",
            Self::Points => "points",
            Self::Confidence => "confidence",
            Self::Minutes => "minutes",
            Self::Bytes => "bytes",
            Self::BytesEachSecond => "bytes-each-second",
            Self::Instant => "instant",
            Self::Clock => "clock",
            Self::Identifier => "identifier",
            Self::Word => "word",
            Self::Raw => "raw",
        }
    }

    /// Writes a value; `of` is what a [`Format::PercentOf`] or a [`Format::PartOf`] is a share of, or the half-width of
    /// a [`Format::RateWithin`].
    pub fn write(self, value: &Value, of: Option<f64>) -> String {
        let number = || value.as_f64().unwrap_or(f64::NAN);
        let whole = |write: fn(u64) -> String| units::or_absent(value.as_u64(), write);
        match self {
            Self::Text => value.as_str().map_or_else(|| value.to_string(), str::to_owned),
            Self::Count => whole(units::count),
            Self::Length => units::or_absent(value.as_array(), |list| units::count(list.len() as u64)),
            Self::Rate => units::rate(number()),
            Self::RateWithin => units::rate_within(number(), of.unwrap_or(f64::NAN)),
            Self::Number => units::significant(number()),
            Self::Latency => units::latency(number()),
            Self::Milliseconds => units::milliseconds(number()),
            Self::Nanoseconds => units::duration(number() / 1e9),
            Self::Seconds => units::duration(number()),
            Self::Percent => units::percent(number()),
            // By how much says nothing more.
            Self::PercentUpTo100 if number() >= 1.0 => "over 100 %".to_owned(),
            Self::PercentUpTo100 => units::percent(number()),
            Self::PercentOf => match number() / of.unwrap_or(f64::NAN) {
                // By how much says nothing more.
                over if over > 1.0 => "over 100 %".to_owned(),
                share => units::percent(share),
            },
            Self::PartOf => units::part(number() / of.unwrap_or(f64::NAN)),
            Self::Part => units::part(number()),
            Self::MedianSeconds => units::or_absent(median(&numbers(value)), units::duration),
            Self::LeastSeconds => extreme(value, f64::min),
            Self::MostSeconds => extreme(value, f64::max),
            Self::Change => signed(number(), true) + " %",
            Self::Size => units::percent(number().abs()),
            Self::Factor => units::significant(1.0 + number()),
            Self::Points => signed(number(), false),
            Self::Confidence => confidence(number()),
            Self::Minutes => units::about(number()),
            Self::Bytes => whole(units::bytes),
            Self::BytesEachSecond => units::bytes(number().max(0.0).round() as u64),
            Self::Instant => instant(value.as_str().unwrap_or_default()),
            Self::Clock => clock(value.as_str().unwrap_or_default()),
            Self::Identifier => value.to_string(),
            Self::Word => match value.as_bool() {
                Some(yes) => if yes { "yes" } else { "no" }.to_owned(),
                None => words::plain(value.as_str().unwrap_or_default()),
            },
            Self::Raw => raw(value),
        }
    }
}

/// The numbers of a list.
fn numbers(list: &Value) -> Vec<f64> {
    list.as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
}

fn extreme(list: &Value, which: fn(f64, f64) -> f64) -> String {
    units::or_absent(numbers(list).into_iter().reduce(which), units::duration)
}

/// A share in per cent with one decimal, or two if below 1 %; never `-0`.
fn signed(share: f64, plus: bool) -> String {
    let percent = share * 100.0;
    let decimals = if percent.abs() < 0.995 { 2 } else { 1 };
    let text = format!("{percent:.decimals$}");
    let zero = text.trim_start_matches('-').chars().all(|c| c == '0' || c == '.');
    match (zero, plus && percent > 0.0) {
        (true, _) => "0".to_owned(),
        (false, true) => format!("+{text}"),
        (false, false) => text,
    }
}

/// `99 %` for 0.01, with enough decimals to differ from 100 %.
fn confidence(alpha: f64) -> String {
    let percent = (1.0 - alpha) * 100.0;
    let decimals =
        (0..4).find(|decimals| (percent - rounded(percent, *decimals)).abs() < 0.05 * alpha * 100.0);
    format!("{percent:.0$} %", decimals.unwrap_or(4) as usize)
}

fn rounded(value: f64, decimals: i32) -> f64 {
    let scale = 10f64.powi(decimals);
    (value * scale).round() / scale
}

fn raw(value: &Value) -> String {
    match value {
        Value::Array(list) => list.iter().map(raw).collect::<Vec<_>>().join("; "),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// `2026-11-20 10:15 UTC` for `2026-11-20T10:15:02Z`.
fn instant(rfc3339: &str) -> String {
    match (rfc3339.get(..10), rfc3339.get(11..16)) {
        (Some(date), Some(time)) => format!("{date} {time} UTC"),
        _ => rfc3339.to_owned(),
    }
}

/// `10:15:02.123 UTC` for `2026-11-20T10:15:02.123456Z`.
fn clock(rfc3339: &str) -> String {
    match rfc3339.get(11..).and_then(|rest| rest.strip_suffix('Z')) {
        Some(time) => format!("{} UTC", time.get(..12).unwrap_or(time)),
        None => rfc3339.to_owned(),
    }
}

/// A value with its source and format.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// JSON pointer to the value.
    pub pointer: String,
    /// The value at the pointer; for a list, its length.
    pub value: Value,
    /// Pointer of the whole, for a share.
    pub of: Option<String>,
    /// The format.
    pub format: Format,
    /// The value as written.
    pub text: String,
}
