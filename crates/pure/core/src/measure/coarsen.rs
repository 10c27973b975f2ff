//! Limits the number of intervals that a run leaves behind.

use super::{Interval, Latency, SLOWEST, SlowAttempt, slowest_of};

/// Most intervals kept of one run of a cell: one hour at one per second.
pub const MAX_INTERVALS: usize = 3_600;

/// An interval, the histogram that its latency figures come from, and its slowest attempts.
#[derive(Debug, Clone, PartialEq)]
pub struct Slice {
    /// Figures of the interval.
    pub interval: Interval,
    /// Latencies of its committed attempts.
    pub latency: Latency,
    /// Slowest attempts of the interval, the slowest first.
    pub slowest: Vec<SlowAttempt>,
}

impl Slice {
    /// A slice with latency figures from the histogram.
    pub fn new(mut interval: Interval, latency: Latency, slowest: Vec<SlowAttempt>) -> Self {
        interval.latency = latency.summary();
        Self { interval, latency, slowest }
    }

    /// Whether `next` continues this slice: the same run, both warm-up or both not.
    pub fn continued_by(&self, next: &Self) -> bool {
        self.interval.run == next.interval.run && self.interval.warm_up == next.interval.warm_up
    }

    /// Appends the slice that follows. Counts add up, percentiles come from the added histograms, and the slowest
    /// attempts of both are merged.
    pub fn append(&mut self, next: &Self) {
        self.interval.counts.then(&next.interval.counts);
        let end_ns = next.interval.start_ns + next.interval.duration_ns;
        self.interval.duration_ns = end_ns.saturating_sub(self.interval.start_ns);
        self.latency.add(&next.latency);
        self.interval.latency = self.latency.summary();
        let both = std::mem::take(&mut self.slowest).into_iter().chain(next.slowest.iter().cloned());
        self.slowest = slowest_of(both, SLOWEST);
    }
}

/// Merges the intervals of one run so that their number stays below a limit; each becomes 1, 2, 4, … times as long as
/// the incoming ones.
///
/// It holds one slice at a time. When [`Self::is_full`], the caller halves what it has written by merging
/// neighbours ([`Merger`]) and reports that with [`Self::halved`]; later intervals are then twice as long.
#[derive(Debug, Clone)]
pub struct Coarsener {
    limit: usize,
    factor: u64,
    written: usize,
    merger: Merger,
}

impl Coarsener {
    /// Keeps at most `limit` slices, at least 2.
    pub fn new(limit: usize) -> Self {
        Self { limit: limit.max(2), factor: 1, written: 0, merger: Merger::new(1) }
    }

    /// Number of incoming intervals merged into one: a power of two.
    pub fn factor(&self) -> u64 {
        self.factor
    }

    /// Takes the next slice and returns finished ones, in order.
    pub fn push(&mut self, slice: Slice) -> Vec<Slice> {
        let out = self.merger.push(slice);
        self.written += out.len();
        out
    }

    /// Returns the pending slice, at the end of a run.
    pub fn finish(&mut self) -> Option<Slice> {
        let rest = self.merger.finish();
        self.written += usize::from(rest.is_some());
        rest
    }

    /// Whether the next slice would exceed the limit.
    pub fn is_full(&self) -> bool {
        self.written >= self.limit
    }

    /// Reports that what was written has been halved to `left` slices.
    pub fn halved(&mut self, left: usize) {
        self.written = left;
        self.factor *= 2;
        self.merger.factor = self.factor;
    }
}

/// Merges groups of `factor` consecutive slices. Slices of different runs, or on different sides of the end of the
/// warm-up, are never merged.
#[derive(Debug, Clone)]
pub struct Merger {
    factor: u64,
    held: Option<(Slice, u64)>,
}

impl Merger {
    /// Merges groups of `factor` slices, at least 1.
    pub fn new(factor: u64) -> Self {
        Self { factor: factor.max(1), held: None }
    }

    /// Takes the next slice and returns finished ones, in order.
    pub fn push(&mut self, slice: Slice) -> Vec<Slice> {
        let mut out = Vec::new();
        match self.held.take() {
            Some((mut held, joined)) if held.continued_by(&slice) => {
                held.append(&slice);
                self.held = Some((held, joined + 1));
            }
            before => {
                out.extend(before.map(|(held, _)| held));
                self.held = Some((slice, 1));
            }
        }
        if self.held.as_ref().is_some_and(|(_, joined)| *joined >= self.factor) {
            out.extend(self.finish());
        }
        out
    }

    /// Returns the pending slice.
    pub fn finish(&mut self) -> Option<Slice> {
        self.held.take().map(|(held, _)| held)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::measure::{Counts, Precision};

    fn attempt(end_ns: u64, latency_ns: u64) -> SlowAttempt {
        SlowAttempt {
            ended_at: String::new(),
            at_s: 0.0,
            scheduled_ns: end_ns - latency_ns.min(end_ns),
            begin_ns: end_ns - latency_ns.min(end_ns),
            end_ns,
            latency_ns,
            lag_ns: 0,
            service_ns: latency_ns,
            client: 0,
            backend_pid: None,
            script: String::new(),
            statement: None,
            statement_begin_ns: None,
            statement_ns: None,
            driver_waited_ns: None,
        }
    }

    fn slice(second: u64, warm_up: bool, commits: u64) -> Slice {
        let mut latency = Latency::new(Precision::Interval);
        (0..commits).for_each(|i| latency.record(100_000 + i * 1_000));
        let counts = Counts { scheduled: commits, committed: commits, ..Counts::default() };
        let interval = Interval {
            run: 0,
            start_ns: second * 1_000_000_000,
            duration_ns: 1_000_000_000,
            warm_up,
            counts,
            latency: None,
        };
        // One attempt per second, each of another length.
        let attempt = attempt(second * 1_000_000_000, second * 7_919 % 1_000);
        Slice::new(interval, latency, vec![attempt])
    }

    /// Simulates a writer: appends, and halves what was written whenever it is full.
    fn keep(limit: usize, slices: impl Iterator<Item = Slice>) -> Vec<Slice> {
        let mut coarsener = Coarsener::new(limit);
        let mut kept = Vec::new();
        for slice in slices {
            kept.extend(coarsener.push(slice));
            if coarsener.is_full() {
                let mut merger = Merger::new(2);
                kept = kept.drain(..).flat_map(|s| merger.push(s)).collect();
                kept.extend(merger.finish());
                coarsener.halved(kept.len());
            }
        }
        kept.extend(coarsener.finish());
        kept
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_the_limit_is_kept(
            seconds in 1u64..120, warm_up in 0u64..5, limit in 8usize..20
        ) {
            let kept = keep(limit, (0..seconds).map(|s| slice(s, s < warm_up, s % 7)));
            prop_assert!(kept.len() <= limit);
            let committed: u64 = kept.iter().map(|s| s.interval.counts.committed).sum();
            prop_assert_eq!(committed, (0..seconds).map(|s| s % 7).sum::<u64>());
            prop_assert_eq!(kept.iter().map(|s| s.latency.count()).sum::<u64>(), committed);
            let mut at = 0;
            for slice in &kept {
                let within = at..at + slice.interval.duration_ns;
                let ends = (0..seconds).map(|s| s * 1_000_000_000).filter(|end_ns| within.contains(end_ns));
                let all = ends.map(|end_ns| attempt(end_ns, end_ns / 1_000_000_000 * 7_919 % 1_000));
                prop_assert_eq!(&slice.slowest, &slowest_of(all, SLOWEST));
                prop_assert_eq!(slice.interval.start_ns, at);
                prop_assert_eq!(slice.interval.warm_up, at < warm_up * 1_000_000_000);
                at += slice.interval.duration_ns;
            }
            prop_assert_eq!(at, seconds * 1_000_000_000);
        }
    }

    #[test]
    fn short_runs_are_not_merged() {
        let slices: Vec<_> = (0..10).map(|s| slice(s, false, 3)).collect();
        assert_eq!(keep(MAX_INTERVALS, slices.clone().into_iter()), slices);
    }
}
