//! What a sample of a transaction shows, with what else happened at its time.

use pgdyno_core::results::{Circumstance, HIDDEN};

use super::{
    attempts::Attempt,
    circumstances::{ServerSeen, Spans, may_explain},
    holders::{Holder, NOT_SEEN, is_foreign},
    samples::{Seen, TailSamples},
};

/// Longest time between a sample of a lock and an answer to who held it.
const HELD_S: f64 = 1.0;

/// What a sample says, with what else is known of its instant.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Explained {
    pub wait: String,
    pub during: Vec<Circumstance>,
    /// Of a lock, who held it.
    pub holder: Option<Holder>,
}

impl Explained {
    /// Without anything else.
    pub fn plain(wait: &str) -> Self {
        Self { wait: wait.to_owned(), during: Vec::new(), holder: None }
    }
}

/// What a sample of a transaction says.
pub fn explained(all: &TailSamples<'_>, attempt: &Attempt, seen: &Seen, nth: usize) -> Explained {
    let sample = &seen.samples[nth];
    let event = all.events.name(sample.event);
    let wait = if event == "not seen" { HIDDEN } else { event };
    let holder = is_lock(event).then(|| holder(all, seen, nth).unwrap_or(NOT_SEEN));
    let may: &[Circumstance] = match holder {
        Some(holder) if is_foreign(holder) => &[],
        _ => may_explain(wait, holder.is_some()),
    };
    let holds = |of: &&Circumstance| match of {
        Circumstance::DriverStarved => attempt.is_driver_starved,
        of => times(all, attempt.cell, **of).is_some_and(|times| times.contain(sample.at_s)),
    };
    Explained { wait: wait.to_owned(), during: may.iter().filter(holds).copied().collect(), holder }
}

fn is_lock(event: &str) -> bool {
    event == "Lock" || event.starts_with("Lock:")
}

/// Who held the lock that a sample waited for: the nearest answer before or after it, if the transaction waited for
/// locks all the time in between.
fn holder(all: &TailSamples<'_>, seen: &Seen, nth: usize) -> Option<Holder> {
    let at_s = seen.samples[nth].at_s;
    let distance_s = |other_s: f64| (other_s - at_s).abs();
    let near = seen.blocked.iter().filter(|of| distance_s(of.at_s) <= HELD_S);
    let nearest = near.min_by(|a, b| distance_s(a.at_s).total_cmp(&distance_s(b.at_s)))?;
    let (from, to) = (at_s.min(nearest.at_s), at_s.max(nearest.at_s));
    let mut between = seen.samples.iter().filter(|of| of.at_s > from && of.at_s < to);
    between.all(|of| is_lock(all.events.name(of.event))).then_some(nearest.holder)
}

/// The times of a circumstance, as far as it concerns the server of a cell with its machine, or else pgdyno's host.
pub fn times<'a>(all: &'a TailSamples<'_>, cell: usize, of: Circumstance) -> Option<&'a Spans> {
    server(all, cell).and_then(|server| server.times(of)).or_else(|| all.host.times(of))
}

/// What happened at the server of a cell.
pub fn server<'a>(all: &'a TailSamples<'_>, cell: usize) -> Option<&'a ServerSeen> {
    let subject = &all.slowest.cells[cell].workload.subject;
    all.servers.get(subject).or_else(|| all.servers.get(&None))
}
