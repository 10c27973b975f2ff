//! A number of a report, tied to the place in `run.json` that it comes from.

use pgdyno_core::units;
use serde_json::Value;

use crate::words;

/// How a value is written. The name is the `data-format` attribute of the HTML report.
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
    /// A share of another number (`data-of`).
    PercentOf,
    /// A part of a whole (`data-of`): only all of it is 100 %.
    PartOf,
    /// A share as a change, with its sign: `+7.1 %`.
    Change,
    /// A share without its sign.
    Size,
    /// A share in per cent, as a number alone.
    Points,
    /// Seconds as a rough length of time.
    Minutes,
    /// Bytes.
    Bytes,
    /// An instant, RFC 3339.
    Instant,
    /// The time of day of an instant, as a server's log has it.
    Clock,
    /// A whole number that names something: a process, not how many.
    Identifier,
    /// A word of the record in the words of a report.
    Word,
}

impl Format {
    /// Its name in the HTML report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Count => "count",
            Self::Length => "length",
            Self::Rate => "rate",
            Self::Number => "number",
            Self::Latency => "latency",
            Self::Milliseconds => "milliseconds",
            Self::Nanoseconds => "nanoseconds",
            Self::Seconds => "seconds",
            Self::Percent => "percent",
            Self::PercentOf => "percent-of",
            Self::PartOf => "part-of",
            Self::Change => "change",
            Self::Size => "size",
            Self::Points => "points",
            Self::Minutes => "minutes",
            Self::Bytes => "bytes",
            Self::Instant => "instant",
            Self::Clock => "clock",
            Self::Identifier => "identifier",
            Self::Word => "word",
        }
    }

    /// Writes a value; `of` is what a [`Format::PercentOf`] or a [`Format::PartOf`] is a share of.
    pub fn write(self, value: &Value, of: Option<f64>) -> String {
        let number = || value.as_f64().unwrap_or(f64::NAN);
        let whole = |write: fn(u64) -> String| units::or_absent(value.as_u64(), write);
        match self {
            Self::Text => value.as_str().map_or_else(|| value.to_string(), str::to_owned),
            Self::Count => whole(units::count),
            Self::Length => units::or_absent(value.as_array(), |list| units::count(list.len() as u64)),
            Self::Rate => units::rate(number()),
            Self::Number => units::significant(number()),
            Self::Latency => units::latency(number()),
            Self::Milliseconds => units::milliseconds(number()),
            Self::Nanoseconds => units::duration(number() / 1e9),
            Self::Seconds => units::duration(number()),
            Self::Percent => units::percent(number()),
            Self::PercentOf => units::percent(number() / of.unwrap_or(f64::NAN)),
            Self::PartOf => units::part(number() / of.unwrap_or(f64::NAN)),
            Self::Change => signed(number(), true) + " %",
            Self::Size => units::percent(number().abs()),
            Self::Points => signed(number(), false),
            Self::Minutes => units::about(number()),
            Self::Bytes => whole(units::bytes),
            Self::Instant => instant(value.as_str().unwrap_or_default()),
            Self::Clock => clock(value.as_str().unwrap_or_default()),
            Self::Identifier => value.to_string(),
            Self::Word => words::plain(value.as_str().unwrap_or_default()),
        }
    }
}

/// A share in per cent with one decimal, two where it is below 1 %; nothing is never negative.
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

/// `2026-11-20 10:15 UTC` of `2026-11-20T10:15:02Z`.
fn instant(rfc3339: &str) -> String {
    match (rfc3339.get(..10), rfc3339.get(11..16)) {
        (Some(date), Some(time)) => format!("{date} {time} UTC"),
        _ => rfc3339.to_owned(),
    }
}

/// `10:15:02.123 UTC` of `2026-11-20T10:15:02.123456Z`.
fn clock(rfc3339: &str) -> String {
    match rfc3339.get(11..).and_then(|rest| rest.strip_suffix('Z')) {
        Some(time) => format!("{} UTC", time.get(..12).unwrap_or(time)),
        None => rfc3339.to_owned(),
    }
}

/// A value of the run, where it comes from and how it is written. It can only be made from `run.json` itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// JSON pointer into `run.json`.
    pub pointer: String,
    /// The value that stands there; a list stands for its length.
    pub value: Value,
    /// Pointer of what it is a share of.
    pub of: Option<String>,
    /// How it is written.
    pub format: Format,
    /// The value as written.
    pub text: String,
}

/// `run.json`, from which figures are taken.
#[derive(Debug, Clone, PartialEq)]
pub struct Source(pub Value);

impl Source {
    /// The value at a pointer; `None` where it is absent.
    pub fn figure(&self, pointer: impl Into<String>, format: Format) -> Option<Figure> {
        let pointer = pointer.into();
        let value = self.0.pointer(&pointer).filter(|value| !value.is_null())?;
        let text = format.write(value, None);
        let value = value.as_array().map_or_else(|| value.clone(), |list| Value::from(list.len()));
        Some(Figure { pointer, value, of: None, format, text })
    }

    /// The value at a pointer as a share of that at another; `None` where one of them is absent.
    pub fn share(&self, pointer: impl Into<String>, of: impl Into<String>) -> Option<Figure> {
        self.beside(pointer, of, Format::PercentOf)
    }

    /// The same of a part of a whole.
    pub fn part(&self, pointer: impl Into<String>, of: impl Into<String>) -> Option<Figure> {
        self.beside(pointer, of, Format::PartOf)
    }

    fn beside(&self, pointer: impl Into<String>, of: impl Into<String>, format: Format) -> Option<Figure> {
        let of = of.into();
        let whole = self.0.pointer(&of)?.as_f64()?;
        let mut figure = self.figure(pointer, format)?;
        figure.text = format.write(&figure.value, Some(whole));
        figure.of = Some(of);
        Some(figure)
    }
}

/// A piece of a sentence.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// Words of the report, without a number of the run.
    Text(String),
    /// A number or a word of the run.
    Figure(Figure),
}

/// A sentence, or a part of one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Phrase(pub Vec<Piece>);

impl Phrase {
    /// A phrase of words.
    pub fn of(text: impl Into<String>) -> Self {
        Self::default().text(text)
    }

    /// Adds words.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.0.push(Piece::Text(text.into()));
        self
    }

    /// Adds a figure; the sign for an absent one where there is none.
    #[must_use]
    pub fn figure(mut self, figure: Option<Figure>) -> Self {
        self.0.push(figure.map_or_else(|| Piece::Text(units::ABSENT.into()), Piece::Figure));
        self
    }

    /// Adds words, a figure and words where there is a figure; else nothing.
    #[must_use]
    pub fn maybe(self, before: &str, figure: Option<Figure>, after: &str) -> Self {
        match figure {
            Some(figure) => self.text(before).figure(Some(figure)).text(after),
            None => self,
        }
    }

    /// Adds the texts of a list, with commas between them: the first `most`, and how many more there are.
    #[must_use]
    pub fn list(self, source: &Source, pointer: &str, count: usize, most: usize) -> Self {
        let shown = if count > most { most - 1 } else { count };
        let all = (0..shown).fold(self, |phrase, at| {
            let comma = if at > 0 { ", " } else { "" };
            phrase.text(comma).figure(source.figure(format!("{pointer}/{at}"), Format::Text))
        });
        if shown < count { all.text(" and others") } else { all }
    }

    /// Adds another phrase.
    #[must_use]
    pub fn then(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// The phrase as plain text.
    pub fn plain(&self) -> String {
        let text = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Figure(figure) => figure.text.clone(),
        };
        self.0.iter().map(text).collect()
    }
}
