//! What a target tells beside the outcome: latency of statements, and errors.

use std::collections::BTreeMap;

use pgdyno_core::measure::{Latency, Precision};

/// Kinds of errors kept apart; further ones count as [`OTHER`].
const MAX_KINDS: usize = 64;
/// What errors count as when there are too many kinds of them: never as a kind that they are not.
const OTHER: &str = "other";

/// How often each kind of error came, with the text of the first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErrorTally(BTreeMap<String, (String, u64)>);

impl ErrorTally {
    /// Counts one error.
    pub fn add(&mut self, code: &str, message: &str) {
        self.add_many(code, message, 1);
    }

    /// Adds the errors of another worker.
    pub fn merge(&mut self, other: Self) {
        for (code, (message, count)) in other.0 {
            self.add_many(&code, &message, count);
        }
    }

    fn add_many(&mut self, code: &str, message: &str, more: u64) {
        let full = self.0.len() >= MAX_KINDS && !self.0.contains_key(code);
        let code = if full { OTHER } else { code };
        if let Some((_, count)) = self.0.get_mut(code) {
            *count += more;
        } else {
            self.0.insert(code.to_owned(), (message.to_owned(), more));
        }
    }

    /// Code, first text and count of every kind.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, u64)> {
        self.0.iter().map(|(code, (message, count))| (code.as_str(), message.as_str(), *count))
    }
}

/// Where a target puts what it measured within an attempt. One a worker.
#[derive(Debug)]
pub struct Probe {
    pub(crate) statements: Vec<Latency>,
    pub(crate) errors: ErrorTally,
    pub(crate) measuring: bool,
    pub(crate) stop: Option<String>,
}

impl Probe {
    /// A probe for scripts with this many statements.
    pub fn new(statements: usize) -> Self {
        Self {
            statements: (0..statements).map(|_| Latency::new(Precision::Run)).collect(),
            errors: ErrorTally::default(),
            measuring: false,
            stop: None,
        }
    }

    /// Records the latency of one statement in nanoseconds; dropped during the warm-up.
    #[inline]
    pub fn statement(&mut self, index: usize, latency_ns: u64) {
        if self.measuring {
            self.statements[index].record(latency_ns);
        }
    }

    /// Counts an error.
    pub fn error(&mut self, code: &str, message: &str) {
        self.errors.add(code, message);
    }

    /// Asks for the end of the whole run: going on would not make sense. The first reason is kept.
    pub fn stop_run(&mut self, reason: &str) {
        self.stop.get_or_insert_with(|| reason.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_kinds_of_errors_are_counted_as_others() {
        let mut tally = ErrorTally::default();
        (0..100).for_each(|kind| tally.add(&format!("E{kind:04}"), "text"));
        let mut merged = tally.clone();
        merged.merge(tally);
        assert_eq!(merged.0.len(), MAX_KINDS + 1);
        assert_eq!(merged.0.get("E0063").map(|kind| kind.1), Some(2));
        assert_eq!(merged.0.get(OTHER).map(|kind| kind.1), Some(72));
    }
}
