//! What was counted in a slot, and slots in pairs.

use std::collections::BTreeMap;

use pgdyno_core::{
    analysis::compare::slots::{Count, in_order},
    measure::Arm,
};

use crate::Failure;

/// Reads what the example `drive` prints: `interval UNIX_NS DURATION_NS COMMITTED`.
pub fn of_drive(text: &str) -> Vec<Count> {
    let count = |line: &str| {
        let mut numbers = line.strip_prefix("interval ")?.split(' ').map(|word| word.parse::<u64>().ok());
        let (start, length, committed) = (numbers.next()??, numbers.next()??, numbers.next()??);
        Some(Count { span_ns: start..start + length, committed })
    };
    text.lines().filter_map(count).collect()
}

/// Reads pgbench's logs under `--aggregate-interval=1`, one a thread: the second and its transactions come first.
pub fn of_pgbench(text: &str) -> Vec<Count> {
    const SECOND_NS: u64 = 1_000_000_000;
    let mut seconds = BTreeMap::new();
    for line in text.lines() {
        let mut numbers = line.split(' ').map_while(|word| word.parse::<u64>().ok());
        if let (Some(second), Some(committed)) = (numbers.next(), numbers.next()) {
            *seconds.entry(second).or_insert(0) += committed;
        }
    }
    let span_ns = |second: u64| second * SECOND_NS..(second + 1) * SECOND_NS;
    seconds.into_iter().map(|(second, committed)| Count { span_ns: span_ns(second), committed }).collect()
}

/// What one slot came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slot {
    /// Whose it was: A is pgdyno's driver, B is pgbench.
    pub arm: Arm,
    /// Transactions per second.
    pub tps: f64,
    /// Share of the time that the program was on a processor; above 1 for several threads.
    pub busy: f64,
}

/// Two neighbouring slots, pgdyno's first whatever their order in time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// Transactions per second.
    pub tps: (f64, f64),
    /// Processor time in nanoseconds per transaction.
    pub cpu_ns: (f64, f64),
}

/// Slots 0 and 1, 2 and 3, and so on.
///
/// # Errors
/// Where two neighbours are the same program's.
pub fn of(slots: &[Slot]) -> Result<Vec<Pair>, Failure> {
    let cpu_ns = |slot: &Slot| slot.busy * 1e9 / slot.tps;
    let pair = |two: &[Slot]| {
        let (a, b) = in_order((two[0].arm, &two[0]), (two[1].arm, &two[1]))
            .ok_or("two neighbouring slots belong to one program")?;
        Ok(Pair { tps: (a.tps, b.tps), cpu_ns: (cpu_ns(a), cpu_ns(b)) })
    };
    slots.chunks_exact(2).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use pgdyno_core::analysis::compare::slots::{Turn, rate_within as tps};

    use super::*;

    const TURN: Turn = Turn { arm: Arm::B, wake_s: 9, from_s: 10, to_s: 12 };

    #[test]
    fn pgbench_seconds_of_all_threads_are_summed_and_the_first_is_dropped() {
        let one = "9 7 1 1 1 1\n10 100 1 1 1 1\n11 300 5 5 5 5\n12 9 1 1 1 1\n";
        let counts = of_pgbench(one);
        assert_eq!(tps(&counts, &TURN), Some(200.0));
        let two = of_pgbench(&one.repeat(2));
        assert_eq!(tps(&two, &TURN), Some(400.0));
        assert_eq!(tps(&counts[..1], &TURN), None);
    }

    #[test]
    fn only_whole_intervals_of_the_driver_count() {
        let text = "interval 9950000000 100000000 50\ninterval 10050000000 100000000 10\n\
                    interval 11850000000 100000000 30\ninterval 11950000000 100000000 90\ntotal 180 0 5\n";
        // Two intervals of 0.1 s lie within; those across an edge do not.
        assert_eq!(tps(&of_drive(text), &TURN), Some(200.0));
    }

    #[test]
    fn pairs_put_pgdyno_first() {
        let slot = |arm, tps| Slot { arm, tps, busy: 0.5 };
        let (a, b) = (slot(Arm::A, 1e6), slot(Arm::B, 2e6));
        let pair = Pair { tps: (1e6, 2e6), cpu_ns: (500.0, 250.0) };
        assert_eq!(of(&[a, b, b, a]).expect("pairs"), [pair, pair]);
        assert!(of(&[a, a]).is_err());
    }
}
