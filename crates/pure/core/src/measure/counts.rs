//! The counting identity: no attempt gets lost.

use std::ops::AddAssign;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Outcome;

/// Attempts scheduled in an interval, and their outcomes.
///
/// Invariant 5: `scheduled + in_flight_at_start` equals the sum of all outcomes and `in_flight_at_end`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Attempts that fell due within the interval.
    pub scheduled: u64,
    /// Attempts that fell due before the interval and had not ended at its start.
    pub in_flight_at_start: u64,
    /// Attempts acknowledged within the interval.
    pub committed: u64,
    /// Attempts that failed within the interval.
    pub failed: u64,
    /// Attempts that were dropped because they were already too late.
    pub skipped: u64,
    /// Attempts given up after their deadline.
    pub timed_out: u64,
    /// Attempts whose commit got no answer.
    pub in_doubt: u64,
    /// Attempts that fell due and were not begun before the end of the run.
    pub never_started: u64,
    /// Attempts that had not ended at the end of the interval.
    pub in_flight_at_end: u64,
}

/// The two sides of the counting identity, if they differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the counts do not add up: {due} attempts were due, {accounted} are accounted for")]
pub struct Imbalance {
    /// `scheduled + in_flight_at_start`.
    pub due: u64,
    /// Outcomes and `in_flight_at_end`.
    pub accounted: u64,
}

impl Counts {
    /// Counts an attempt that ended.
    pub fn record(&mut self, outcome: Outcome) {
        *match outcome {
            Outcome::Committed => &mut self.committed,
            Outcome::Failed => &mut self.failed,
            Outcome::Skipped => &mut self.skipped,
            Outcome::TimedOut => &mut self.timed_out,
            Outcome::InDoubt => &mut self.in_doubt,
            Outcome::NeverStarted => &mut self.never_started,
        } += 1;
    }

    /// Attempts that ended, with any outcome.
    pub fn ended(&self) -> u64 {
        self.committed + self.failed + self.skipped + self.timed_out + self.in_doubt + self.never_started
    }

    /// Checks the counting identity.
    ///
    /// # Errors
    /// [`Imbalance`] with both sides if they differ.
    pub fn check(&self) -> Result<(), Imbalance> {
        let due = self.scheduled + self.in_flight_at_start;
        let accounted = self.ended() + self.in_flight_at_end;
        if due == accounted { Ok(()) } else { Err(Imbalance { due, accounted }) }
    }

    /// Appends the interval that follows: flows add up, and the state at the end is that of `next`.
    pub fn then(&mut self, next: &Self) {
        let in_flight_at_start = self.in_flight_at_start;
        let in_flight_at_end = next.in_flight_at_end;
        *self += *next;
        self.in_flight_at_start = in_flight_at_start;
        self.in_flight_at_end = in_flight_at_end;
    }
}

/// Adds the counts of another worker over the same interval.
impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.scheduled += other.scheduled;
        self.in_flight_at_start += other.in_flight_at_start;
        self.committed += other.committed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.timed_out += other.timed_out;
        self.in_doubt += other.in_doubt;
        self.never_started += other.never_started;
        self.in_flight_at_end += other.in_flight_at_end;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const OUTCOMES: [Outcome; 6] = [
        Outcome::Committed,
        Outcome::Failed,
        Outcome::Skipped,
        Outcome::TimedOut,
        Outcome::InDoubt,
        Outcome::NeverStarted,
    ];

    /// An interval in which `due` attempts joined those in flight and `outcomes` of them ended.
    fn interval(in_flight: u64, due: u64, outcomes: &[usize]) -> Counts {
        let mut counts = Counts { scheduled: due, in_flight_at_start: in_flight, ..Counts::default() };
        let ending = outcomes.len().min((in_flight + due) as usize);
        outcomes[..ending].iter().for_each(|&o| counts.record(OUTCOMES[o]));
        counts.in_flight_at_end = in_flight + due - ending as u64;
        counts
    }

    proptest! {
        #[test]
        fn balanced_intervals_stay_balanced_when_merged(
            due in prop::collection::vec((0u64..50, prop::collection::vec(0usize..6, 0..60)), 1..20)
        ) {
            let mut whole = Counts::default();
            for (scheduled, outcomes) in due {
                let next = interval(whole.in_flight_at_end, scheduled, &outcomes);
                prop_assert_eq!(next.check(), Ok(()));
                whole.then(&next);
                prop_assert_eq!(whole.check(), Ok(()));
            }
        }
    }

    #[test]
    fn a_lost_attempt_is_detected() {
        let counts = Counts { scheduled: 10, committed: 9, ..Counts::default() };
        assert_eq!(counts.check(), Err(Imbalance { due: 10, accounted: 9 }));
    }
}
