//! What became of the attempts of one worker, interval by interval.

use std::sync::mpsc::{Receiver, Sender};

use pgdyno_core::measure::{Counts, Latency, Outcome, Precision};

use crate::{Clock, ErrorTally};

/// One attempt: `scheduled ≤ begin ≤ end` (invariant 4). In a closed loop scheduled = begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Attempt {
    pub(crate) scheduled_ns: u64,
    pub(crate) begin_ns: u64,
}

/// What a part of a run is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Before the measured interval.
    WarmUp,
    /// The measured interval.
    Measured,
    /// After it: attempts under way end, none begins.
    Drain,
}

/// The instants of a run on the engine's clock, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeline {
    /// When the first attempts are due.
    pub start_ns: u64,
    /// When the measured interval begins.
    pub measure_ns: u64,
    /// When it ends, and with it the schedule.
    pub end_ns: u64,
    /// Length of the intervals that are reported.
    pub interval_ns: u64,
}

impl Timeline {
    /// The phase that an instant belongs to.
    pub fn phase(&self, at_ns: u64) -> Phase {
        if at_ns < self.measure_ns {
            Phase::WarmUp
        } else if at_ns < self.end_ns {
            Phase::Measured
        } else {
            Phase::Drain
        }
    }

    /// The end of the interval that begins at `start_ns`: intervals never reach over the edge of a phase, and the
    /// drain is one interval.
    fn boundary_after(&self, start_ns: u64) -> u64 {
        let edge = match self.phase(start_ns) {
            Phase::WarmUp => self.measure_ns,
            Phase::Measured => self.end_ns,
            Phase::Drain => return u64::MAX,
        };
        (start_ns + self.interval_ns).min(edge)
    }
}

/// One interval of one worker.
#[derive(Debug)]
pub struct IntervalReport {
    /// Number of the interval, from 0, the same for all workers.
    pub index: u32,
    /// Its phase.
    pub phase: Phase,
    /// Start in nanoseconds of the engine's clock.
    pub start_ns: u64,
    /// Length in nanoseconds.
    pub duration_ns: u64,
    /// Attempts.
    pub counts: Counts,
    /// Latency of the attempts that committed within the interval.
    pub latency: Latency,
    /// Processor time of the worker within the interval, in nanoseconds.
    pub cpu_ns: u64,
    /// Whether it is the worker's last.
    pub last: bool,
}

/// What one worker measured over its whole run.
#[derive(Debug)]
pub struct WorkerReport {
    /// Latency (end − scheduled) of the committed attempts that were under way in the measured interval: those that
    /// ended in it or, in flight at its end, in the drain. The slowest are not cut off.
    pub latency: Latency,
    /// Lag (begin − scheduled) of the same attempts; empty in a closed loop.
    pub lag: Latency,
    /// Latency of every statement of the script from the start of the measured interval on.
    pub statements: Vec<Latency>,
    /// Errors of the whole run.
    pub errors: ErrorTally,
    /// Clients whose connection was lost or given up.
    pub clients_lost: u32,
}

/// Counts what one worker does. Intervals are handed to the collecting thread as they end; their histograms come
/// back emptied, so that the hot path allocates nothing.
#[derive(Debug)]
pub(crate) struct Recorder {
    timeline: Timeline,
    open_loop: bool,
    counts: Counts,
    interval: Latency,
    index: u32,
    start_ns: u64,
    boundary_ns: u64,
    cpu_ns: u64,
    in_flight: u64,
    latency: Latency,
    lag: Latency,
    worker: usize,
    reports: Sender<(usize, IntervalReport)>,
    spares: Receiver<Latency>,
}

impl Recorder {
    pub(crate) fn new(
        timeline: Timeline,
        open_loop: bool,
        worker: usize,
        reports: Sender<(usize, IntervalReport)>,
        spares: Receiver<Latency>,
    ) -> Self {
        Self {
            timeline,
            open_loop,
            counts: Counts::default(),
            interval: Latency::new(Precision::Interval),
            index: 0,
            start_ns: timeline.start_ns,
            boundary_ns: timeline.boundary_after(timeline.start_ns),
            cpu_ns: Clock::thread_cpu_ns(),
            in_flight: 0,
            latency: Latency::new(Precision::Run),
            lag: Latency::new(Precision::Run),
            worker,
            reports,
            spares,
        }
    }

    /// When the interval under way ends.
    #[inline]
    pub(crate) fn boundary_ns(&self) -> u64 {
        self.boundary_ns
    }

    /// Whether the warm-up is over.
    pub(crate) fn measuring(&self) -> bool {
        self.timeline.phase(self.start_ns) != Phase::WarmUp
    }

    /// Counts attempts that fell due.
    #[inline]
    pub(crate) fn due(&mut self, count: u64) {
        self.counts.scheduled += count;
        self.in_flight += count;
    }

    /// Counts an attempt that ended.
    #[inline]
    pub(crate) fn ended(&mut self, attempt: Attempt, end_ns: u64, outcome: Outcome) {
        self.in_flight -= 1;
        self.counts.record(outcome);
        if outcome != Outcome::Committed {
            return;
        }
        debug_assert!(attempt.scheduled_ns <= attempt.begin_ns && attempt.begin_ns <= end_ns);
        let latency_ns = end_ns.saturating_sub(attempt.scheduled_ns);
        self.interval.record(latency_ns);
        if end_ns >= self.timeline.measure_ns {
            self.latency.record(latency_ns);
            if self.open_loop {
                self.lag.record(attempt.begin_ns - attempt.scheduled_ns);
            }
        }
    }

    /// Counts attempts that fell due and that no client was free to begin.
    pub(crate) fn never_started(&mut self, count: u64) {
        self.in_flight -= count;
        self.counts.never_started += count;
    }

    /// Closes every interval that ended at or before `now_ns`.
    pub(crate) fn roll(&mut self, now_ns: u64) {
        while now_ns >= self.boundary_ns {
            self.close(self.boundary_ns, false);
        }
    }

    fn close(&mut self, end_ns: u64, last: bool) {
        self.counts.in_flight_at_end = self.in_flight;
        let next = Counts { in_flight_at_start: self.in_flight, ..Counts::default() };
        let empty = self.spares.try_recv().unwrap_or_else(|_| Latency::new(Precision::Interval));
        let cpu_ns = Clock::thread_cpu_ns();
        let report = IntervalReport {
            index: self.index,
            phase: self.timeline.phase(self.start_ns),
            start_ns: self.start_ns,
            duration_ns: end_ns - self.start_ns,
            counts: std::mem::replace(&mut self.counts, next),
            latency: std::mem::replace(&mut self.interval, empty),
            cpu_ns: cpu_ns - self.cpu_ns,
            last,
        };
        self.cpu_ns = cpu_ns;
        self.index += 1;
        self.start_ns = end_ns;
        self.boundary_ns = self.timeline.boundary_after(end_ns);
        // The collecting thread goes away only when the run is given up: then nobody wants the report.
        let _ = self.reports.send((self.worker, report));
    }

    /// Closes the last interval and gives what was measured over the whole run.
    pub(crate) fn finish(mut self, now_ns: u64) -> (Latency, Latency) {
        self.roll(now_ns);
        self.close(now_ns.max(self.start_ns), true);
        (self.latency, self.lag)
    }
}
