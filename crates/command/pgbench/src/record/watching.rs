//! The observers of a run that is saved.

use std::{path::Path, time::Instant};

use pgdyno_core::{
    measure::Waits,
    observe::{Digest, ObserveLevel},
    problem::Problem,
    profile::Profiling,
};
use pgdyno_lab::sampling::Sampling;
use pgdyno_observe::{Observers, ServerId, Span, Watched};
use pgdyno_record::{ObserversRecord, RunDir};

/// Watches the server of a run.
#[derive(Debug)]
pub(super) struct Watching {
    level: ObserveLevel,
    observers: Observers,
    server: Option<ServerId>,
    span: Option<Span>,
    waits: Option<Waits>,
}

impl Watching {
    /// Begins to observe a run that `started` then.
    ///
    /// # Errors
    /// The file of observations could not be opened.
    pub(super) fn begin(
        level: ObserveLevel,
        started: Instant,
        dir: &mut RunDir,
        watched: Option<Watched>,
    ) -> Result<Self, Problem> {
        let file = (level != ObserveLevel::None).then(|| dir.observation_log()).transpose()?;
        let mut observers = Observers::begin(level, started, file, None);
        let server = watched.map(|watched| observers.watch(watched));
        Ok(Self { level, observers, server, span: None, waits: None })
    }

    /// Prepares to profile the server's processes, with raw samples in this directory.
    pub(super) fn sampling(&self, stacks: Profiling, seconds: Option<f64>, directory: &Path) -> Sampling {
        Sampling::prepare((&self.observers, self.server), stacks, seconds, directory)
    }

    /// Begins the measured interval.
    pub(super) fn begin_interval(&mut self) {
        self.server.iter().for_each(|server| self.observers.begin_waits(*server));
        self.span = self.observers.span(&[]);
    }

    /// Ends the measured interval.
    pub(super) fn end_interval(&mut self) {
        self.span.iter().for_each(Span::end);
        self.waits = self.server.and_then(|server| self.observers.end_waits(server));
    }

    /// Ends the observers. Returns what they saw in the measured interval, and what they cost.
    pub(super) fn found(mut self) -> (Option<Waits>, Option<Digest>, Option<ObserversRecord>) {
        let digest = self.span.take().and_then(Span::digest);
        let ended = self.observers.end().map(|ended| ObserversRecord {
            level: self.level,
            over_s: ended.over_s,
            cost: ended.cost,
            dropped_lines: ended.dropped_lines,
            clocks: ended.clocks,
        });
        (self.waits.take(), digest, ended)
    }
}
