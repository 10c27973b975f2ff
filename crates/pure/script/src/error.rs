//! Errors in the text of a script.

use std::fmt;

use pgdyno_core::problem::Problem;

/// An error in the text of a script, in pgbench's words if it has any.
///
/// `Display` gives one line, such as `x.sql:3: syntax error in command "set"`; pgbench prints
/// [`excerpt`](Self::excerpt) below.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ScriptError {
    /// Name of the script.
    pub script: String,
    /// Line number from 1; `None` if the message names the place.
    pub line: Option<u32>,
    /// Column number from 1, in bytes from the command's backslash or else from the start of the line.
    pub column: Option<u32>,
    /// Description of the error.
    pub what: String,
    /// Lines of the command, with a caret below.
    pub excerpt: Option<String>,
    /// Remedy for the author.
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
        let problem = Self::wrong_request(error.to_string());
        Self { detail: error.excerpt, hint: error.hint, ..problem }
    }
}

/// An error before the name of the script is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    /// Byte of the script that determines the line; `None` if the message names the place.
    pub at: Option<usize>,
    pub what: String,
    pub excerpt: Option<Excerpt>,
    pub hint: Option<String>,
}

/// Range of the script to show, and the byte that the caret points at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Excerpt {
    pub start: usize,
    pub end: usize,
    pub caret: Option<usize>,
}

impl Fault {
    /// An error in the line that contains byte `at`.
    pub fn at(at: usize, what: impl Into<String>) -> Self {
        Self { at: Some(at), what: what.into(), excerpt: None, hint: None }
    }

    /// An error whose message names the place.
    pub fn of_script(what: impl Into<String>) -> Self {
        Self { at: None, what: what.into(), excerpt: None, hint: None }
    }

    /// Shows the command from `start` to `end`, with a caret.
    pub fn show(mut self, start: usize, end: usize, caret: Option<usize>) -> Self {
        self.excerpt = Some(Excerpt { start, end, caret });
        self
    }

    /// Shows the line that contains a byte, with a caret below the byte.
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
            column: self
                .excerpt
                .and_then(|excerpt| excerpt.caret.map(|caret| (caret - excerpt.start + 1) as u32)),
            what: self.what,
            excerpt: self.excerpt.map(|excerpt| excerpt.text(text)),
            hint: self.hint,
        }
    }
}

impl Excerpt {
    /// The excerpt as pgbench prints it.
    fn text(self, text: &[u8]) -> String {
        let mut excerpt = String::from_utf8_lossy(chomp(&text[self.start..self.end])).into_owned();
        if let Some(caret) = self.caret {
            let width = caret - self.start + 1;
            excerpt.push_str(&format!("\n{:>width$} error found here", '^'));
        }
        excerpt
    }
}

/// Number of the line that contains a byte, from 1.
pub(super) fn line_of(text: &[u8], at: usize) -> usize {
    text[..at].iter().filter(|&&b| b == b'\n').count() + 1
}

/// Strips line ends from the end of the text.
pub(super) fn chomp(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|&b| b != b'\n' && b != b'\r').map_or(0, |last| last + 1);
    &text[..end]
}
