//! What is wrong with a script.

use std::ops::Range;

use crate::{plan::Place, problem::Problem};

/// Something wrong with a script's text, with its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{script}:{line}:{column}: {what}")]
pub struct ScriptError {
    /// Name of the script.
    pub script: String,
    /// Line from 1.
    pub line: usize,
    /// Column from 1, in characters.
    pub column: usize,
    /// What is wrong, in pgbench's words where it has some.
    pub what: String,
    /// The line and a caret below it.
    pub excerpt: String,
    /// What to do.
    pub hint: Option<String>,
}

/// A fault at a range of bytes of the script's text, before its name and lines are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub span: Range<usize>,
    pub what: String,
    pub hint: Option<String>,
}

impl Fault {
    pub fn new(span: Range<usize>, what: impl Into<String>) -> Self {
        Self { span, what: what.into(), hint: None }
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub fn locate(self, script: &str, text: &str) -> ScriptError {
        let Place { line, column, excerpt } = Place::of(text, self.span);
        ScriptError { script: script.to_owned(), line, column, what: self.what, excerpt, hint: self.hint }
    }
}

impl From<ScriptError> for Problem {
    fn from(error: ScriptError) -> Self {
        let problem = Self::wrong_request(error.to_string()).detail(error.excerpt);
        match error.hint {
            Some(hint) => problem.hint(hint),
            None => problem,
        }
    }
}
