//! The slowest attempts of an interval, one by one: what a percentile only counts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many attempts of an interval are kept.
pub const SLOWEST: usize = 20;
/// How many of them a run keeps in its summary.
pub const SLOWEST_OF_RUN: usize = 5;

/// A committed attempt as the driver saw it: instants in nanoseconds of one clock, names as numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Slow {
    /// When it was due.
    pub scheduled_ns: u64,
    /// When it began.
    pub begin_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// Number of its script, from 0.
    pub script: u32,
    /// What its client said of it.
    pub work: Work,
}

/// What a client says of an attempt: who carried it out, and which of its commands took the longest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    /// Number of the client, from 0.
    pub client: u32,
    /// Process of the server that carried it out, as the server named it when the client connected; 0 is not known.
    pub backend_pid: u32,
    /// Number of the command within the script, from 0.
    pub command: u32,
    /// When that command began.
    pub command_begin_ns: u64,
    /// How long it took in nanoseconds; 0 where no command was timed.
    pub command_ns: u64,
}

impl Slow {
    /// From due to end, in nanoseconds.
    pub fn latency_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.scheduled_ns)
    }

    /// Slower comes first; of two that took as long the one that ended first.
    fn key(&self) -> (u64, std::cmp::Reverse<(u64, u32)>) {
        (self.latency_ns(), std::cmp::Reverse((self.end_ns, self.work.client)))
    }
}

/// The [`SLOWEST`] slowest of the attempts that it was told of, in memory that is taken once, with the first of them.
/// Most attempts cost it one comparison.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Slowest {
    /// Apart from what it is part of: every worker has one, and hands it on with every interval.
    kept: Vec<Slow>,
    /// Latency that one must exceed to be kept, and where the one stands that goes for it, once there is no room left.
    floor_ns: u64,
    fastest: usize,
}

impl Slowest {
    /// Whether an attempt of this latency would be kept.
    #[inline]
    pub fn wants(&self, latency_ns: u64) -> bool {
        latency_ns > self.floor_ns || self.kept.len() < SLOWEST
    }

    /// Keeps an attempt if it is one of the slowest. Of attempts that took as long those told first stay.
    pub fn add(&mut self, slow: Slow) {
        if self.kept.len() < SLOWEST {
            self.kept.reserve_exact(SLOWEST - self.kept.len());
            self.kept.push(slow);
        } else if slow.latency_ns() > self.floor_ns {
            self.kept[self.fastest] = slow;
        } else {
            return;
        }
        if self.kept.len() == SLOWEST {
            self.fastest = (0..SLOWEST).min_by_key(|&at| self.kept[at].key()).unwrap_or_default();
            self.floor_ns = self.kept[self.fastest].latency_ns();
        }
    }

    /// Adds the attempts of another worker, or of another interval.
    pub fn merge(&mut self, other: &Self) {
        let mut all = std::mem::take(self).kept;
        all.extend_from_slice(&other.kept);
        all.sort_unstable_by_key(|slow| std::cmp::Reverse(slow.key()));
        all.iter().take(SLOWEST).for_each(|&slow| self.add(slow));
    }

    /// Forgets all of them, and keeps the memory.
    pub fn clear(&mut self) {
        self.kept.clear();
        (self.floor_ns, self.fastest) = (0, 0);
    }

    /// What was kept, the slowest first.
    pub fn sorted(&self) -> Vec<Slow> {
        let mut sorted = self.kept.clone();
        sorted.sort_by_key(|slow| std::cmp::Reverse(slow.key()));
        sorted
    }
}

/// One of the slowest committed attempts, as the record keeps it. Instants are nanoseconds since the run's first
/// attempt was due.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlowAttempt {
    /// When it ended: RFC 3339 in UTC, by the clock of pgdyno's machine.
    pub ended_at: String,
    /// The same in seconds since the start of the measured interval; negative in the warm-up.
    pub at_s: f64,
    /// When it was due.
    pub scheduled_ns: u64,
    /// When it began.
    pub begin_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// From due to end.
    pub latency_ns: u64,
    /// From due to begin; 0 in a closed loop.
    pub lag_ns: u64,
    /// From begin to end.
    pub service_ns: u64,
    /// Number of the client, from 0.
    pub client: u32,
    /// Process of the server that carried it out; absent where it is not known, as behind a pooler.
    pub backend_pid: Option<u32>,
    /// Name of its script.
    pub script: String,
    /// The command that took the longest, as written in the script, at most its first 120 characters.
    pub statement: Option<String>,
    /// When that command began.
    pub statement_begin_ns: Option<u64>,
    /// How long it took.
    pub statement_ns: Option<u64>,
}

/// Part of a run that an interval belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Before the measured interval.
    WarmUp,
    /// The measured interval.
    Measured,
    /// After it: what was under way ends.
    Drain,
}

/// The slowest attempts that ended within one interval: a line of `slowest.ndjson`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlowInterval {
    /// Index of the run in `run.json`'s `runs`.
    pub run: u32,
    /// Start of the interval in nanoseconds since the run's first attempt was due.
    pub start_ns: u64,
    /// Length in nanoseconds.
    pub duration_ns: u64,
    /// What it belongs to.
    pub part: Part,
    /// At most 20 attempts, the slowest first.
    pub attempts: Vec<SlowAttempt>,
}

/// The slowest of several lists, at most `most` of them, the slowest first; of those that took as long the one that
/// ended first.
pub fn slowest_of(lists: impl IntoIterator<Item = SlowAttempt>, most: usize) -> Vec<SlowAttempt> {
    let mut all: Vec<_> = lists.into_iter().collect();
    all.sort_by_key(|one| (std::cmp::Reverse(one.latency_ns), one.end_ns, one.client));
    all.truncate(most);
    all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn slow(end_ns: u64, latency_ns: u64) -> Slow {
        Slow { scheduled_ns: end_ns - latency_ns, begin_ns: end_ns - latency_ns, end_ns, ..Slow::default() }
    }

    /// The second implementation: sort all of them, and cut.
    fn by_sorting(all: &[Slow]) -> Vec<Slow> {
        let mut sorted = all.to_vec();
        sorted.sort_by(|a, b| b.latency_ns().cmp(&a.latency_ns()).then(a.end_ns.cmp(&b.end_ns)));
        sorted.truncate(SLOWEST);
        sorted
    }

    fn of(all: &[Slow]) -> Slowest {
        let mut slowest = Slowest::default();
        for &one in all {
            let wanted = slowest.wants(one.latency_ns());
            let before = slowest.clone();
            slowest.add(one);
            assert_eq!(wanted, slowest != before, "what is not wanted changes nothing");
        }
        slowest
    }

    /// Attempts in the order in which they ended, many of them as slow as others.
    fn attempts() -> impl Strategy<Value = Vec<Slow>> {
        prop::collection::vec((1u64..50, prop_oneof![1u64..12, 1u64..1_000]), 0..200).prop_map(|steps| {
            let ends = steps.iter().scan(1_000, |end_ns, (step, _)| {
                *end_ns += step;
                Some(*end_ns)
            });
            ends.zip(&steps).map(|(end_ns, (_, latency_ns))| slow(end_ns, *latency_ns)).collect()
        })
    }

    proptest! {
        #[test]
        fn the_slowest_are_those_that_sorting_finds(all in attempts(), workers in 1usize..4, cut in 0usize..200) {
            prop_assert_eq!(of(&all).sorted(), by_sorting(&all));
            let mut cleared = of(&all);
            cleared.clear();
            prop_assert_eq!(cleared, Slowest::default());
            // Of several workers, and of two intervals that are joined.
            let mut merged = Slowest::default();
            for worker in 0..workers {
                let own: Vec<_> = all.iter().skip(worker).step_by(workers).copied().collect();
                merged.merge(&of(&own));
            }
            prop_assert_eq!(merged.sorted(), by_sorting(&all));
            let (early, late) = all.split_at(cut.min(all.len()));
            let mut joined = of(early);
            joined.merge(&of(late));
            prop_assert_eq!(joined.sorted(), by_sorting(&all));
        }
    }
}
