//! What passes between a worker and the thread that collects.

use std::sync::mpsc::{Receiver, Sender};

use pgdyno_core::measure::{Latency, Precision, Slowest};

use crate::{IntervalReport, LogRecord};

/// What a worker hands to the collecting thread.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a box would be an allocation in the loop")]
pub(crate) enum WorkerMessage {
    /// An interval that has ended.
    Interval(IntervalReport),
    /// Single attempts, in the order in which they ended.
    Log(Vec<LogRecord>),
}

/// A histogram for samples that come, or for none.
pub(crate) fn empty(precision: Precision, wanted: bool) -> Latency {
    if wanted { Latency::new(precision) } else { Latency::lazy(precision) }
}

/// What an interval is measured with, emptied.
#[derive(Debug)]
pub(crate) struct Spare {
    pub(crate) latency: Latency,
    pub(crate) slowest: Slowest,
}

impl Spare {
    pub(crate) fn new(histograms: bool) -> Self {
        Self { latency: empty(Precision::Interval, histograms), slowest: Slowest::default() }
    }
}

/// Where a worker hands things to, and gets what was emptied back from.
#[derive(Debug)]
pub(crate) struct WorkerChannel {
    pub(crate) worker: usize,
    pub(crate) to: Sender<(usize, WorkerMessage)>,
    pub(crate) spares: Receiver<Spare>,
    pub(crate) spare_logs: Receiver<Vec<LogRecord>>,
}
