//! Pacing of a client: how many attempts, with which pause and over which connection, and which attempts are skipped
//! because they are too late.

use std::{io, os::fd::OwnedFd};

use pgdyno_core::measure::Outcome;

use crate::{Clock, Dial, Event, Level, Probe, Step, Target, probe::Beginning};

/// How a client paces its attempts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pacing {
    /// Number of attempts of each client, including skipped and failed ones; `None` is as many as the time allows.
    pub attempts: Option<u64>,
    /// In an open loop, attempts that start later than this many nanoseconds after they were due are skipped.
    pub skip_after_ns: Option<u64>,
    /// Pause between the end of an attempt and the next, in nanoseconds. In a closed loop the pause counts for neither
    /// attempt; in an open loop it makes attempts wait.
    pub think_ns: u64,
    /// Number of attempts after which a client reconnects; `None` keeps the first connection.
    pub reconnect_after: Option<u64>,
}

/// Target whose attempts are paced by a [`Pacing`].
#[derive(Debug)]
pub struct Paced<T> {
    inner: T,
    pacing: Pacing,
    client: u32,
    /// Attempts that have ended, including skipped ones.
    number: u64,
    /// Attempts over the current connection; `None` if there is no connection yet.
    on_connection: Option<u64>,
    /// End of the last attempt; 0 before the first.
    ended_ns: u64,
    /// When the work of the current attempt began, if that is later than its begin.
    begun_ns: u64,
    /// The current attempt as it began: other attempts may begin while this one waits.
    beginning: Beginning,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Working,
    Thinking { until_ns: u64 },
    Connecting { since_ns: u64 },
}

impl<T: Target> Paced<T> {
    /// Paces client number `client`. `connected` says whether the client already has its first connection.
    pub fn new(inner: T, client: u32, connected: bool, pacing: Pacing) -> Self {
        let on_connection = connected.then_some(0);
        let state = State::Working;
        let beginning = Beginning::default();
        Self { inner, pacing, client, number: 0, on_connection, ended_ns: 0, begun_ns: 0, beginning, state }
    }

    fn begin(&mut self, now_ns: u64, probe: &mut Probe) -> Step {
        (self.begun_ns, self.beginning) = (0, probe.beginning);
        if probe.open_loop() && self.too_late(probe.scheduled_ns(), now_ns) {
            return Step::Done(Outcome::Skipped);
        }
        let rested_ns = self.ended_ns + self.pacing.think_ns;
        if self.pacing.think_ns > 0 && self.ended_ns > 0 && rested_ns > now_ns {
            self.state = State::Thinking { until_ns: rested_ns };
            return Step::WaitUntil(rested_ns.min(probe.end_ns()));
        }
        self.set_out(now_ns, probe)
    }

    fn too_late(&self, scheduled_ns: u64, now_ns: u64) -> bool {
        self.pacing.skip_after_ns.is_some_and(|after_ns| scheduled_ns.saturating_add(after_ns) < now_ns)
    }

    fn rested(&mut self, until_ns: u64, now_ns: u64, probe: &mut Probe) -> Step {
        if probe.time_is_over(now_ns) {
            self.state = State::Working;
            return Step::Done(Outcome::NeverStarted);
        }
        if now_ns < until_ns {
            return Step::WaitUntil(until_ns.min(probe.end_ns()));
        }
        self.begun_ns = now_ns;
        self.set_out(now_ns, probe)
    }

    /// Begins the work, after reconnecting if that is due.
    fn set_out(&mut self, now_ns: u64, probe: &mut Probe) -> Step {
        let worn = match (self.on_connection, self.pacing.reconnect_after) {
            (None, _) => true,
            (Some(attempts), Some(after)) => attempts >= after,
            (Some(_), None) => false,
        };
        if worn {
            self.state = State::Connecting { since_ns: now_ns };
            return Step::Connect;
        }
        self.work(now_ns, probe)
    }

    fn work(&mut self, now_ns: u64, probe: &mut Probe) -> Step {
        self.state = State::Working;
        if !self.beginning.open_loop {
            self.beginning.scheduled_ns = now_ns;
        }
        probe.beginning = self.beginning;
        self.inner.step(Event::Begin, now_ns, probe)
    }

    fn no_connection(&mut self, error: Option<io::Error>, probe: &mut Probe) -> Step {
        if let Some(error) = error {
            probe.say(Level::Error, &error.to_string());
        }
        probe.say(Level::Error, &format!("client {} aborted while establishing connection", self.client));
        self.state = State::Working;
        Step::Last(Outcome::Failed)
    }

    /// Counts an attempt that has ended, and ends the client after its last.
    fn count(&mut self, step: Step, now_ns: u64, probe: &mut Probe) -> Step {
        let (Step::Done(outcome) | Step::Reconnect(outcome) | Step::Last(outcome)) = step else {
            return step;
        };
        self.number += 1;
        if outcome != Outcome::Skipped {
            self.on_connection = self.on_connection.map(|attempts| attempts + 1);
        }
        self.ended_ns = now_ns;
        probe.ends_for(self.client, self.number);
        if self.begun_ns > 0 {
            probe.began_at(self.begun_ns);
        }
        if !matches!(step, Step::Last(_)) && self.pacing.attempts == Some(self.number) {
            probe.finished();
            return Step::Last(outcome);
        }
        step
    }
}

impl<T: Target> Target for Paced<T> {
    #[inline]
    fn step(&mut self, event: Event<'_>, now_ns: u64, probe: &mut Probe) -> Step {
        let step = match (event, self.state) {
            (Event::Begin, _) => self.begin(now_ns, probe),
            (Event::Woken, State::Thinking { until_ns }) => self.rested(until_ns, now_ns, probe),
            (Event::Connected, State::Connecting { since_ns }) => {
                probe.connected(now_ns.saturating_sub(since_ns));
                (self.on_connection, self.begun_ns) = (Some(0), now_ns);
                self.work(now_ns, probe)
            }
            (Event::Gone(error), State::Connecting { .. }) => self.no_connection(error, probe),
            (event, _) => self.inner.step(event, now_ns, probe),
        };
        self.count(step, now_ns, probe)
    }

    fn outgoing(&self) -> &[u8] {
        self.inner.outgoing()
    }

    /// Starts the connection time here: a worker makes its connections one after the other, and waiting for earlier
    /// ones is not part of this one's time.
    fn connect(&mut self) -> io::Result<OwnedFd> {
        if let State::Connecting { since_ns } = &mut self.state {
            *since_ns = Clock::now_ns();
        }
        self.inner.connect()
    }

    fn dial(&mut self) -> Dial {
        self.inner.dial()
    }

    fn abandon(&mut self) -> Outcome {
        match self.state {
            State::Working => self.inner.abandon(),
            State::Thinking { .. } | State::Connecting { .. } => Outcome::NeverStarted,
        }
    }
}
