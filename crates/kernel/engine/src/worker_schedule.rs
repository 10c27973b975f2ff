//! Schedule and recorder of one worker, as the drivers use them.

use std::sync::Arc;

use pgdyno_core::{measure::Outcome, stop::Stop};

use crate::{
    Arrivals, Clock, Probe, Timeline, WorkerReport,
    chooser::Chooser,
    concurrency_limit::ConcurrencyLimit,
    connector::Connector,
    outage::Connections,
    probe::Beginning,
    recorder::{Attempt, Recorder},
    users::Due,
};

/// Time limit for attempts in progress after a stop request, in nanoseconds.
const STOPPED_DRAIN_NS: u64 = 1_000_000_000;

/// What an idle client does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Begin this attempt.
    Begin(Attempt),
    /// Wait: the next attempt falls due at this instant.
    At(u64),
    /// Nothing: the client begins no further attempt in this run.
    Never,
}

/// When to begin, what to record, when to stop: everything of a worker that does not depend on the driver.
#[derive(Debug)]
pub(crate) struct WorkerSchedule {
    pub(crate) timeline: Timeline,
    pub(crate) drain_ns: u64,
    pub(crate) arrivals: Arrivals,
    pub(crate) recorder: Recorder,
    pub(crate) chooser: Chooser,
    pub(crate) limit: ConcurrencyLimit,
    pub(crate) by_number: bool,
    pub(crate) end_with_first_lost: bool,
    pub(crate) returns_clients: bool,
    pub(crate) stop: Stop,
    pub(crate) stopped_at_ns: Option<u64>,
    pub(crate) clients_lost: u32,
    pub(crate) connections: Arc<Connections>,
    pub(crate) probe: Probe,
}

impl WorkerSchedule {
    /// Sets what depends on the start of the schedule.
    pub(crate) fn begin(&mut self) {
        self.limit.look(self.timeline.start_ns);
        self.probe.measuring = self.recorder.measuring();
        self.probe.end_ns = self.timeline.end_ns;
    }

    /// Decides what an idle client does at `now_ns`. A returned attempt must begin at once, because the next call
    /// overwrites what the probe says of it.
    #[inline]
    pub(crate) fn next(&mut self, now_ns: u64) -> Next {
        if now_ns >= self.timeline.end_ns || self.stopped_at_ns.is_some() {
            return Next::Never;
        }
        match &mut self.arrivals {
            Arrivals::Closed => {
                if !self.limit.admits(self.recorder.in_flight(), now_ns) {
                    return Next::At(self.limit.until_ns().min(self.timeline.end_ns));
                }
                self.recorder.due(1);
                self.begin_any(now_ns, now_ns, false)
            }
            Arrivals::Open(open) => {
                self.recorder.due(open.count_due(now_ns));
                match open.begin() {
                    Some(scheduled_ns) => self.begin_any(scheduled_ns, now_ns.max(scheduled_ns), true),
                    None => Next::At(open.next_due_ns().min(self.timeline.end_ns)),
                }
            }
            Arrivals::Users(users) => {
                self.recorder.due(users.count_due(now_ns, &mut self.chooser));
                match users.begin() {
                    Some(due) => self.begin_due(due, now_ns),
                    None => Next::At(users.next_due_ns().min(self.timeline.end_ns)),
                }
            }
        }
    }

    /// Begins an attempt without a user; the script is drawn by weight.
    #[inline]
    fn begin_any(&mut self, scheduled_ns: u64, begin_ns: u64, open_loop: bool) -> Next {
        let script = self.chooser.choose();
        self.probe.beginning = Beginning { script, scheduled_ns, open_loop, user: None };
        Next::Begin(Attempt { scheduled_ns, begin_ns, script, user: None })
    }

    fn begin_due(&mut self, due: Due, now_ns: u64) -> Next {
        let Due { at_ns: scheduled_ns, user, script } = due;
        self.probe.beginning = Beginning { script, scheduled_ns, open_loop: true, user: Some(user) };
        let begin_ns = now_ns.max(scheduled_ns);
        Next::Begin(Attempt { scheduled_ns, begin_ns, script, user: Some(user) })
    }

    /// Whether attempts fall due by a schedule of their own.
    pub(crate) fn open_loop(&self) -> bool {
        !matches!(self.arrivals, Arrivals::Closed)
    }

    /// Records the end of an attempt.
    #[inline]
    pub(crate) fn ended(&mut self, attempt: Attempt, end_ns: u64, outcome: Outcome) {
        if end_ns >= self.recorder.boundary_ns() {
            self.roll(end_ns);
        }
        if let (Arrivals::Users(users), Some(user)) = (&mut self.arrivals, attempt.user) {
            users.answered(user, attempt.script, end_ns, &mut self.chooser);
        }
        let note = std::mem::take(&mut self.probe.note);
        let in_time = end_ns < self.probe.end_ns;
        self.recorder.ended(attempt, end_ns, outcome, note, in_time);
    }

    /// Counts a client as lost, unless it has completed all its attempts.
    pub(crate) fn client_lost(&mut self) {
        if std::mem::take(&mut self.probe.finished) {
            return;
        }
        self.clients_lost += 1;
        if self.end_with_first_lost {
            self.stop.request("a client was lost");
        }
    }

    /// Makes the connector for this worker's clients.
    pub(crate) fn connector(&self) -> Connector {
        Connector::new(Arc::clone(&self.connections))
    }

    /// Whether a stop was requested.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.requested()
    }

    /// Checks the clock and stop requests. Drivers call it at least ten times a second.
    pub(crate) fn tend(&mut self, now_ns: u64) {
        if let Some(reason) = self.probe.stop.as_deref() {
            self.stop.request(reason);
        }
        if self.stopped_at_ns.is_none() && self.stop.requested() {
            self.stopped_at_ns = Some(now_ns);
            self.probe.end_ns = now_ns;
        }
        if now_ns >= self.recorder.boundary_ns() {
            self.roll(now_ns);
        }
    }

    /// Closes the intervals that have ended. Arrivals are first counted into the interval in which they fell due.
    fn roll(&mut self, now_ns: u64) {
        while now_ns >= self.recorder.boundary_ns() {
            let boundary_ns = self.recorder.boundary_ns();
            self.fall_due(boundary_ns.min(self.timeline.end_ns));
            self.recorder.roll(boundary_ns);
            self.limit.look(boundary_ns);
        }
        self.probe.measuring = self.recorder.measuring();
    }

    /// Counts the attempts that fall due by the schedule before an instant.
    fn fall_due(&mut self, until_ns: u64) {
        let count = match &mut self.arrivals {
            Arrivals::Closed => 0,
            Arrivals::Open(open) => open.count_due(until_ns),
            Arrivals::Users(users) => users.count_due(until_ns, &mut self.chooser),
        };
        self.recorder.due(count);
    }

    /// Number of attempts due and not begun.
    fn backlog(&self) -> u64 {
        match &self.arrivals {
            Arrivals::Closed => 0,
            Arrivals::Open(open) => open.backlog(),
            Arrivals::Users(users) => users.backlog(),
        }
    }

    /// Latest instant at which [`WorkerSchedule::tend`] should be called again.
    pub(crate) fn tend_by_ns(&self, now_ns: u64) -> u64 {
        self.recorder.boundary_ns().min(now_ns + 100_000_000)
    }

    /// Instant at which attempts in progress get no more time; `None` while attempts may still begin.
    pub(crate) fn give_up_at_ns(&self, now_ns: u64) -> Option<u64> {
        match self.stopped_at_ns {
            Some(stopped_ns) => Some(stopped_ns + STOPPED_DRAIN_NS),
            None => (now_ns >= self.timeline.end_ns).then_some(self.timeline.end_ns + self.drain_ns),
        }
    }

    /// Ends the schedule: attempts due and not begun count as never started.
    pub(crate) fn finish(mut self: Box<Self>) -> WorkerReport {
        let now_ns = Clock::now_ns();
        self.tend(now_ns);
        if !matches!(self.arrivals, Arrivals::Closed) {
            // After a stop the schedule ends at the stop, not at its planned end; if clients end by themselves or all
            // are lost, it ends now.
            let early = self.by_number || self.clients_lost > 0;
            let planned_ns = if early { now_ns } else { self.timeline.end_ns };
            let until_ns = self.stopped_at_ns.unwrap_or(planned_ns).min(self.timeline.end_ns);
            self.fall_due(until_ns);
            self.recorder.never_started(self.backlog());
        }
        WorkerReport {
            recorded: self.recorder.finish(now_ns),
            probe: self.probe,
            clients_lost: self.clients_lost,
            end_ns: now_ns,
        }
    }
}
