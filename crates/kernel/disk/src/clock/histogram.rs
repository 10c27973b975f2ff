//! Counts differences between successive readings of a clock.

use pgdyno_core::disk::clock::{ClockBucket, EXACT_BELOW_NS};

/// Number of powers of two from [`EXACT_BELOW_NS`] on.
const POWERS: usize = (u64::BITS - EXACT_BELOW_NS.trailing_zeros()) as usize;
/// A microsecond in nanoseconds.
const MICROSECOND_NS: usize = 1_000;

/// Differences by nanosecond below 1024 ns, and by power of two above; steps back by their number and the longest one.
pub(super) struct Differences {
    exact: Box<[u64; EXACT_BELOW_NS as usize]>,
    powers: [u64; POWERS],
    pub(super) max_ns: u64,
    pub(super) backwards: u64,
    pub(super) max_backwards_ns: Option<u64>,
}

impl Differences {
    pub(super) fn new() -> Self {
        let exact = Box::new([0; EXACT_BELOW_NS as usize]);
        Self { exact, powers: [0; POWERS], max_ns: 0, backwards: 0, max_backwards_ns: None }
    }

    /// Counts the difference of a reading to the one before, both in nanoseconds.
    #[inline]
    pub(super) fn count(&mut self, before_ns: u64, now_ns: u64) {
        match now_ns.checked_sub(before_ns) {
            Some(difference_ns) => {
                self.max_ns = self.max_ns.max(difference_ns);
                match self.exact.get_mut(difference_ns as usize) {
                    Some(count) => *count += 1,
                    None => self.powers[power(difference_ns)] += 1,
                }
            }
            None => self.count_back(before_ns - now_ns),
        }
    }

    #[cold]
    fn count_back(&mut self, step_ns: u64) {
        self.backwards += 1;
        self.max_backwards_ns = self.max_backwards_ns.max(Some(step_ns));
    }

    /// The buckets that are not empty, in rising order.
    pub(super) fn buckets(&self) -> Vec<ClockBucket> {
        let exact = (0..).zip(self.exact.iter()).map(|(ns, &count)| (ns, ns, count));
        let powers = (0..).zip(self.powers).map(|(power, count)| {
            let from_ns = EXACT_BELOW_NS << power;
            (from_ns, from_ns - 1 + from_ns, count)
        });
        exact
            .chain(powers)
            .filter(|(.., count)| *count > 0)
            .map(|(from_ns, to_ns, count)| ClockBucket { from_ns, to_ns, count })
            .collect()
    }

    /// Share of the differences that are shorter than 1 µs; steps back are none.
    pub(super) fn below_1us_share(&self) -> f64 {
        let all = self.exact.iter().chain(&self.powers).sum::<u64>() + self.backwards;
        self.exact[..MICROSECOND_NS].iter().sum::<u64>() as f64 / all.max(1) as f64
    }

    /// The shortest difference above 0 in nanoseconds, exact below 1024 ns; `None` if there is none.
    pub(super) fn resolution_ns(&self) -> Option<u64> {
        self.buckets().iter().map(|bucket| bucket.from_ns).find(|from_ns| *from_ns > 0)
    }
}

/// Index of the power of two of a difference of at least [`EXACT_BELOW_NS`].
fn power(difference_ns: u64) -> usize {
    (difference_ns.ilog2() - EXACT_BELOW_NS.ilog2()) as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Readings whose differences have every magnitude, some of them negative.
    fn readings() -> impl Strategy<Value = Vec<u64>> {
        let step = (0.0f64..40.0, prop::bool::weighted(0.05)).prop_map(|(magnitude, back)| {
            let ns = magnitude.exp2() as i64 - 1;
            if back { -ns } else { ns }
        });
        prop::collection::vec(step, 1..200).prop_map(|steps| {
            let sum = |at: &mut u64, step: i64| {
                *at = at.checked_add_signed(step)?;
                Some(*at)
            };
            steps.into_iter().scan(1 << 50, sum).collect()
        })
    }

    proptest! {
        #[test]
        fn every_difference_is_in_its_bucket(readings in readings()) {
            let mut differences = Differences::new();
            readings.windows(2).for_each(|pair| differences.count(pair[0], pair[1]));
            let steps: Vec<i64> = readings.windows(2).map(|pair| pair[1] as i64 - pair[0] as i64).collect();
            let forward: Vec<u64> = steps.iter().filter(|step| **step >= 0).map(|step| *step as u64).collect();
            for ClockBucket { from_ns, to_ns, count } in differences.buckets() {
                let inside = forward.iter().filter(|ns| (from_ns..=to_ns).contains(ns)).count();
                prop_assert_eq!(inside as u64, count);
                let end_ns = if from_ns < EXACT_BELOW_NS { from_ns } else { 2 * from_ns - 1 };
                prop_assert_eq!(to_ns, end_ns);
            }
            let counted: u64 = differences.buckets().iter().map(|bucket| bucket.count).sum();
            prop_assert_eq!(counted, forward.len() as u64);
            prop_assert_eq!(differences.max_ns, forward.iter().copied().max().unwrap_or(0));
            prop_assert_eq!(differences.backwards as usize, steps.len() - forward.len());
            let back = steps.iter().filter(|step| **step < 0).map(|step| step.unsigned_abs()).max();
            prop_assert_eq!(differences.max_backwards_ns, back);
            let short = forward.iter().filter(|ns| **ns < 1_000).count();
            prop_assert_eq!(differences.below_1us_share(), short as f64 / steps.len().max(1) as f64);
        }
    }

    #[test]
    fn the_resolution_is_the_shortest_step() {
        let mut differences = Differences::new();
        assert_eq!(differences.resolution_ns(), None);
        differences.count(5, 5);
        assert_eq!(differences.resolution_ns(), None);
        [5_000, 1_000, 40, 39, 70].iter().for_each(|ns| differences.count(0, *ns));
        assert_eq!(differences.resolution_ns(), Some(39));
    }
}
