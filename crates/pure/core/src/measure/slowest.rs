//! The slowest attempts of an interval, with the details that a percentile does not have.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Number of attempts kept per interval.
pub const SLOWEST: usize = 20;
/// Number of attempts kept in the summary of a run.
pub const SLOWEST_OF_RUN: usize = 5;

/// A committed attempt as seen by the driver: times in nanoseconds of one clock, names as numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slow {
    /// Due time.
    pub scheduled_ns: u64,
    /// Begin.
    pub begin_ns: u64,
    /// End.
    pub end_ns: u64,
    /// Index of the script.
    pub script: u32,
    /// Details from the client.
    pub work: Work,
}

/// Details that a client reports about an attempt: its server process, and its slowest command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// Index of the client.
    pub client: u32,
    /// Process id of the backend, as reported when the client connected; 0 if unknown.
    pub backend_pid: u32,
    /// Index of the command within the script.
    pub command: u32,
    /// Begin of that command.
    pub command_begin_ns: u64,
    /// Duration of that command in nanoseconds; 0 if no command was timed.
    pub command_ns: u64,
}

impl Slow {
    /// Time from due to end, in nanoseconds.
    pub fn latency_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.scheduled_ns)
    }

    /// Sort key: slower first; of equally slow attempts the one that ended first.
    fn key(&self) -> (u64, std::cmp::Reverse<(u64, u32)>) {
        (self.latency_ns(), std::cmp::Reverse((self.end_ns, self.work.client)))
    }
}

/// The [`SLOWEST`] slowest of the added attempts. Memory is allocated once, with the first of them; most attempts cost
/// one comparison.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Slow>", into = "Vec<Slow>")]
pub struct Slowest {
    /// Allocated separately: every worker has one and passes it on with every interval.
    kept: Vec<Slow>,
    /// Latency that an attempt must exceed to be kept once `kept` is full, and the index of the one it replaces.
    floor_ns: u64,
    fastest: usize,
}

impl From<Slowest> for Vec<Slow> {
    fn from(slowest: Slowest) -> Self {
        slowest.kept
    }
}

impl From<Vec<Slow>> for Slowest {
    fn from(kept: Vec<Slow>) -> Self {
        let mut slowest = Self::default();
        kept.into_iter().for_each(|slow| slowest.add(slow));
        slowest
    }
}

impl Slowest {
    /// Whether an attempt with this latency would be kept.
    #[inline]
    pub fn wants(&self, latency_ns: u64) -> bool {
        latency_ns > self.floor_ns || self.kept.len() < SLOWEST
    }

    /// Keeps an attempt if it is one of the slowest. Of equally slow attempts, those added first stay.
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

    /// Adds the attempts of another worker or interval.
    pub fn merge(&mut self, other: &Self) {
        let mut all = std::mem::take(self).kept;
        all.extend_from_slice(&other.kept);
        all.sort_unstable_by_key(|slow| std::cmp::Reverse(slow.key()));
        all.iter().take(SLOWEST).for_each(|&slow| self.add(slow));
    }

    /// Removes all attempts and keeps the memory.
    pub fn clear(&mut self) {
        self.kept.clear();
        (self.floor_ns, self.fastest) = (0, 0);
    }

    /// The kept attempts, the slowest first.
    pub fn sorted(&self) -> Vec<Slow> {
        let mut sorted = self.kept.clone();
        sorted.sort_by_key(|slow| std::cmp::Reverse(slow.key()));
        sorted
    }
}

/// One of the slowest committed attempts, as recorded. Times are nanoseconds since the due time of the run's first
/// attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlowAttempt {
    /// End: RFC 3339 in UTC, by the clock of pgdyno's machine.
    pub ended_at: String,
    /// End in seconds since the start of the measured interval; negative in the warm-up.
    pub at_s: f64,
    /// Due time.
    pub scheduled_ns: u64,
    /// Begin.
    pub begin_ns: u64,
    /// End.
    pub end_ns: u64,
    /// Time from due to end.
    pub latency_ns: u64,
    /// Time from due to begin; 0 in a closed loop.
    pub lag_ns: u64,
    /// Time from begin to end.
    pub service_ns: u64,
    /// Index of the client.
    pub client: u32,
    /// Process id of the backend; absent if unknown, as behind a pooler.
    pub backend_pid: Option<u32>,
    /// Name of the script.
    pub script: String,
    /// The slowest command as written in the script, at most its first 120 characters.
    pub statement: Option<String>,
    /// Begin of that command.
    pub statement_begin_ns: Option<u64>,
    /// Duration of that command.
    pub statement_ns: Option<u64>,
    /// Time that pgdyno's worker threads were ready and waited for a CPU, summed over the interval in which it ended:
    /// it may be in the latency, and is subtracted from nothing. Absent if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver_waited_ns: Option<u64>,
}

/// Part of a run that an interval belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Before the measured interval.
    WarmUp,
    /// The measured interval.
    Measured,
    /// The time after the measured interval, when attempts in flight end.
    Drain,
}

/// The slowest attempts that ended within one interval: a line of `slowest.ndjson`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlowInterval {
    /// Index of the run in `run.json`'s `runs`.
    pub run: u32,
    /// Start of the interval in nanoseconds since the due time of the run's first attempt.
    pub start_ns: u64,
    /// Length in nanoseconds.
    pub duration_ns: u64,
    /// Part of the run that the interval belongs to.
    pub part: Part,
    /// At most 20 attempts, the slowest first.
    pub attempts: Vec<SlowAttempt>,
}

/// The slowest of several lists, at most `most` of them, the slowest first; of equally slow ones the one that ended
/// first.
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

    /// The second implementation: sorts all of them and truncates.
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

    /// Attempts in the order in which they ended, many of them equally slow.
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
        fn the_slowest_match_those_found_by_sorting(all in attempts(), workers in 1usize..4, cut in 0usize..200) {
            prop_assert_eq!(of(&all).sorted(), by_sorting(&all));
            let mut cleared = of(&all);
            cleared.clear();
            prop_assert_eq!(cleared, Slowest::default());
            // Also merge several workers and two intervals.
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
