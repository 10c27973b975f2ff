//! Sums over attempts, as pgbench keeps them: what its summary, progress lines and logs are made of.

use super::Moments;

/// Why an attempt failed that its client lives on after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Failure {
    /// SQLSTATE 40001.
    Serialization,
    /// SQLSTATE 40P01.
    Deadlock,
    /// Another SQL error, where the client goes on after those (`--continue-on-error`).
    Other,
}

/// How an attempt ended, in pgbench's terms. Attempts that took their client with them, or that the end of the run cut
/// off, have no ending: pgbench counts none of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It ran to its end.
    Committed,
    /// It was due too long ago to be begun.
    Skipped,
    /// It failed, after as many tries as it was allowed.
    Failed(Failure),
}

/// Counts and moments over attempts that have an [`Ending`].
///
/// Beside [`Counts`](super::Counts), which accounts for every attempt: here are retries and kinds of failures, which
/// say nothing about whether an attempt got lost.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Tally {
    /// Attempts that ran to their end.
    pub committed: u64,
    /// Attempts that were not begun because they were already too late.
    pub skipped: u64,
    /// Attempts that ran to their end and took longer than the latency limit.
    pub late: u64,
    /// Attempts that were tried more than once, whatever became of them.
    pub retried: u64,
    /// Tries beyond the first.
    pub retries: u64,
    /// Attempts that failed with SQLSTATE 40001.
    pub serialization: u64,
    /// Attempts that failed with SQLSTATE 40P01.
    pub deadlock: u64,
    /// Attempts that failed with another SQL error.
    pub other: u64,
    /// Latency of those that ran to their end, in microseconds.
    pub latency: Moments,
    /// Lag of the same in an open loop, in microseconds.
    pub lag: Moments,
}

/// An attempt that has ended, as [`Tally::record`] takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// How.
    pub ending: Ending,
    /// Number of tries, from 1.
    pub tries: u32,
    /// Latency in microseconds; looked at where it committed.
    pub latency_us: u64,
    /// Lag in microseconds; `None` in a closed loop.
    pub lag_us: Option<u64>,
    /// Whether it took longer than the latency limit.
    pub late: bool,
}

impl Tally {
    /// Counts one attempt.
    #[inline]
    pub fn record(&mut self, ended: Ended) {
        if ended.ending != Ending::Skipped && ended.tries > 1 {
            self.retries += u64::from(ended.tries - 1);
            self.retried += 1;
        }
        match ended.ending {
            Ending::Skipped => self.skipped += 1,
            Ending::Failed(Failure::Serialization) => self.serialization += 1,
            Ending::Failed(Failure::Deadlock) => self.deadlock += 1,
            Ending::Failed(Failure::Other) => self.other += 1,
            Ending::Committed => {
                self.committed += 1;
                self.late += u64::from(ended.late);
                self.latency.add(ended.latency_us as f64);
                if let Some(lag_us) = ended.lag_us {
                    self.lag.add(lag_us as f64);
                }
            }
        }
    }

    /// Adds what another tally counted.
    pub fn merge(&mut self, other: &Self) {
        self.committed += other.committed;
        self.skipped += other.skipped;
        self.late += other.late;
        self.retried += other.retried;
        self.retries += other.retries;
        self.serialization += other.serialization;
        self.deadlock += other.deadlock;
        self.other += other.other;
        self.latency.merge(&other.latency);
        self.lag.merge(&other.lag);
    }

    /// Attempts that failed, of all kinds.
    pub fn failed(&self) -> u64 {
        self.serialization + self.deadlock + self.other
    }

    /// All attempts: committed, failed and skipped.
    pub fn total(&self) -> u64 {
        self.committed + self.failed() + self.skipped
    }
}

/// What one command of a script came to.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CommandTally {
    /// Time from its beginning to its end where it succeeded, in microseconds.
    pub latency: Moments,
    /// Attempts that failed in it for good.
    pub failures: u64,
    /// Attempts that failed in it and were tried again.
    pub retries: u64,
}

impl CommandTally {
    /// Adds what another worker counted for the same command.
    pub fn merge(&mut self, other: &Self) {
        self.latency.merge(&other.latency);
        self.failures += other.failures;
        self.retries += other.retries;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_ended() -> impl Strategy<Value = Ended> {
        let endings = prop::sample::select(vec![
            Ending::Committed,
            Ending::Skipped,
            Ending::Failed(Failure::Serialization),
            Ending::Failed(Failure::Deadlock),
            Ending::Failed(Failure::Other),
        ]);
        (endings, 1u32..5, 0u64..1_000_000, prop::option::of(0u64..1_000_000), any::<bool>()).prop_map(
            |(ending, tries, latency_us, lag_us, late)| Ended { ending, tries, latency_us, lag_us, late },
        )
    }

    proptest! {
        /// The independent second way: count in the list itself.
        #[test]
        fn every_attempt_counts_once_however_workers_share_them(
            all in prop::collection::vec((any_ended(), 0usize..3), 0..200)
        ) {
            let mut workers = [Tally::default(); 3];
            all.iter().for_each(|&(ended, worker)| workers[worker].record(ended));
            let mut tally = Tally::default();
            workers.iter().for_each(|worker| tally.merge(worker));
            let of = |ending| all.iter().filter(|(e, _)| e.ending == ending).count() as u64;
            prop_assert_eq!(tally.total(), all.len() as u64);
            prop_assert_eq!(tally.committed, of(Ending::Committed));
            prop_assert_eq!(tally.skipped, of(Ending::Skipped));
            prop_assert_eq!(tally.failed(), all.len() as u64 - tally.committed - tally.skipped);
            prop_assert_eq!(tally.latency.count, tally.committed);
            let tried: Vec<_> = all.iter().filter(|(e, _)| e.ending != Ending::Skipped).collect();
            prop_assert_eq!(tally.retries, tried.iter().map(|(e, _)| u64::from(e.tries - 1)).sum::<u64>());
            prop_assert_eq!(tally.retried, tried.iter().filter(|(e, _)| e.tries > 1).count() as u64);
            prop_assert!(tally.late <= tally.committed && tally.lag.count <= tally.committed);
        }
    }
}
