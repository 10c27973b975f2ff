//! Slots in turn within one long run, for differences of a few per cent.
//!
//! Both programs hold their connections for the whole run, and only one of them is awake at a time. Neighbouring slots
//! make a pair, and the ratio of every pair is one observation.

use std::ops::Range;

use crate::measure::Arm;

/// How a run is cut into slots.
#[derive(Debug, Clone, Copy)]
pub struct Slots {
    /// Number of slots.
    pub count: u32,
    /// Length of a slot in seconds.
    pub length_s: u32,
}

/// A slot, in whole seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Whose it is.
    pub arm: Arm,
    /// When that program is woken.
    pub wake_s: u64,
    /// From when on it counts: what was under way when it was put to sleep, and caches, are over by then.
    pub from_s: u64,
    /// When it ends.
    pub to_s: u64,
}

impl Slots {
    /// The slots of a run from this second on, in the order ABBA ABBA …: each pair of neighbours has both programs, and
    /// neither is always the first.
    pub fn turns(self, start_s: u64) -> impl Iterator<Item = Turn> {
        (0..self.count).map(move |at| {
            let arm = if matches!(at % 4, 0 | 3) { Arm::A } else { Arm::B };
            let wake_s = start_s + u64::from(at * self.length_s);
            Turn { arm, wake_s, from_s: wake_s + 1, to_s: wake_s + u64::from(self.length_s) }
        })
    }

    /// Length of all slots in seconds.
    pub fn seconds(self) -> u32 {
        self.count * self.length_s
    }
}

/// Committed transactions in a stretch of time, in nanoseconds since 1970.
#[derive(Debug, Clone, PartialEq)]
pub struct Count {
    /// The stretch.
    pub span_ns: Range<u64>,
    /// Transactions that ended in it.
    pub committed: u64,
}

/// Transactions per second over the counts that lie wholly within a turn; `None` where none does.
pub fn rate_within(counts: &[Count], turn: &Turn) -> Option<f64> {
    let window = turn.from_s * 1_000_000_000..turn.to_s * 1_000_000_000;
    let within = counts.iter().filter(|c| c.span_ns.start >= window.start && c.span_ns.end <= window.end);
    let (committed, length_ns) =
        within.fold((0, 0), |(sum, length), c| (sum + c.committed, length + c.span_ns.end - c.span_ns.start));
    (length_ns > 0).then(|| committed as f64 * 1e9 / length_ns as f64)
}

/// Two neighbours of different arms, given as (A, B) whatever their order in time; `None` where they are one arm's.
pub fn in_order<T>(one: (Arm, T), other: (Arm, T)) -> Option<(T, T)> {
    match (one, other) {
        ((Arm::A, a), (Arm::B, b)) | ((Arm::B, b), (Arm::A, a)) => Some((a, b)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURN: Turn = Turn { arm: Arm::B, wake_s: 9, from_s: 10, to_s: 12 };

    #[test]
    fn neighbours_are_a_pair_in_alternating_order() {
        let turns: Vec<Turn> = Slots { count: 8, length_s: 3 }.turns(100).collect();
        let order: String = turns.iter().map(|turn| turn.arm.letter()).collect();
        assert_eq!(order, "ABBAABBA");
        assert_eq!(turns[1], Turn { arm: Arm::B, wake_s: 103, from_s: 104, to_s: 106 });
        assert!(turns.windows(2).all(|two| two[0].to_s == two[1].wake_s));
    }

    #[test]
    fn only_what_lies_wholly_within_a_turn_counts() {
        let count = |from_ms: u64, to_ms: u64, committed| Count {
            span_ns: from_ms * 1_000_000..to_ms * 1_000_000,
            committed,
        };
        let counts = [count(9_950, 10_050, 50), count(10_050, 10_150, 10), count(11_850, 11_950, 30)];
        assert_eq!(rate_within(&counts, &TURN), Some(200.0));
        assert_eq!(rate_within(&[count(11_950, 12_050, 90)], &TURN), None);
    }

    #[test]
    fn pairs_put_a_first() {
        assert_eq!(in_order((Arm::B, 2), (Arm::A, 1)), Some((1, 2)));
        assert_eq!(in_order((Arm::A, 1), (Arm::B, 2)), Some((1, 2)));
        assert_eq!(in_order((Arm::A, 1), (Arm::A, 2)), None);
    }
}
