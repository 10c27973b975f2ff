//! Findings of a check.

use std::fmt;

/// A fault with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Path from the root of the workspace.
    pub path: String,
    /// Line from 1; 0 for the whole file.
    pub line: usize,
    /// Description.
    pub what: String,
}

impl Fault {
    /// A fault on a line of a file; line 0 means the whole file.
    pub fn new(path: impl Into<String>, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.into(), line, what: what.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.what),
            line => write!(f, "{}:{line}: {}", self.path, self.what),
        }
    }
}
