//! Records the attempts of one worker, interval by interval.

use pgdyno_core::measure::{Counts, Ended, Ending, Latency, Outcome, Precision, Slow, Slowest, Tally};

use crate::{
    Bookkeeping, Clock, LogRecord, MergedInterval, Phase, ScriptReport, Timeline,
    log::LogBuffer,
    probe::{Note, microseconds},
    report::{IntervalReport, Recorded},
    run_delay::RunDelay,
    silence::Silences,
    steps::{LoadProfile, StepBook},
    worker_channel::{Spare, WorkerChannel, WorkerMessage, empty},
};

/// One attempt: `scheduled ≤ begin ≤ end` (invariant 4). In a closed loop scheduled = begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Attempt {
    pub(crate) scheduled_ns: u64,
    pub(crate) begin_ns: u64,
    /// Number of the script.
    pub(crate) script: u32,
    /// Number of the user, if there are users.
    pub(crate) user: Option<u64>,
}

impl Attempt {
    /// Describes the attempt for the list of the slowest.
    #[cold]
    fn slow(self, end_ns: u64, note: Note) -> Slow {
        let Self { scheduled_ns, begin_ns, script, .. } = self;
        Slow { scheduled_ns, begin_ns, end_ns, script, work: note.work }
    }
}

/// Records what one worker does. Intervals are handed to the collecting thread as they end; their histograms come back
/// emptied, so that the hot path allocates nothing.
#[derive(Debug)]
pub(crate) struct Recorder {
    timeline: Timeline,
    open_loop: bool,
    /// Whether histograms and the slowest attempts are kept ([`Bookkeeping::tallies_only`]).
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
    run_delay: RunDelay,
    waited_ns: Option<u64>,
    in_flight: u64,
    latency: Latency,
    lag: Latency,
    /// Kept only for several scripts; with one, the intervals have it all.
    scripts: Vec<Tally>,
    by_script: Vec<ScriptReport>,
    silences: Silences,
    steps: Option<StepBook>,
    log: Option<LogBuffer>,
    channel: WorkerChannel,
}

impl Recorder {
    pub(crate) fn new(
        timeline: Timeline,
        open_loop: bool,
        bookkeeping: &Bookkeeping,
        profile: Option<LoadProfile>,
        channel: WorkerChannel,
    ) -> Self {
        let scripts = bookkeeping.mix.weights.len();
        // Built one by one: each has a histogram, and cloning would build one more.
        let by_script = 0..if bookkeeping.by_script { scripts } else { 0 };
        let steps = profile.map(|profile| StepBook::new(profile, timeline));
        let histograms = !bookkeeping.tallies_only;
        let run_delay = RunDelay::of_this_thread();
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
            waited_ns: run_delay.read_ns(),
            run_delay,
            in_flight: 0,
            latency: empty(Precision::Run, histograms),
            lag: empty(Precision::Run, histograms && open_loop),
            scripts: vec![Tally::default(); if scripts > 1 { scripts } else { 0 }],
            by_script: by_script.map(|_| ScriptReport::default()).collect(),
            silences: Silences::new(timeline.measure_ns, timeline.end_ns),
            steps,
            log: bookkeeping.log.as_ref().map(|log| LogBuffer::new(log, channel.worker)),
            channel,
        };
        recorder.boundary_ns = recorder.boundary_after(timeline.start_ns);
        recorder
    }

    /// End of the interval that begins at `start_ns`: no interval crosses the edge of a phase or of a step.
    fn boundary_after(&self, start_ns: u64) -> u64 {
        let Timeline { measure_ns, interval_ns, .. } = self.timeline;
        if self.drain_in_intervals && self.timeline.phase(start_ns) == Phase::Drain {
            // The end of the interval as if the measured interval had continued.
            let gone = (start_ns - measure_ns) / interval_ns;
            return measure_ns + (gone + 1) * interval_ns;
        }
        let step_ns = self.steps.as_ref().map_or(u64::MAX, |steps| steps.profile.end_after(start_ns));
        self.timeline.boundary_after(start_ns).min(step_ns)
    }

    /// When the current interval ends.
    #[inline]
    pub(crate) fn boundary_ns(&self) -> u64 {
        self.boundary_ns
    }

    /// Attempts that fell due and have not ended: in a closed loop, the number of active clients.
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

    /// Counts an attempt that ended; `in_time` says whether it ended before the schedule's end.
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
        // None falls due after the interval.
        let due_in_interval = attempt.scheduled_ns >= self.timeline.measure_ns;
        if outcome == Outcome::Committed {
            debug_assert!(attempt.scheduled_ns <= attempt.begin_ns && attempt.begin_ns <= end_ns);
            self.sample(latency_ns, lag_ns, due_in_interval);
            if measuring {
                self.silences.commit(end_ns);
            }
            if self.histograms && self.slowest.wants(latency_ns) {
                self.slowest.add(attempt.slow(end_ns, note));
            }
        }
        if let Some(script) = self.by_script.get_mut(attempt.script as usize).filter(|_| measuring) {
            if in_time {
                script.ended(outcome, &note);
            }
            if outcome == Outcome::Committed && due_in_interval {
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
            rows: note.rows,
        };
        self.keep(ended, attempt.script, end_ns, note, measuring);
    }

    /// Adds a committed attempt to the histogram of the interval in which it ended, and if it fell due in the measured
    /// interval, to those of the run.
    #[inline]
    fn sample(&mut self, latency_ns: u64, lag_ns: u64, due_in_interval: bool) {
        if !self.histograms {
            return;
        }
        self.interval.record(latency_ns);
        if due_in_interval {
            self.latency.record(latency_ns);
            if self.open_loop {
                self.lag.record(lag_ns);
            }
        }
    }

    /// Adds an attempt to the tallies in pgbench's terms, and to the log.
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
            log.add(record, &self.channel);
        }
    }

    /// Counts attempts that fell due without a free client to begin them.
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
            log.hand_over(&self.channel);
        }
        self.counts.in_flight_at_end = self.in_flight;
        let next = Counts { in_flight_at_start: self.in_flight, ..Counts::default() };
        let spare = self.channel.spares.try_recv().unwrap_or_else(|_| Spare::new(self.histograms));
        let (cpu_ns, waited_ns) = (Clock::thread_cpu_ns(), self.run_delay.read_ns());
        let phase = self.timeline.phase(self.start_ns);
        if let (Some(steps), true) = (&mut self.steps, self.open_loop) {
            steps.due(phase, self.start_ns, self.counts.scheduled);
        }
        let interval = MergedInterval {
            phase,
            start_ns: self.start_ns.saturating_sub(self.timeline.start_ns),
            clock_ns: self.start_ns,
            duration_ns: end_ns - self.start_ns,
            counts: std::mem::replace(&mut self.counts, next),
            latency: std::mem::replace(&mut self.interval, spare.latency),
            slowest: std::mem::replace(&mut self.slowest, spare.slowest),
            tally: std::mem::take(&mut self.tally),
            cpu_ns: cpu_ns - self.cpu_ns,
            waited_ns: waited_ns.zip(self.waited_ns).map(|(now, then)| now.saturating_sub(then)),
        };
        let report = IntervalReport { index: self.index, last, interval };
        (self.cpu_ns, self.waited_ns) = (cpu_ns, waited_ns);
        self.index += 1;
        self.start_ns = end_ns;
        self.boundary_ns = self.boundary_after(end_ns);
        // The receiver is gone only if the run was given up; nobody needs the report then.
        let _ = self.channel.to.send((self.channel.worker, WorkerMessage::Interval(report)));
    }

    /// Closes the last interval and returns the measurements of the whole run.
    pub(crate) fn finish(mut self, now_ns: u64) -> Recorded {
        self.roll(now_ns);
        self.close(now_ns.max(self.start_ns), true);
        let steps = self.steps.map(|steps| steps.finish(self.open_loop)).unwrap_or_default();
        Recorded {
            latency: self.latency,
            lag: self.lag,
            scripts: self.scripts,
            by_script: self.by_script,
            silences: self.silences.finish(now_ns),
            steps,
        }
    }
}
