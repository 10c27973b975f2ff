//! Durations as people write them.

use std::{fmt, str::FromStr, time::Duration};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A duration, written `500ms`, `5s`, `1.5s`, `10min` or `1h`; at least 1 ms, at most 30 days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(Duration);

/// Longest span: 30 days.
const MAX: Duration = Duration::from_secs(30 * 24 * 3600);

impl Span {
    /// A span of `ms` milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Self(Duration::from_millis(ms))
    }

    /// The duration in nanoseconds.
    pub fn as_nanos(self) -> u64 {
        self.0.as_nanos() as u64
    }

    /// The duration.
    pub fn as_duration(self) -> Duration {
        self.0
    }

    /// The duration in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0.as_secs_f64()
    }
}

/// A text that is not a span.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a duration between 1ms and 30 days, such as 500ms, 5s, 1.5s, 10min or 1h")]
pub struct NotASpan(String);

impl FromStr for Span {
    type Err = NotASpan;

    fn from_str(text: &str) -> Result<Self, NotASpan> {
        let wrong = || NotASpan(text.to_owned());
        let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
        let (number, unit) = text.split_at(split);
        let seconds_per_unit = match unit {
            "ms" => 0.001,
            "s" | "" => 1.0,
            "min" | "m" => 60.0,
            "h" => 3600.0,
            _ => return Err(wrong()),
        };
        let number: f64 = number.trim().parse().map_err(|_| wrong())?;
        let duration = Duration::try_from_secs_f64(number * seconds_per_unit).map_err(|_| wrong())?;
        if (Duration::from_millis(1)..=MAX).contains(&duration) { Ok(Self(duration)) } else { Err(wrong()) }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0.as_millis();
        if ms.is_multiple_of(60_000) {
            write!(f, "{}min", ms / 60_000)
        } else if ms.is_multiple_of(1_000) {
            write!(f, "{}s", ms / 1_000)
        } else {
            write!(f, "{ms}ms")
        }
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for Span {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Span".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^[0-9.]+(ms|s|min|m|h)?$",
            "x-expects": "a length of time in quotes",
            "examples": ["500ms", "5s", "10min", "1h"],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_parsed() {
        for (text, ms) in [
            ("500ms", 500),
            ("5s", 5_000),
            ("1.5s", 1_500),
            ("10min", 600_000),
            ("1h", 3_600_000),
            ("7", 7_000),
        ] {
            assert_eq!(text.parse(), Ok(Span::from_millis(ms)), "{text}");
        }
        for wrong in ["", "s", "-1s", "0s", "1e99", "nan", "5 parsecs", "31000h", "inf"] {
            assert!(wrong.parse::<Span>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn printed_spans_parse_back() {
        for text in ["500ms", "5s", "1500ms", "10min", "60min"] {
            assert_eq!(text.parse::<Span>().expect("it is a span").to_string(), text);
        }
    }
}
