//! Sums over attempts in pgbench's terms: the source of its summary, progress lines and logs.

use serde::{Deserialize, Serialize};

use super::Moments;

/// Why an attempt failed, if its client continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Failure {
    /// SQLSTATE 40001.
    Serialization,
    /// SQLSTATE 40P01.
    Deadlock,
    /// Another SQL error, with `--continue-on-error`.
    Other,
}

/// How an attempt ended, in pgbench's terms. Attempts that aborted their client, or that the end of the run cut off,
/// have no ending: pgbench counts none of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It completed.
    Committed,
    /// The due time was too long ago.
    Skipped,
    /// It failed, after all allowed tries.
    Failed(Failure),
}

/// Counts and moments over attempts that have an [`Ending`].
///
/// In contrast to [`Counts`](super::Counts), which accounts for every attempt, it has retries and kinds of failures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// Attempts that completed.
    pub committed: u64,
    /// Attempts skipped because they were already too late.
    pub skipped: u64,
    /// Attempts that completed and exceeded the latency limit.
    pub late: u64,
    /// Attempts with more than one try, whatever their outcome.
    pub retried: u64,
    /// Tries beyond the first.
    pub retries: u64,
    /// Attempts that failed with SQLSTATE 40001.
    pub serialization: u64,
    /// Attempts that failed with SQLSTATE 40P01.
    pub deadlock: u64,
    /// Attempts that failed with another SQL error.
    pub other: u64,
    /// Rows that the statements of completed attempts returned or changed.
    pub rows: u64,
    /// Latency of completed attempts, in microseconds.
    pub latency: Moments,
    /// Lag of completed attempts in an open loop, in microseconds.
    pub lag: Moments,
}

/// An ended attempt, as input of [`Tally::record`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// How the attempt ended.
    pub ending: Ending,
    /// Number of tries, from 1.
    pub tries: u32,
    /// Latency in microseconds; used only if it committed.
    pub latency_us: u64,
    /// Lag in microseconds; `None` in a closed loop.
    pub lag_us: Option<u64>,
    /// Whether it exceeded the latency limit.
    pub late: bool,
    /// Rows that its statements returned or changed; used only if it committed.
    pub rows: u64,
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
                self.rows += ended.rows;
                self.latency.add(ended.latency_us as f64);
                if let Some(lag_us) = ended.lag_us {
                    self.lag.add(lag_us as f64);
                }
            }
        }
    }

    /// Adds the counts of another tally.
    pub fn merge(&mut self, other: &Self) {
        self.committed += other.committed;
        self.skipped += other.skipped;
        self.late += other.late;
        self.retried += other.retried;
        self.retries += other.retries;
        self.serialization += other.serialization;
        self.deadlock += other.deadlock;
        self.other += other.other;
        self.rows += other.rows;
        self.latency.merge(&other.latency);
        self.lag.merge(&other.lag);
    }

    /// Failed attempts of all kinds.
    pub fn failed(&self) -> u64 {
        self.serialization + self.deadlock + self.other
    }

    /// All attempts: committed, failed and skipped.
    pub fn total(&self) -> u64 {
        self.committed + self.failed() + self.skipped
    }
}

/// Results of one command of a script.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct CommandTally {
    /// Duration in microseconds if it succeeded.
    pub latency: Moments,
    /// Attempts that finally failed in it.
    pub failures: u64,
    /// Attempts that failed in it and were retried.
    pub retries: u64,
}

impl CommandTally {
    /// Adds the results of another worker for the same command.
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
        let lags = prop::option::of(0u64..1_000_000);
        (endings, 1u32..5, 0u64..1_000_000, lags, any::<bool>(), 0u64..500).prop_map(
            |(ending, tries, latency_us, lag_us, late, rows)| Ended {
                ending,
                tries,
                latency_us,
                lag_us,
                late,
                rows,
            },
        )
    }

    proptest! {
        /// The independent second way: counts in the list itself.
        #[test]
        fn every_attempt_counts_once_for_any_distribution_over_workers(
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
