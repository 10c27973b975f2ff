//! What was measured: latencies and bytes by kind of operation, and counts by second.

use pgdyno_core::measure::{Latency, Precision};

use super::{
    cpu_time::CpuTime,
    operation::{Operation, OperationKind},
};

const KINDS: usize = OperationKind::ALL.len();
const SECOND_NS: u64 = 1_000_000_000;

/// Operations of one kind that ended in the measured interval.
#[derive(Debug, Clone, PartialEq)]
pub struct KindTally {
    /// From submission to completion, in nanoseconds.
    pub latency: Latency,
    /// Sum of the latencies in nanoseconds: the histogram knows them in steps of 64 ns at the least.
    pub total_ns: u64,
    /// Bytes read or written.
    pub bytes: u64,
}

impl Default for KindTally {
    fn default() -> Self {
        Self { latency: Latency::lazy(Precision::Run), total_ns: 0, bytes: 0 }
    }
}

/// What ended within one second, by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Second {
    operations: [u64; KINDS],
    bytes: [u64; KINDS],
}

impl Second {
    /// Operations of a kind that ended in it.
    pub fn operations(&self, kind: OperationKind) -> u64 {
        self.operations[kind as usize]
    }

    /// Bytes that operations of a kind, which ended in it, read or wrote.
    pub fn bytes(&self, kind: OperationKind) -> u64 {
        self.bytes[kind as usize]
    }
}

/// What was measured, of one thread or of several together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FileTally {
    kinds: [KindTally; KINDS],
    /// The seconds of the measured interval, in order; the last may be cut short.
    pub seconds: Vec<Second>,
    /// CPU time of the threads that submitted, in the measured interval.
    pub cpu: CpuTime,
}

impl FileTally {
    /// Operations of a kind.
    pub fn of(&self, kind: OperationKind) -> &KindTally {
        &self.kinds[kind as usize]
    }

    /// Number of operations of all kinds.
    pub fn operations(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.latency.count()).sum()
    }

    pub(super) fn add(&mut self, more: &Self) {
        for (sum, more) in self.kinds.iter_mut().zip(&more.kinds) {
            sum.latency.add(&more.latency);
            sum.total_ns += more.total_ns;
            sum.bytes += more.bytes;
        }
        self.seconds.resize(self.seconds.len().max(more.seconds.len()), Second::default());
        for (sum, more) in self.seconds.iter_mut().zip(&more.seconds) {
            (0..KINDS).for_each(|kind| {
                sum.operations[kind] += more.operations[kind];
                sum.bytes[kind] += more.bytes[kind];
            });
        }
        self.cpu.add(&more.cpu);
    }
}

/// Begin and end of the measured interval, in nanoseconds of the engine's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Measured {
    pub(super) begin_ns: u64,
    pub(super) end_ns: u64,
}

/// Records the operations of one thread. What ends outside of the measured interval is not counted.
#[derive(Debug)]
pub(super) struct TallyRecorder {
    tally: FileTally,
    measured: Measured,
    /// CPU time when the measured interval began.
    cpu_at_begin: Option<CpuTime>,
    now_ns: u64,
    second: Option<usize>,
}

impl TallyRecorder {
    pub(super) fn new(measured: Measured) -> Self {
        Self { tally: FileTally::default(), measured, cpu_at_begin: None, now_ns: 0, second: None }
    }

    /// Sets the time at which the next recorded operations ended.
    #[inline]
    pub(super) fn at(&mut self, now_ns: u64) {
        let Measured { begin_ns, end_ns } = self.measured;
        self.now_ns = now_ns;
        self.second = None;
        if now_ns < begin_ns || now_ns >= end_ns {
            return;
        }
        let second = ((now_ns - begin_ns) / SECOND_NS) as usize;
        if second >= self.tally.seconds.len() {
            self.cpu_at_begin.get_or_insert_with(CpuTime::of_this_thread);
            self.tally.seconds.resize(second + 1, Second::default());
        }
        self.second = Some(second);
    }

    #[inline]
    pub(super) fn record(&mut self, operation: &Operation, begun_ns: u64) {
        let Some(second) = self.second else { return };
        let (kind, bytes) = (operation.kind() as usize, u64::from(operation.bytes()));
        let of = &mut self.tally.kinds[kind];
        let latency_ns = self.now_ns.saturating_sub(begun_ns);
        of.latency.record(latency_ns);
        of.total_ns += latency_ns;
        of.bytes += bytes;
        let second = &mut self.tally.seconds[second];
        second.operations[kind] += 1;
        second.bytes[kind] += bytes;
    }

    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.now_ns >= self.measured.end_ns
    }

    /// What was recorded, with the CPU time until now.
    pub(super) fn finish(mut self) -> FileTally {
        if let Some(begin) = self.cpu_at_begin {
            self.tally.cpu = CpuTime::of_this_thread().since(&begin);
        }
        self.tally
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: Operation = Operation::Read { offset: 0, len: 8_192 };
    const MEASURED: Measured = Measured { begin_ns: 10 * SECOND_NS, end_ns: 12 * SECOND_NS };

    fn ended(times_ns: &[u64]) -> FileTally {
        let mut recorder = TallyRecorder::new(MEASURED);
        for &now_ns in times_ns {
            recorder.at(now_ns);
            recorder.record(&READ, now_ns.saturating_sub(5_000));
        }
        recorder.finish()
    }

    /// One before the measured interval, the first and last instants of each second, one after the interval.
    #[test]
    fn what_ends_in_the_measured_interval_counts_in_its_second() {
        let tally = ended(&[
            10,
            10 * SECOND_NS - 1,
            10 * SECOND_NS,
            11 * SECOND_NS - 1,
            12 * SECOND_NS - 1,
            12 * SECOND_NS,
        ]);
        let by_second: Vec<_> = tally.seconds.iter().map(|s| s.operations(OperationKind::Read)).collect();
        assert_eq!(by_second, [2, 1]);
        let reads = tally.of(OperationKind::Read);
        assert_eq!((reads.latency.count(), reads.bytes, tally.operations()), (3, 3 * 8_192, 3));
        assert_eq!(reads.total_ns, 3 * 5_000);
        assert_eq!(tally.of(OperationKind::Write), &KindTally::default());
    }

    #[test]
    fn tallies_of_threads_add_up() {
        let (mut sum, more) = (ended(&[10 * SECOND_NS]), ended(&[11 * SECOND_NS, 11 * SECOND_NS + 1]));
        sum.add(&more);
        let by_second: Vec<_> = sum.seconds.iter().map(|s| s.bytes(OperationKind::Read)).collect();
        assert_eq!((by_second, sum.operations()), (vec![8_192, 2 * 8_192], 3));
    }
}
