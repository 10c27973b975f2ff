//! One thing that is wrong with a plan.

/// One thing wrong with a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Where, as a dotted path with list positions from 0: `measure.clients[2]`.
    pub path: String,
    /// What is wrong, in one sentence without a full stop.
    pub what: String,
    /// What to do.
    pub hint: String,
}

/// What is wrong, where, and what to do.
pub(super) fn fault(path: impl Into<String>, what: impl Into<String>, hint: impl Into<String>) -> Fault {
    Fault { path: path.into(), what: what.into(), hint: hint.into() }
}

/// A word of the user's as an error shows it: without control characters, at most 60 characters.
pub(super) fn shown(text: &str) -> String {
    let plain = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let mut shown: String = text.chars().take(60).map(plain).collect();
    if text.chars().nth(60).is_some() {
        shown.push('…');
    }
    shown
}
