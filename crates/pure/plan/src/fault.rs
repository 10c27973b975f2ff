//! One fault of a plan.

/// One fault of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Path of the key, dotted and with list positions from 0: `measure.clients[2]`.
    pub path: String,
    /// Description in one sentence without a full stop.
    pub what: String,
    /// Remedy for the user.
    pub hint: String,
}

pub(super) fn fault(path: impl Into<String>, what: impl Into<String>, hint: impl Into<String>) -> Fault {
    Fault { path: path.into(), what: what.into(), hint: hint.into() }
}

/// Makes a word of the user fit for a message: without control characters, at most 60 characters.
pub(super) fn shown(text: &str) -> String {
    let plain = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let mut shown: String = text.chars().take(60).map(plain).collect();
    if text.chars().nth(60).is_some() {
        shown.push('…');
    }
    shown
}
