//! The slowest transactions with the samples that were taken of them.

use pgdyno_core::results::{SeenWaiting, SlowTransaction};

use super::{
    explained::{Explained, explained},
    samples::TailSamples,
};

/// Most changes of what a transaction waited for that are quoted.
const MOST_CHANGES: usize = 20;

/// The slowest transactions of a cell, the slowest first.
pub fn slowest(all: &TailSamples<'_>, cell: usize) -> Vec<SlowTransaction> {
    let quoted = all.slowest.cells[cell].quoted.iter();
    quoted.map(|(index, of)| SlowTransaction { attempt: of.clone(), seen: seen(all, *index) }).collect()
}

fn seen(all: &TailSamples<'_>, index: usize) -> Vec<SeenWaiting> {
    let (attempt, seen) = (&all.slowest.attempts[index], &all.seen[index]);
    let mut found: Vec<(Explained, SeenWaiting)> = Vec::new();
    for (nth, sample) in seen.samples.iter().enumerate() {
        let of = explained(all, attempt, seen, nth);
        match found.last_mut() {
            Some((last, waiting)) if *last == of => waiting.samples += seen.each_represents(),
            _ => {
                let waiting = SeenWaiting {
                    after_s: (sample.at_s - attempt.begin_s).max(0.0),
                    samples: seen.each_represents(),
                    wait: of.wait.clone(),
                    during: of.during.clone(),
                    holder: of.holder.map(|holder| all.holders.of(holder)),
                };
                found.push((of, waiting));
            }
        }
    }
    found.into_iter().take(MOST_CHANGES).map(|(_, waiting)| waiting).collect()
}
