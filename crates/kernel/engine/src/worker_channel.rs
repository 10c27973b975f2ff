//! Messages between a worker and the collecting thread.

use std::sync::mpsc::{Receiver, Sender};

use pgdyno_core::measure::{Latency, Precision, Slowest};

use crate::{LogRecord, report::IntervalReport};

/// Message from a worker to the collecting thread.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a box would be an allocation in the loop")]
pub(crate) enum WorkerMessage {
    /// An interval that has ended.
    Interval(IntervalReport),
    /// Single attempts, in the order in which they ended.
    Log(Vec<LogRecord>),
}

/// Makes an empty histogram; unless `wanted`, it allocates nothing until a sample comes.
pub(crate) fn empty(precision: Precision, wanted: bool) -> Latency {
    if wanted { Latency::new(precision) } else { Latency::lazy(precision) }
}

/// Emptied histograms of an interval, for reuse.
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

/// A worker's channel to the collecting thread, and the way back of emptied buffers.
#[derive(Debug)]
pub(crate) struct WorkerChannel {
    pub(crate) worker: usize,
    pub(crate) to: Sender<(usize, WorkerMessage)>,
    pub(crate) spares: Receiver<Spare>,
    pub(crate) spare_logs: Receiver<Vec<LogRecord>>,
}
