//! How a rule reports its bottleneck.

use pgdyno_core::results::{Bottleneck, BottleneckKind, Confidence};

use crate::diagnosis::sessions::Waiting;

/// The least share of the clients' time that a bottleneck explains: without it throughput could rise by a quarter at
/// most, and there may be several such causes.
const LEAST_SHARE: f64 = 0.2;
/// A share that leaves little for other causes.
const MOST_OF_THE_TIME: f64 = 0.5;

/// What a rule knows about its bottleneck besides figures.
pub struct About {
    /// Its kind.
    pub kind: BottleneckKind,
    /// What to try next, in one sentence.
    pub next: &'static str,
    /// What to change to check it, as a part of a sentence: it is not the limit if throughput then stays the same.
    pub refuted_by: &'static str,
}

impl About {
    /// The bottleneck, if it explains enough of the clients' time. `second` is a clause of a second, independent
    /// source.
    pub fn explains(&self, share: f64, first: String, second: Option<String>) -> Option<Bottleneck> {
        if share < LEAST_SHARE {
            return None;
        }
        let confidence = match (share >= MOST_OF_THE_TIME, second.is_some()) {
            (true, true) => Confidence::Strong,
            (false, false) => Confidence::Weak,
            _ => Confidence::Likely,
        };
        let evidence = [Some(first), second].into_iter().flatten().collect();
        let (next, refuted_by) = (self.next.to_owned(), self.refuted_by.to_owned());
        Some(Bottleneck { kind: self.kind, share, confidence, evidence, next, refuted_by })
    }

    /// The bottleneck of sessions that waited.
    pub fn waited(&self, waiting: &Waiting<'_>, second: Option<String>) -> Option<Bottleneck> {
        let share = waiting.share();
        (share > 0.0).then(|| self.explains(share, waiting.words(), second))?
    }
}

/// A share in per cent.
pub fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}
