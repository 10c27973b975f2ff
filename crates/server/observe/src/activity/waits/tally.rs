//! Samples added up, in bounded memory.

use std::{cmp::Reverse, collections::BTreeMap, mem};

use pgdyno_core::observe::{WaitSample, WaitsSample};

/// Most distinct activities that are counted at a time. Ten samples of thousands of sessions have fewer, unless every
/// session runs a statement of its own.
const MOST_COUNTED: usize = 4_096;
/// Most distinct activities in a line of a record.
const MOST_KEPT: usize = 200;
/// Event and backend of what was too varied to be kept.
const OTHER: &str = "other";

type Key = (String, String, Option<i64>);

/// Adds up samples, usually those of one second. Nothing that was counted is lost: where there are too many distinct
/// activities, those with the same event and backend are added up without their query ids, and at last all as `other`.
#[derive(Debug, Clone, Default)]
pub struct WaitTally {
    samples: u64,
    counts: BTreeMap<Key, u64>,
}

impl WaitTally {
    /// Adds a sample.
    pub fn add(&mut self, seen: &[WaitSample]) {
        self.samples += 1;
        seen.iter().for_each(|one| self.count(one));
    }

    /// Whether some session waited for a lock, or may have: then it is worth asking for
    /// [`BlockedReader`](crate::activity::BlockedReader).
    pub fn locks_suspected(seen: &[WaitSample]) -> bool {
        let waits = |event: &str| event == "Lock" || event.starts_with("Lock:") || event == "not seen";
        seen.iter().any(|one| waits(&one.event))
    }

    /// Ends the second: returns what was seen, the most frequent first, and begins the next.
    pub fn take(&mut self) -> WaitsSample {
        let Self { samples, counts } = mem::take(self);
        let mut seen: Vec<WaitSample> = kept(counts).into_iter().map(sample).collect();
        seen.sort_by(|a, b| order(a).cmp(&order(b)));
        WaitsSample { samples, seen }
    }

    fn count(&mut self, seen: &WaitSample) {
        let mut key = (seen.event.clone(), seen.backend.clone(), seen.query_id);
        if self.has_no_room(&key, MOST_COUNTED) {
            key.2 = None;
        }
        if self.has_no_room(&key, 2 * MOST_COUNTED) {
            key = (OTHER.to_owned(), OTHER.to_owned(), None);
        }
        *self.counts.entry(key).or_default() += seen.count;
    }

    fn has_no_room(&self, key: &Key, most: usize) -> bool {
        self.counts.len() >= most && !self.counts.contains_key(key)
    }
}

fn sample(((event, backend, query_id), count): (Key, u64)) -> WaitSample {
    WaitSample { event, backend, query_id, count }
}

fn order(one: &WaitSample) -> (Reverse<u64>, &str, &str, Option<i64>) {
    (Reverse(one.count), &one.event, &one.backend, one.query_id)
}

/// At most [`MOST_KEPT`] entries: the rarest are added up.
fn kept(counts: BTreeMap<Key, u64>) -> BTreeMap<Key, u64> {
    let without_ids = |(event, backend, _): Key| (event, backend, None);
    let other = |_: Key| (OTHER.to_owned(), OTHER.to_owned(), None);
    shortened(shortened(counts, without_ids), other)
}

/// Keeps the most frequent entries whole, and the rest under another key. Half of the room is for the other keys.
fn shortened(counts: BTreeMap<Key, u64>, rest: impl Fn(Key) -> Key) -> BTreeMap<Key, u64> {
    if counts.len() <= MOST_KEPT {
        return counts;
    }
    let mut sorted: Vec<_> = counts.into_iter().collect();
    sorted.sort_by(|(a, many), (b, more)| more.cmp(many).then_with(|| a.cmp(b)));
    let mut kept: BTreeMap<Key, u64> = BTreeMap::new();
    for (at, (key, count)) in sorted.into_iter().enumerate() {
        let key = if at < MOST_KEPT / 2 { key } else { rest(key) };
        *kept.entry(key).or_default() += count;
    }
    kept
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seen(event: &str, query_id: Option<i64>, count: u64) -> WaitSample {
        WaitSample { event: event.to_owned(), backend: "client backend".to_owned(), query_id, count }
    }

    #[test]
    fn samples_are_added_up() {
        let mut tally = WaitTally::default();
        tally.add(&[seen("running", None, 2), seen("Lock:tuple", Some(7), 1)]);
        tally.add(&[seen("Lock:tuple", Some(7), 4), seen("Lock:tuple", Some(8), 1)]);
        let want = [seen("Lock:tuple", Some(7), 5), seen("running", None, 2), seen("Lock:tuple", Some(8), 1)];
        assert_eq!(tally.take(), WaitsSample { samples: 2, seen: want.to_vec() });
        assert_eq!(tally.take(), WaitsSample::default());
    }

    #[test]
    fn lock_waits_are_suspected_where_nothing_is_seen() {
        let suspected = |event| WaitTally::locks_suspected(&[seen("running", None, 1), seen(event, None, 1)]);
        assert!(suspected("Lock:relation") && suspected("Lock") && suspected("not seen"));
        assert!(!suspected("LWLock:LockManager") && !suspected("client"));
    }

    #[test]
    fn very_many_query_ids_keep_the_shares_of_events() {
        let mut tally = WaitTally::default();
        for id in 0..20_000 {
            tally.add(&[seen("IO:WALSync", Some(id), 1), seen("running", Some(id), 2)]);
        }
        assert!(tally.counts.len() <= MOST_COUNTED + 3, "{}", tally.counts.len());
        let taken = tally.take();
        let of = |event: &str| {
            taken.seen.iter().filter(|one| one.event == event).map(|one| one.count).sum::<u64>()
        };
        assert_eq!((of("IO:WALSync"), of("running"), of(OTHER)), (20_000, 40_000, 0));
        assert!(taken.seen.len() <= MOST_KEPT);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]
        #[test]
        fn nothing_is_lost_and_memory_is_bounded(
            (events, ids, step) in (1..12_000_u64, 1..3_000_u64, 1..999_u64),
            seed in prop::collection::vec(1..9_u64, 1..9),
        ) {
            let mut tally = WaitTally::default();
            let mut total = 0;
            for (at, count) in (0..12_000).zip(seed.iter().cycle()) {
                let event = format!("Extension:{}", at * step % events);
                tally.count(&seen(&event, Some((at % ids) as i64), *count));
                total += count;
            }
            prop_assert!(tally.counts.len() <= 2 * MOST_COUNTED + 1);
            let taken = tally.take();
            prop_assert_eq!(taken.seen.iter().map(|one| one.count).sum::<u64>(), total);
            prop_assert!(taken.seen.len() <= MOST_KEPT);
        }
    }
}
