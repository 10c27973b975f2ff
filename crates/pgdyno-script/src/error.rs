//! What is wrong with a script.

use std::fmt;

use pgdyno_core::problem::Problem;

/// Something wrong with a script's text, in pgbench's words where it has some.
///
/// It shows as one line, such as `x.sql:3: syntax error in command "set"`; pgbench prints
/// [`excerpt`](Self::excerpt) below.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ScriptError {
    /// Name of the script.
    pub script: String,
    /// Line from 1; `None` where the message says what it is about.
    pub line: Option<u32>,
    /// Column from 1, in bytes from the backslash of the command or else from the start of the line.
    pub column: Option<u32>,
    /// What is wrong.
    pub what: String,
    /// The lines of the command, and a caret below them.
    pub excerpt: Option<String>,
    /// What to do.
    pub hint: Option<String>,
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.script, self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl From<ScriptError> for Problem {
    fn from(error: ScriptError) -> Self {
        let mut problem = Self::wrong_request(error.to_string());
        if let Some(excerpt) = error.excerpt {
            problem = problem.detail(excerpt);
        }
        match error.hint {
            Some(hint) => problem.hint(hint),
            None => problem,
        }
    }
}

/// A fault before the name of the script is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    /// Byte of the script that tells the line; `None` where the message does.
    pub at: Option<usize>,
    pub what: String,
    pub shown: Option<Shown>,
    pub hint: Option<String>,
}

/// Bytes of the script to be shown, and the one that the caret points at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shown {
    pub start: usize,
    pub end: usize,
    pub caret: Option<usize>,
}

impl Fault {
    /// A fault of the line where byte `at` stands.
    pub fn at(at: usize, what: impl Into<String>) -> Self {
        Self { at: Some(at), what: what.into(), shown: None, hint: None }
    }

    /// A fault whose message says where it is.
    pub fn of_script(what: impl Into<String>) -> Self {
        Self { at: None, what: what.into(), shown: None, hint: None }
    }

    /// Shows the command from `start` to `end`, with a caret.
    pub fn show(mut self, start: usize, end: usize, caret: Option<usize>) -> Self {
        self.shown = Some(Shown { start, end, caret });
        self
    }

    /// Shows the line of a byte, with a caret below it.
    pub fn show_line(self, text: &[u8], at: usize) -> Self {
        let start = text[..at].iter().rposition(|&b| b == b'\n').map_or(0, |newline| newline + 1);
        let end = text[at..].iter().position(|&b| b == b'\n').map_or(text.len(), |len| at + len);
        self.show(start, end, Some(at))
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub fn locate(self, script: &str, text: &[u8]) -> ScriptError {
        ScriptError {
            script: script.to_owned(),
            line: self.at.map(|at| line_of(text, at) as u32),
            column: self.shown.and_then(|shown| shown.caret.map(|caret| (caret - shown.start + 1) as u32)),
            what: self.what,
            excerpt: self.shown.map(|shown| shown.text(text)),
            hint: self.hint,
        }
    }
}

impl Shown {
    /// The lines as pgbench prints them.
    fn text(self, text: &[u8]) -> String {
        let mut shown = String::from_utf8_lossy(chomp(&text[self.start..self.end])).into_owned();
        if let Some(caret) = self.caret {
            let width = caret - self.start + 1;
            shown.push_str(&format!("\n{:>width$} error found here", '^'));
        }
        shown
    }
}

/// The number of the line where a byte stands, from 1.
pub(super) fn line_of(text: &[u8], at: usize) -> usize {
    text[..at].iter().filter(|&&b| b == b'\n').count() + 1
}

/// Without the ends of lines at its end.
pub(super) fn chomp(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|&b| b != b'\n' && b != b'\r').map_or(0, |last| last + 1);
    &text[..end]
}
