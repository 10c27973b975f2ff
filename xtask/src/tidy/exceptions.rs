//! The exceptions to the limit of a line's length and to the ban on circles, listed one by one in `exceptions.txt`.

use super::fault::Fault;
use crate::{Failure, workspace::Tracked};

/// Path of the list.
pub const LIST: &str = "xtask/src/tidy/exceptions.txt";

/// One line of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Exception {
    line: usize,
    what: String,
    used: bool,
}

/// The list. A stale exception is a fault, so that the list shrinks over time.
#[derive(Debug, Default)]
pub struct Exceptions(Vec<Exception>);

/// Reads the list: `line PATH` or `circle CRATE FROM TO`, each with its reason after `#`.
pub fn read(files: &[Tracked]) -> Result<Exceptions, Failure> {
    let file = files.iter().find(|file| file.path == LIST).ok_or_else(|| format!("{LIST} does not exist"))?;
    Ok(Exceptions::parse(file.text()))
}

impl Exceptions {
    /// Parses the text of the list.
    pub fn parse(text: &str) -> Self {
        let exception = |(at, line): (usize, &str)| {
            let words: Vec<&str> = line.split('#').next()?.split_whitespace().collect();
            (!words.is_empty()).then(|| Exception { line: at + 1, what: words.join(" "), used: false })
        };
        Self(text.lines().enumerate().filter_map(exception).collect())
    }

    /// Whether an entry is in the list, stale or not.
    pub fn has(&self, what: &str) -> bool {
        self.0.iter().any(|exception| exception.what == what)
    }

    /// Whether an exception applies; marks it as used.
    pub fn allow(&mut self, what: &str) -> bool {
        let found = self.0.iter_mut().find(|exception| exception.what == what);
        found.is_some_and(|exception| {
            exception.used = true;
            true
        })
    }

    /// Entries that were not used.
    pub fn stale(&self) -> Vec<Fault> {
        let unused = self.0.iter().filter(|exception| !exception.used);
        unused
            .map(|e| Fault::new(LIST, e.line, format!("nothing needs `{}`: remove it from the list", e.what)))
            .collect()
    }
}
