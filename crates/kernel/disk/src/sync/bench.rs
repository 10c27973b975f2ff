//! Where and how long tests are executed, and how they end.

use std::time::Duration;

use pgdyno_core::stop::Stop;

use super::{scratch::Scratch, timing::Timed};

/// How a test ended.
pub(super) enum Ran {
    /// It was executed, through the page cache or past it.
    Timed { timed: Timed, direct: Option<bool> },
    /// The system refuses it.
    Unavailable(String),
}

/// Where and how long tests are executed.
pub(super) struct Bench<'a> {
    /// A file that was written and synced.
    pub scratch: &'a Scratch,
    /// A second file, for states of the file.
    pub second: Option<&'a Scratch>,
    pub duration: Duration,
    pub stop: &'a Stop,
}
