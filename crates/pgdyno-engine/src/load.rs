//! What is asked of a target during a run, and what came of each part.

use pgdyno_core::measure::{Counts, Latency};

/// One step of the measured interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadStep {
    /// Its length in nanoseconds.
    pub duration_ns: u64,
    /// What is asked of the target meanwhile.
    pub load: Load,
}

/// What is asked of the target during a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Load {
    /// Open loop: so many attempts fall due a second, over all workers.
    Rate(f64),
    /// Closed loop: so many clients are at work, over all workers; the others stay connected and idle. One that is in
    /// the middle of an attempt when the number falls ends it first.
    Clients(u32),
}

/// One step as it was.
#[derive(Debug, Clone)]
pub struct StepReport {
    /// What was asked for.
    pub load: Load,
    /// Its begin in nanoseconds since the start of the measured interval.
    pub start_ns: u64,
    /// Its length in nanoseconds: shorter than planned after a stop.
    pub duration_ns: u64,
    /// Attempts as they came and went within the step.
    pub counts: Counts,
    /// What became of the attempts that fell due in the step, whenever they ended: none is in flight at either end.
    /// In a closed loop an attempt is due when it begins.
    pub due: Counts,
    /// Latency of those of them that committed.
    pub latency: Latency,
}

/// What became of the attempts that fell due in one step, at one worker.
#[derive(Debug)]
pub struct StepRecord {
    /// Attempts.
    pub counts: Counts,
    /// Latency of those that committed, to two digits.
    pub latency: Latency,
}
