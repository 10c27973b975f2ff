//! What a check finds.

use std::fmt;

/// One thing that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Path from the root of the workspace.
    pub path: String,
    /// Line from 1; 0 is the file as a whole.
    pub line: usize,
    /// What is wrong.
    pub what: String,
}

impl Fault {
    /// A fault in a line of a file, or with 0 in the file as a whole.
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
