//! How a run is done, who is told what meanwhile, and why it may fail.

use std::io;

use pgdyno_core::measure::Imbalance;

use crate::{LogRecord, MergedInterval};

/// How a run is done.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Length of the warm-up in nanoseconds; 0 is none.
    pub warmup_ns: u64,
    /// Length of the measured interval in nanoseconds.
    pub duration_ns: u64,
    /// Length of the reported intervals in nanoseconds.
    pub interval_ns: u64,
    /// Time that attempts under way get at the end, in nanoseconds.
    pub drain_ns: u64,
    /// Attempts a second over all workers; `None` is a closed loop.
    pub rate_per_s: Option<f64>,
    /// Seed of the schedule.
    pub seed: u64,
    /// Statements of the script.
    pub statements: usize,
    /// Processors of the workers; empty is any. Worker `i` runs on the processors `i` modulo their number.
    pub cpus: Vec<u32>,
}

/// An instant of a run at which the caller may want to look at something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// The measured interval begins.
    MeasureStart,
    /// The measured interval has ended.
    MeasureEnd,
}

/// Who is told what while a run goes on, all on the calling thread.
pub struct Listeners<'a> {
    /// Gets every interval as soon as all workers have closed it.
    pub on_interval: &'a mut dyn FnMut(&MergedInterval),
    /// Called at the edges of the measured interval.
    pub on_mark: &'a mut dyn FnMut(Mark),
    /// Gets single attempts of a worker, in the order in which they ended, where [`Bookkeeping::log`] asks for them.
    pub on_log: &'a mut dyn FnMut(usize, &[LogRecord]),
}

impl std::fmt::Debug for Listeners<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Listeners")
    }
}

/// Why a run failed as a whole.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// A worker could not wait for its clients.
    #[error("a worker failed: {0}")]
    Worker(#[from] io::Error),
    /// A worker panicked.
    #[error("a worker thread panicked")]
    Panicked,
    /// Attempts were lost in counting: a fault of pgdyno.
    #[error("interval {index}: {imbalance}")]
    Miscounted {
        /// Number of the interval.
        index: u32,
        /// Both sides.
        imbalance: Imbalance,
    },
}
