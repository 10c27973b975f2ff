//! Load offered to a target, and the results of each step.

use pgdyno_core::measure::{Counts, Latency};

/// One step of the measured interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadStep {
    /// Length of the step in nanoseconds.
    pub duration_ns: u64,
    /// Load during the step.
    pub load: Load,
}

/// Offered load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Load {
    /// Open loop: attempts that fall due per second, over all workers.
    Rate(f64),
    /// Closed loop: active clients over all workers; the others stay connected and idle. A client in the middle of an
    /// attempt when the number falls finishes it first.
    Clients(u32),
}

/// Results of one step over all workers.
#[derive(Debug, Clone)]
pub struct StepReport {
    /// Load that was requested.
    pub load: Load,
    /// Start of the step in nanoseconds since the start of the measured interval.
    pub start_ns: u64,
    /// Length of the step in nanoseconds: shorter than planned after a stop.
    pub duration_ns: u64,
    /// Attempts counted as they fell due and ended within the step.
    pub counts: Counts,
    /// Outcomes of the attempts that fell due in the step, whenever they ended: none is in flight at either end. In a
    /// closed loop an attempt is due when it begins.
    pub due: Counts,
    /// Latency of the attempts that fell due in the step and committed.
    pub latency: Latency,
}

/// Outcomes of the attempts that fell due in one step, at one worker.
#[derive(Debug)]
pub(crate) struct StepRecord {
    /// Attempts by outcome.
    pub counts: Counts,
    /// Latency of the attempts that committed, to two significant digits.
    pub latency: Latency,
}
