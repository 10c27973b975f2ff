//! What became of the attempts of one worker, interval by interval.

use std::sync::mpsc::{Receiver, Sender};

use pgdyno_core::measure::{
    CommandTally, Counts, Ended, Ending, Latency, Outcome, Precision, Slow, Slowest, Tally,
};

use crate::{
    Bookkeeping, Clock, ErrorTally, LogRecord, StepRecord,
    log::LogBuffer,
    probe::{Note, microseconds},
    steps::{Course, StepBook},
};

/// One attempt: `scheduled ≤ begin ≤ end` (invariant 4). In a closed loop scheduled = begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Attempt {
    pub(crate) scheduled_ns: u64,
    pub(crate) begin_ns: u64,
    /// Number of the script.
    pub(crate) script: u32,
    /// Whose it is, where there are users.
    pub(crate) user: Option<u64>,
}

impl Attempt {
    /// The attempt as one of the slowest.
    #[cold]
    fn slow(self, end_ns: u64, note: Note) -> Slow {
        let Self { scheduled_ns, begin_ns, script, .. } = self;
        Slow { scheduled_ns, begin_ns, end_ns, script, work: note.work }
    }
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
    /// The slowest of them, instants on the engine's clock.
    pub slowest: Slowest,
    /// Attempts in pgbench's terms.
    pub tally: Tally,
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
    /// Attempts of every script from the start of the measured interval on.
    pub scripts: Vec<Tally>,
    /// The same with a histogram, where that was asked for.
    pub by_script: Vec<ScriptReport>,
    /// Commands over all scripts from the start of the measured interval on.
    pub commands: Vec<CommandTally>,
    /// Connections made from the start of the measured interval on, and the nanoseconds that they took.
    pub connects: (u64, u64),
    /// Attempts by the step in which they fell due.
    pub steps: Vec<StepRecord>,
    /// When the worker had nothing left to do, in nanoseconds of the engine's clock.
    pub end_ns: u64,
}

/// The attempts of one script.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptReport {
    /// Those that ran to their end within the measured interval.
    pub committed: u64,
    /// Those of them that their script rolled back.
    pub rolled_back: u64,
    /// Those that failed within it.
    pub failed: u64,
    /// Tries beyond the first of all of these.
    pub retries: u64,
    /// Latency of those that ran to their end from the start of the measured interval on, the drain included.
    pub latency: Latency,
}

impl Default for ScriptReport {
    fn default() -> Self {
        let latency = Latency::new(Precision::Run);
        Self { committed: 0, rolled_back: 0, failed: 0, retries: 0, latency }
    }
}

impl ScriptReport {
    fn ended(&mut self, outcome: Outcome, note: &Note) {
        match outcome {
            Outcome::Committed => {
                self.committed += 1;
                self.rolled_back += u64::from(note.rolled_back);
            }
            Outcome::Failed => self.failed += 1,
            Outcome::Skipped | Outcome::TimedOut | Outcome::InDoubt | Outcome::NeverStarted => {}
        }
        self.retries += u64::from(note.retries);
    }

    /// Adds what another worker counted.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.committed += other.committed;
        self.rolled_back += other.rolled_back;
        self.failed += other.failed;
        self.retries += other.retries;
        self.latency.add(&other.latency);
    }
}

/// What a worker hands to the collecting thread.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a box would be an allocation in the loop")]
pub(crate) enum Handed {
    /// An interval that has ended.
    Interval(IntervalReport),
    /// Single attempts, in the order in which they ended.
    Log(Vec<LogRecord>),
}

/// A histogram for samples that come, or for none.
fn empty(precision: Precision, wanted: bool) -> Latency {
    if wanted { Latency::new(precision) } else { Latency::lazy(precision) }
}

/// What an interval is measured with, emptied.
#[derive(Debug)]
pub(crate) struct Spare {
    pub(crate) latency: Latency,
    pub(crate) slowest: Slowest,
}

impl Spare {
    fn new(histograms: bool) -> Self {
        Self { latency: empty(Precision::Interval, histograms), slowest: Slowest::default() }
    }
}

/// Where a worker hands things to, and gets what was emptied back from.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) worker: usize,
    pub(crate) to: Sender<(usize, Handed)>,
    pub(crate) spares: Receiver<Spare>,
    pub(crate) spare_logs: Receiver<Vec<LogRecord>>,
}

/// What a recorder measured over its whole run.
pub(crate) struct Recorded {
    pub(crate) latency: Latency,
    pub(crate) lag: Latency,
    pub(crate) scripts: Vec<Tally>,
    pub(crate) by_script: Vec<ScriptReport>,
    pub(crate) steps: Vec<StepRecord>,
}

/// Counts what one worker does. Intervals are handed to the collecting thread as they end; their histograms come
/// back emptied, so that the hot path allocates nothing.
#[derive(Debug)]
pub(crate) struct Recorder {
    timeline: Timeline,
    open_loop: bool,
    /// Whether histograms and the slowest are kept ([`Bookkeeping::tallies_only`]).
    histograms: bool,
    drain_in_intervals: bool,
    late_ns: u64,
    counts: Counts,
    interval: Latency,
    slowest: Slowest,
    tally: Tally,
    index: u32,
    start_ns: u64,
    boundary_ns: u64,
    cpu_ns: u64,
    in_flight: u64,
    latency: Latency,
    lag: Latency,
    /// Kept where there are several scripts; else the intervals say it all.
    scripts: Vec<Tally>,
    by_script: Vec<ScriptReport>,
    steps: Option<StepBook>,
    log: Option<LogBuffer>,
    exchange: Exchange,
}

impl Recorder {
    pub(crate) fn new(
        timeline: Timeline,
        open_loop: bool,
        bookkeeping: &Bookkeeping,
        course: Option<Course>,
        exchange: Exchange,
    ) -> Self {
        let scripts = bookkeeping.mix.weights.len();
        // Each has a histogram: none is made to be copied.
        let by_script = 0..if bookkeeping.by_script { scripts } else { 0 };
        let steps = course.map(|course| StepBook::new(course, timeline));
        let histograms = !bookkeeping.tallies_only;
        let mut recorder = Self {
            timeline,
            open_loop,
            histograms,
            drain_in_intervals: bookkeeping.drain_in_intervals,
            late_ns: bookkeeping.late_ns.unwrap_or(u64::MAX),
            counts: Counts::default(),
            interval: empty(Precision::Interval, histograms),
            slowest: Slowest::default(),
            tally: Tally::default(),
            index: 0,
            start_ns: timeline.start_ns,
            boundary_ns: 0,
            cpu_ns: Clock::thread_cpu_ns(),
            in_flight: 0,
            latency: empty(Precision::Run, histograms),
            lag: empty(Precision::Run, histograms && open_loop),
            scripts: vec![Tally::default(); if scripts > 1 { scripts } else { 0 }],
            by_script: by_script.map(|_| ScriptReport::default()).collect(),
            steps,
            log: bookkeeping.log.as_ref().map(|log| LogBuffer::new(log, exchange.worker)),
            exchange,
        };
        recorder.boundary_ns = recorder.boundary_after(timeline.start_ns);
        recorder
    }

    /// The end of the interval that begins at `start_ns`: it does not reach over the edge of a phase or of a step.
    fn boundary_after(&self, start_ns: u64) -> u64 {
        let Timeline { measure_ns, interval_ns, .. } = self.timeline;
        if self.drain_in_intervals && self.timeline.phase(start_ns) == Phase::Drain {
            // Where an interval would have ended if the measured interval had gone on.
            let gone = (start_ns - measure_ns) / interval_ns;
            return measure_ns + (gone + 1) * interval_ns;
        }
        let step_ns = self.steps.as_ref().map_or(u64::MAX, |steps| steps.course.end_after(start_ns));
        self.timeline.boundary_after(start_ns).min(step_ns)
    }

    /// When the interval under way ends.
    #[inline]
    pub(crate) fn boundary_ns(&self) -> u64 {
        self.boundary_ns
    }

    /// Attempts that fell due and have not ended: in a closed loop as many as clients are at work.
    #[inline]
    pub(crate) fn in_flight(&self) -> u64 {
        self.in_flight
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

    /// Counts an attempt that ended; `in_time` says whether that was before the schedule's end.
    #[inline]
    pub(crate) fn ended(
        &mut self,
        mut attempt: Attempt,
        end_ns: u64,
        outcome: Outcome,
        note: Note,
        in_time: bool,
    ) {
        self.in_flight -= 1;
        self.counts.record(outcome);
        if note.begun_ns > attempt.begin_ns {
            attempt.begin_ns = note.begun_ns.min(end_ns);
            if !self.open_loop {
                attempt.scheduled_ns = attempt.begin_ns;
            }
        }
        let latency_ns = end_ns.saturating_sub(attempt.scheduled_ns);
        let lag_ns = attempt.begin_ns - attempt.scheduled_ns;
        let measuring = end_ns >= self.timeline.measure_ns;
        if outcome == Outcome::Committed {
            debug_assert!(attempt.scheduled_ns <= attempt.begin_ns && attempt.begin_ns <= end_ns);
            self.sample(latency_ns, lag_ns, measuring);
            if self.histograms && self.slowest.wants(latency_ns) {
                self.slowest.add(attempt.slow(end_ns, note));
            }
        }
        if let Some(script) = self.by_script.get_mut(attempt.script as usize).filter(|_| measuring) {
            if in_time {
                script.ended(outcome, &note);
            }
            if outcome == Outcome::Committed {
                script.latency.record(latency_ns);
            }
        }
        if let Some(steps) = &mut self.steps {
            steps.ended(attempt.scheduled_ns, latency_ns, outcome);
        }
        let ending = match (outcome, note.failure) {
            (Outcome::Committed, _) => Ending::Committed,
            (Outcome::Skipped, _) => Ending::Skipped,
            (Outcome::Failed, Some(failure)) => Ending::Failed(failure),
            _ => return,
        };
        let ended = Ended {
            ending,
            tries: note.retries + 1,
            latency_us: microseconds(latency_ns),
            lag_us: self.open_loop.then(|| microseconds(lag_ns)),
            late: latency_ns > self.late_ns,
        };
        self.keep(ended, attempt.script, end_ns, note, measuring);
    }

    /// Counts an attempt that committed in the histograms.
    #[inline]
    fn sample(&mut self, latency_ns: u64, lag_ns: u64, measuring: bool) {
        if !self.histograms {
            return;
        }
        self.interval.record(latency_ns);
        if measuring {
            self.latency.record(latency_ns);
            if self.open_loop {
                self.lag.record(lag_ns);
            }
        }
    }

    /// Keeps what pgbench keeps of an attempt.
    #[inline]
    fn keep(&mut self, ended: Ended, script: u32, end_ns: u64, note: Note, measuring: bool) {
        self.tally.record(ended);
        if !measuring {
            return;
        }
        if let Some(tally) = self.scripts.get_mut(script as usize) {
            tally.record(ended);
        }
        if let Some(log) = &mut self.log {
            let committed = ended.ending == Ending::Committed;
            let record = LogRecord {
                client: note.client,
                script,
                number: note.number,
                end_ns,
                latency_us: if committed { ended.latency_us } else { 0 },
                lag_us: ended.lag_us.filter(|_| committed).unwrap_or(0),
                retries: note.retries,
                ending: ended.ending,
            };
            log.add(record, &self.exchange);
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
        if let Some(log) = &mut self.log {
            log.hand_over(&self.exchange);
        }
        self.counts.in_flight_at_end = self.in_flight;
        let next = Counts { in_flight_at_start: self.in_flight, ..Counts::default() };
        let spare = self.exchange.spares.try_recv().unwrap_or_else(|_| Spare::new(self.histograms));
        let cpu_ns = Clock::thread_cpu_ns();
        let phase = self.timeline.phase(self.start_ns);
        if let (Some(steps), true) = (&mut self.steps, self.open_loop) {
            steps.due(phase, self.start_ns, self.counts.scheduled);
        }
        let report = IntervalReport {
            index: self.index,
            phase,
            start_ns: self.start_ns,
            duration_ns: end_ns - self.start_ns,
            counts: std::mem::replace(&mut self.counts, next),
            latency: std::mem::replace(&mut self.interval, spare.latency),
            slowest: std::mem::replace(&mut self.slowest, spare.slowest),
            tally: std::mem::take(&mut self.tally),
            cpu_ns: cpu_ns - self.cpu_ns,
            last,
        };
        self.cpu_ns = cpu_ns;
        self.index += 1;
        self.start_ns = end_ns;
        self.boundary_ns = self.boundary_after(end_ns);
        // The collecting thread goes away only when the run is given up: then nobody wants the report.
        let _ = self.exchange.to.send((self.exchange.worker, Handed::Interval(report)));
    }

    /// Closes the last interval and gives what was measured over the whole run.
    pub(crate) fn finish(mut self, now_ns: u64) -> Recorded {
        self.roll(now_ns);
        self.close(now_ns.max(self.start_ns), true);
        let steps = self.steps.map(|steps| steps.finish(self.open_loop)).unwrap_or_default();
        Recorded {
            latency: self.latency,
            lag: self.lag,
            scripts: self.scripts,
            by_script: self.by_script,
            steps,
        }
    }
}
