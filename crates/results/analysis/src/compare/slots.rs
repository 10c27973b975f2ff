//! Alternating slots within one long run, for differences of a few per cent.
//!
//! All arms keep their connections for the whole run, and only one of them runs at a time. A round is one slot of every
//! arm; the ratio of two arms within a round is one observation. `ab --slots` drives its slots itself, as runs; apart
//! from the order, this module cuts the slots of other programs out of what they count.

use std::ops::Range;

use super::order::in_round;

/// Counted time of a slot unless another is requested, in milliseconds.
pub const COUNTED_MS: u64 = 2_000;
/// Time ignored before it unless more is requested, in milliseconds.
pub const DROPPED_MS: u64 = 500;
/// Slots of each arm from one start of the servers to the next.
pub const BLOCKS_PER_START: u32 = 4;

/// Tolerated delay of a count that is taken once a second, so that it still belongs to its second.
const LATE_NS: u64 = 150_000_000;
/// Tolerated delay of the first count, from which the times of all others are derived.
const FIRST_LATE_NS: u64 = 50_000_000;
const SECOND_NS: u64 = 1_000_000_000;

/// Division of a run into slots.
#[derive(Debug, Clone, Copy)]
pub struct Slots {
    /// Number of arms, at least 2.
    pub arms: usize,
    /// Rounds of one slot of every arm.
    pub rounds: u32,
    /// Time ignored at the beginning of a slot in nanoseconds, for transactions that were in progress when the arm was
    /// stopped, and for cold caches.
    pub dropped_ns: u64,
    /// Counted time of a slot in nanoseconds.
    pub counted_ns: u64,
}

/// Times at which an arm's transactions are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grid {
    /// Continuously.
    Fine,
    /// Once a second: at this time in nanoseconds since 1970, and at every multiple of a second before and after it.
    Seconds(u64),
}

/// The counted part of a slot, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Begin of the window.
    pub from_ns: u64,
    /// End of the window and of the slot.
    pub to_ns: u64,
}

impl Slots {
    /// The indexes of the arms of all slots: ABC CBA BCA ACB CAB BAC; with two arms AB BA BA AB. Over twice as many
    /// rounds as there are arms, each arm is in every position, and right after every other arm, equally often (the
    /// design of Williams, see [`in_round`]); a linear drift cancels over every two rounds.
    pub fn order(self) -> impl Iterator<Item = usize> {
        (0..self.rounds as usize).flat_map(move |round| in_round(self.arms, round))
    }

    /// The counted part of a slot whose arm is continued at this time. For counts once a second it begins at the first
    /// count after the ignored time, so that no second is lost.
    pub fn window(self, wake_ns: u64, grid: Grid) -> Window {
        let earliest_ns = wake_ns + self.dropped_ns;
        match grid {
            Grid::Fine => Window { from_ns: earliest_ns, to_ns: earliest_ns + self.counted_ns },
            Grid::Seconds(instant_ns) => {
                let wait_ns = (instant_ns % SECOND_NS + SECOND_NS - earliest_ns % SECOND_NS) % SECOND_NS;
                let at_ns = earliest_ns + wait_ns;
                Window { from_ns: at_ns - FIRST_LATE_NS, to_ns: at_ns + self.counted_ns + LATE_NS }
            }
        }
    }

    /// Mean length of a slot in nanoseconds.
    pub fn mean_slot_ns(self, grid: Grid) -> u64 {
        let wait_ns = if grid == Grid::Fine { 0 } else { SECOND_NS / 2 + LATE_NS };
        self.dropped_ns + self.counted_ns + wait_ns
    }
}

/// Committed transactions in a period, in nanoseconds since 1970.
#[derive(Debug, Clone, PartialEq)]
pub struct Count {
    /// The period.
    pub span_ns: Range<u64>,
    /// Transactions that ended in the period.
    pub committed: u64,
}

/// Transactions per second over the counts whose periods lie within a window; `None` without one.
pub fn rate_within(counts: &[Count], window: Window) -> Option<f64> {
    let is_within = |c: &&Count| c.span_ns.start >= window.from_ns && c.span_ns.end <= window.to_ns;
    let within = counts.iter().filter(is_within);
    let (committed, length_ns) =
        within.fold((0, 0), |(sum, length), c| (sum + c.committed, length + c.span_ns.end - c.span_ns.start));
    (length_ns > 0).then(|| committed as f64 * 1e9 / length_ns as f64)
}

/// The pairs of two arms, one per round in which both have a value. `slots` are the values of all slots in the
/// order of [`Slots::order`], with their arms.
pub fn pairs<T: Copy>(slots: &[(usize, Option<T>)], arms: usize, one: usize, other: usize) -> Vec<(T, T)> {
    let of = |round: &[(usize, Option<T>)], arm| round.iter().find(|slot| slot.0 == arm)?.1;
    slots.chunks_exact(arms).filter_map(|round| of(round, one).zip(of(round, other))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn slots(arms: usize, rounds: u32) -> Slots {
        Slots { arms, rounds, dropped_ns: 500 * MS, counted_ns: 2_000 * MS }
    }

    fn order(arms: usize, rounds: u32) -> String {
        slots(arms, rounds).order().map(|arm| ['A', 'B', 'C', 'D'][arm]).collect()
    }

    #[test]
    fn rounds_are_turned_round_and_begin_elsewhere() {
        assert_eq!(order(2, 4), "ABBABAAB");
        assert_eq!(order(3, 6), "ABCCBABCAACBCABBAC");
    }

    #[test]
    fn every_arm_is_everywhere_and_a_drift_favours_none() {
        for arms in 2..5 {
            let all: Vec<usize> = slots(arms, 2 * arms as u32).order().collect();
            for arm in 0..arms {
                let places =
                    (0..arms).map(|at| all.iter().skip(at).step_by(arms).filter(|of| **of == arm).count());
                assert!(places.into_iter().all(|count| count == 2), "{arm} of {arms}");
                let when: usize =
                    all.iter().enumerate().filter(|(_, of)| **of == arm).map(|(at, _)| at).sum();
                assert_eq!(when * arms, (0..all.len()).sum::<usize>(), "{arm} of {arms}");
            }
        }
    }

    #[test]
    fn what_is_counted_at_any_time_counts_at_once() {
        let window = slots(2, 1).window(10_000 * MS, Grid::Fine);
        assert_eq!(window, Window { from_ns: 10_500 * MS, to_ns: 12_500 * MS });
    }

    /// Whenever the arm is continued within the second, two whole seconds lie in the window, also with late counts, and
    /// earlier counts do not.
    #[test]
    fn what_is_counted_once_a_second_loses_none_of_its_seconds() {
        let first_seen_ns = 7_300 * MS;
        for wake_ns in (20_000..21_000).step_by(7).map(|ms| ms * MS) {
            let window = slots(3, 1).window(wake_ns, Grid::Seconds(first_seen_ns));
            for late_ns in [0, 120 * MS] {
                let instants = (0..30).map(|nth| (nth * 1_000 + 280) * MS + late_ns);
                let spans: Vec<_> = instants.clone().zip(instants.skip(1)).collect();
                let count = |&(start, end): &(u64, u64)| Count { span_ns: start..end, committed: 100 };
                let counts: Vec<Count> = spans.iter().map(count).collect();
                let within = spans.iter().filter(|span| span.0 >= window.from_ns && span.1 <= window.to_ns);
                assert_eq!(within.clone().count(), 2, "woken at {wake_ns}, late by {late_ns}");
                assert!(within.clone().all(|span| span.0 + 50 * MS >= wake_ns + 500 * MS));
                assert_eq!(rate_within(&counts, window), Some(100.0));
            }
        }
    }

    #[test]
    fn only_what_lies_wholly_within_counts() {
        let count =
            |from_ms: u64, to_ms: u64, committed| Count { span_ns: from_ms * MS..to_ms * MS, committed };
        let counts = [count(9_950, 10_050, 50), count(10_050, 10_150, 10), count(11_850, 11_950, 30)];
        let window = Window { from_ns: 10_000 * MS, to_ns: 12_000 * MS };
        assert_eq!(rate_within(&counts, window), Some(200.0));
        assert_eq!(rate_within(&[count(11_950, 12_050, 90)], window), None);
    }

    #[test]
    fn pairs_are_of_one_round_and_in_the_order_asked_for() {
        let slots = [(0, Some(1)), (1, Some(2)), (2, Some(3)), (2, Some(30)), (1, None), (0, Some(10))];
        assert_eq!(pairs(&slots, 3, 2, 0), [(3, 1), (30, 10)]);
        assert_eq!(pairs(&slots, 3, 0, 1), [(1, 2)], "a slot without a value has no pair");
        assert_eq!(pairs(&slots[..5], 3, 0, 2), [(1, 3)], "a round that was cut short has none");
    }
}
