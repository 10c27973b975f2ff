//! What figures are taken from: `run.json`, or what another command prints as JSON.

use std::fmt::Display;

use pgdyno_document::figure::{Figure, Format};
use serde_json::Value;

/// `run.json`, from which figures are taken.
#[derive(Debug, Clone, PartialEq)]
pub struct Source(pub Value);

impl Source {
    /// The value at a JSON pointer; `None` if absent or null.
    pub fn value(&self, pointer: &str) -> Option<&Value> {
        #[cfg(test)]
        asked::note(pointer);
        self.0.pointer(pointer).filter(|value| !value.is_null())
    }

    /// The figure at a JSON pointer; `None` if absent or null.
    pub fn figure(&self, pointer: impl Into<String>, format: Format) -> Option<Figure> {
        let pointer = pointer.into();
        let value = self.value(&pointer)?;
        let text = format.write(value, None);
        let value = value.as_array().map_or_else(|| value.clone(), |list| Value::from(list.len()));
        Some(Figure { pointer, value, of: None, format, text })
    }

    /// The place of the whole record.
    pub fn root(&self) -> Place<'_> {
        Place { source: self, path: String::new() }
    }

    /// A place in the record, by its JSON pointer.
    pub fn at(&self, path: impl Display) -> Place<'_> {
        Place { source: self, path: path.to_string() }
    }
}

/// A place in `run.json`, below which figures are taken.
#[derive(Debug, Clone)]
pub struct Place<'a> {
    source: &'a Source,
    path: String,
}

impl Place<'_> {
    /// A place below this one: the name of a field, the number of an element, or several with slashes between them.
    pub fn at(&self, below: impl Display) -> Self {
        Self { source: self.source, path: format!("{}/{below}", self.path) }
    }

    /// JSON pointer of the place.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The figure of a field; `None` if absent or null.
    pub fn figure(&self, field: impl Display, format: Format) -> Option<Figure> {
        self.source.figure(self.at(field).path, format)
    }

    /// A field as a share of another one; `None` if either is absent.
    pub fn share(&self, field: impl Display, of: impl Display) -> Option<Figure> {
        self.related(field, of, Format::PercentOf)
    }

    /// A field as a part of a whole, rounded to 100 % only if it is the whole. `None` if either is absent.
    pub fn part(&self, field: impl Display, of: impl Display) -> Option<Figure> {
        self.related(field, of, Format::PartOf)
    }

    /// The rate of an estimate, with no more digits than its interval allows.
    pub fn rate(&self, estimate: &str) -> Option<Figure> {
        let [value, half_width] = ["value", "half_width"].map(|field| format!("{estimate}/{field}"));
        self.rate_within(&value, half_width)
    }

    /// A rate, with no more digits than the half-width of its interval allows.
    pub fn rate_within(&self, field: impl Display, half_width: impl Display) -> Option<Figure> {
        self.related(&field, half_width, Format::RateWithin).or_else(|| self.figure(field, Format::Rate))
    }

    fn related(&self, field: impl Display, of: impl Display, format: Format) -> Option<Figure> {
        let of = self.at(of).path;
        let whole = self.source.value(&of)?.as_f64()?;
        let mut figure = self.figure(field, format)?;
        figure.text = format.write(&figure.value, Some(whole));
        figure.of = Some(of);
        Some(figure)
    }

    /// The texts of a list, the first `most` of them.
    pub fn texts(&self, list: &str, count: usize, most: usize) -> Vec<Option<Figure>> {
        (0..count.min(most)).map(|at| self.figure(format!("{list}/{at}"), Format::Text)).collect()
    }
}

/// Every pointer looked up in this thread, for the test that checks them against the schema.
#[cfg(test)]
pub mod asked {
    use std::{cell::RefCell, collections::BTreeSet};

    thread_local!(static ASKED: RefCell<BTreeSet<String>> = const { RefCell::new(BTreeSet::new()) });

    pub fn note(pointer: &str) {
        ASKED.with_borrow_mut(|asked| asked.insert(pointer.to_owned()));
    }

    pub fn take() -> BTreeSet<String> {
        ASKED.take()
    }
}
