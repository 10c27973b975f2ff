//! Phases of a run and the instants that separate them.

use serde::{Deserialize, Serialize};

/// Phase of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Phase {
    /// Warm-up, before the measured interval.
    WarmUp,
    /// The measured interval.
    Measured,
    /// Drain, after the measured interval: attempts in progress end, none begins.
    Drain,
}

/// The instants of a run on the engine's clock, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Timeline {
    /// Start of the schedule: the first attempts are due.
    pub start_ns: u64,
    /// Start of the measured interval.
    pub measure_ns: u64,
    /// End of the measured interval and of the schedule.
    pub end_ns: u64,
    /// Length of the reported intervals.
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

    /// End of the interval that begins at `start_ns`: intervals never cross the edge of a phase, and the drain is one
    /// interval.
    pub(crate) fn boundary_after(&self, start_ns: u64) -> u64 {
        let edge = match self.phase(start_ns) {
            Phase::WarmUp => self.measure_ns,
            Phase::Measured => self.end_ns,
            Phase::Drain => return u64::MAX,
        };
        (start_ns + self.interval_ns).min(edge)
    }
}
