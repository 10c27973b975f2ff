//! Errors as shown to the user.

use std::fmt;

/// Class of a problem, which determines the exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProblemKind {
    /// The request was wrong: a flag, a value, a plan, a foreign data directory. Exit status 2.
    WrongRequest,
    /// The request was valid but could not be completed. Exit status 3.
    CouldNotComplete,
}

/// What could not be done, to what and why, with a hint.
///
/// Printed as
/// ```text
/// error: could not start the server: port 5433 is already in use
/// detail: process 4121 (postgres) listens on 127.0.0.1:5433
/// hint: choose another with --port, or stop that server. Nothing was changed.
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Exit status class.
    pub kind: ProblemKind,
    /// One sentence without a full stop: what could not be done, to what, why.
    pub what: String,
    /// What was observed.
    pub detail: Option<String>,
    /// What the user can do.
    pub hint: Option<String>,
}

impl Problem {
    /// A wrong request (exit status 2).
    pub fn wrong_request(what: impl Into<String>) -> Self {
        Self { kind: ProblemKind::WrongRequest, what: what.into(), detail: None, hint: None }
    }

    /// A valid request that could not be completed (exit status 3).
    pub fn could_not(what: impl Into<String>) -> Self {
        Self { kind: ProblemKind::CouldNotComplete, what: what.into(), detail: None, hint: None }
    }

    /// Adds what was observed.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Adds what the user can do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Problem {}
