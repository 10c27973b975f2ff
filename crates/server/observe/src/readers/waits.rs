//! Samples of what sessions do, and their sums over a second and over a measured interval.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use crate::activity::{ActivitySample, Pace, WaitReader, WaitTally};
use pgdyno_core::{
    measure::{WaitCount, Waits},
    observe::{WaitSample, What},
};
use pgdyno_wire::{Session, WireError};

use super::reader::{Say, Server, ServerReader};

/// Time between two samples.
const SAMPLE_EVERY: Duration = Duration::from_millis(100);
/// Samples may take one part in so many of the time, waits for a CPU included: thousands of sessions get fewer.
const SHARE: u32 = 25;
/// Time that a line of wait events covers.
const LINE_EVERY: Duration = Duration::from_secs(1);

/// Samples of one measured interval.
#[derive(Debug, Default)]
pub(crate) struct Sampled(Mutex<Interval>);

#[derive(Debug, Default)]
struct Interval {
    /// Number of intervals that have begun.
    number: u64,
    waits: Option<Waits>,
}

impl Sampled {
    pub(crate) fn begin(&self) {
        let mut interval = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        interval.number += 1;
        interval.waits = Some(Waits::default());
    }

    pub(crate) fn end(&self) -> Option<Waits> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).waits.take()
    }

    /// Number of the current interval.
    fn number(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).number
    }

    /// Adds what clients did in a sample that was requested in the interval of this number.
    fn add(&self, number: u64, seen: &[WaitSample]) {
        let mut interval = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if interval.number == number {
            interval.waits.iter_mut().for_each(|waits| waits.add(clients(seen)));
        }
    }
}

/// The activities of client sessions.
fn clients(seen: &[WaitSample]) -> impl Iterator<Item = WaitCount> + '_ {
    let of_clients = seen.iter().filter(|one| one.is_of_client());
    of_clients.map(|one| WaitCount { event: one.event.clone(), count: one.count })
}

/// Samples what sessions do.
pub(super) struct Activity {
    server: Server,
    reader: WaitReader,
    /// The sessions that the reader leaves out.
    own: Vec<i32>,
    sampled: Arc<Sampled>,
    /// Whether a session waited for a lock.
    suspected: Arc<AtomicBool>,
    tally: WaitTally,
    since: Instant,
}

impl Activity {
    pub(super) fn new(server: Server, sampled: Arc<Sampled>, suspected: Arc<AtomicBool>) -> Self {
        let reader = WaitReader::new(server.version_num, &server.databases, &[]);
        let (own, tally, since) = (Vec::new(), WaitTally::default(), Instant::now());
        Self { server, reader, own, sampled, suspected, tally, since }
    }

    fn leave_out(&mut self, own: &[i32]) {
        if self.own != own {
            self.own = own.to_vec();
            self.reader = WaitReader::new(self.server.version_num, &self.server.databases, own);
        }
    }
}

impl ServerReader for Activity {
    fn name(&self) -> &'static str {
        "waits"
    }

    fn pace(&self) -> Pace {
        Pace::new(SAMPLE_EVERY).with_share(SHARE)
    }

    fn read(&mut self, session: &mut Session, own: &[i32], say: &mut Say<'_>) -> Result<(), WireError> {
        self.leave_out(own);
        let number = self.sampled.number();
        let ActivitySample { seen, in_transaction, oldest } = self.reader.read(session)?;
        self.sampled.add(number, &seen);
        self.suspected.fetch_or(WaitTally::locks_suspected(&seen), Ordering::Relaxed);
        self.tally.add(&seen);
        if !oldest.is_empty() {
            say(0.0, What::Sessions { in_transaction, oldest });
        }
        if self.since.elapsed() + SAMPLE_EVERY / 2 >= LINE_EVERY {
            self.end(say);
        }
        Ok(())
    }

    fn end(&mut self, say: &mut Say<'_>) {
        let since = std::mem::replace(&mut self.since, Instant::now());
        let waits = self.tally.take();
        if waits.samples > 0 {
            say(since.elapsed().as_secs_f64(), What::Waits(waits));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(event: &str, backend: &str, query_id: i64, count: u64) -> WaitSample {
        let (event, backend) = (event.to_owned(), backend.to_owned());
        WaitSample { event, backend, query_id: Some(query_id), count }
    }

    #[test]
    fn only_samples_requested_within_an_interval_count_for_it() {
        let sampled = Sampled::default();
        let one = [seen("running", "client backend", 1, 3)];
        let before = sampled.number();
        sampled.add(before, &one);
        assert_eq!(sampled.end(), None);
        sampled.begin();
        sampled.add(before, &one);
        sampled.add(sampled.number(), &one);
        let waits = sampled.end().expect("it had begun");
        assert_eq!((waits.looks, waits.sessions), (1, 3));
        sampled.add(sampled.number(), &one);
        assert_eq!(sampled.end(), None);
    }

    #[test]
    fn clients_alone_count_for_an_interval_by_their_events() {
        let sampled = Sampled::default();
        sampled.begin();
        let sample = [
            seen("running", "client backend", 1, 3),
            seen("running", "client backend", 2, 4),
            seen("client", "session", 0, 1),
            seen("IO:DataFileRead", "parallel worker", 1, 9),
            seen("not seen", "not seen", 0, 9),
            seen("Activity:CheckpointerMain", "checkpointer", 0, 1),
        ];
        sampled.add(sampled.number(), &sample);
        let waits = sampled.end().expect("it had begun");
        let events: Vec<_> = waits.events.iter().map(|one| (one.event.as_str(), one.count)).collect();
        assert_eq!((waits.looks, waits.sessions, events), (1, 8, vec![("running", 7), ("client", 1)]));
    }
}
