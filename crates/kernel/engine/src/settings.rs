//! Settings and callbacks of a run, and its errors.

use std::io;

use pgdyno_core::measure::Imbalance;
use serde::{Deserialize, Serialize};

use crate::{LogRecord, MergedInterval};

/// Settings of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Settings {
    /// Length of the warm-up in nanoseconds; 0 is none.
    pub warmup_ns: u64,
    /// Clients of a closed loop begin at random instants within this many nanoseconds, so that they are not in step; 0
    /// lets all begin at once.
    pub ramp_ns: u64,
    /// Length of the measured interval in nanoseconds.
    pub duration_ns: u64,
    /// Length of the reported intervals in nanoseconds.
    pub interval_ns: u64,
    /// Time limit for attempts in progress at the end, in nanoseconds.
    pub drain_ns: u64,
    /// Attempts per second over all workers; `None` is a closed loop.
    pub rate_per_s: Option<f64>,
    /// Seed of the schedule.
    pub seed: u64,
    /// Number of statements of the script.
    pub statements: usize,
    /// CPUs for the workers; empty does not pin them. Worker `i` runs on the CPU at index `i` modulo the length.
    pub cpus: Vec<u32>,
}

impl Settings {
    /// A closed loop without a warm-up, in intervals of a second.
    pub fn closed(duration_ns: u64, statements: usize) -> Self {
        Self {
            warmup_ns: 0,
            ramp_ns: 0,
            duration_ns,
            interval_ns: 1_000_000_000,
            drain_ns: 1_000_000_000,
            rate_per_s: None,
            seed: 1,
            statements,
            cpus: Vec::new(),
        }
    }
}

/// Instant of a run at which the caller may want to take a measurement of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// The measured interval begins.
    MeasureStart,
    /// The measured interval has ended.
    MeasureEnd,
}

/// Callbacks during a run, all on the calling thread.
pub struct Listeners<'a> {
    /// Called with every interval as soon as all workers have closed it.
    pub on_interval: &'a mut dyn FnMut(&MergedInterval),
    /// Called at the edges of the measured interval.
    pub on_mark: &'a mut dyn FnMut(Mark),
    /// Called with a worker's number and single attempts, in the order in which they ended, if
    /// [`Bookkeeping::log`](crate::Bookkeeping::log) is set.
    pub on_log: &'a mut dyn FnMut(usize, &[LogRecord]),
}

/// Why a run failed as a whole.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// Waiting for clients failed in a worker, or a worker could not start.
    #[error("a worker failed: {0}")]
    Worker(#[from] io::Error),
    /// A worker panicked.
    #[error("a worker thread panicked")]
    Panicked,
    /// The counting equation does not hold for an interval: a bug in pgdyno.
    #[error("interval {index}: {imbalance}")]
    Miscounted {
        /// Number of the interval.
        index: u32,
        /// Both sides of the equation.
        imbalance: Imbalance,
    },
}
