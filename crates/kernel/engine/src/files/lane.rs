//! What one thread of a run is given, and what it gives back.

use std::{
    fmt,
    fs::File,
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use pgdyno_core::stop::Stop;

use super::{
    block_buffers::BlockBuffers,
    operation::Operation,
    tally::{FileTally, Measured, TallyRecorder},
};

/// An operation that failed. Nothing is repeated.
#[derive(Debug)]
pub struct FailedOperation {
    /// The operation.
    pub operation: Operation,
    /// The kernel's error; `UnexpectedEof` or `WriteZero` if only a part was read or written.
    pub error: io::Error,
}

impl fmt::Display for FailedOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.operation {
            Operation::Read { offset, len } => write!(f, "read of {len} bytes at offset {offset}"),
            Operation::Write { offset, len } => write!(f, "write of {len} bytes at offset {offset}"),
            Operation::SyncData => f.write_str("fdatasync"),
            Operation::WriteBack { offset, len } => {
                write!(f, "sync_file_range of {len} bytes at offset {offset}")
            }
            Operation::Nop => f.write_str("empty operation"),
        }?;
        write!(f, ": {}", self.error)
    }
}

/// Checks the number of bytes that an operation read or wrote.
pub(super) fn check_bytes(operation: &Operation, bytes: usize) -> Result<(), FailedOperation> {
    let kind = match operation {
        Operation::Read { .. } => io::ErrorKind::UnexpectedEof,
        _ => io::ErrorKind::WriteZero,
    };
    if bytes == operation.bytes() as usize {
        return Ok(());
    }
    let error = io::Error::new(kind, format!("only {bytes} bytes were transferred"));
    Err(FailedOperation { operation: *operation, error })
}

/// Completed operations and bytes of all threads, for progress while they run.
#[derive(Debug, Default)]
pub(super) struct Live {
    pub(super) operations: AtomicU64,
    pub(super) bytes: AtomicU64,
}

/// What the threads of a run share.
#[derive(Debug)]
pub(super) struct Common<'a> {
    pub(super) stop: &'a Stop,
    /// An operation failed: no thread begins another one.
    pub(super) failed: AtomicBool,
    pub(super) live: Live,
}

impl Common<'_> {
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.stop.requested() || self.failed.load(Ordering::Relaxed)
    }
}

/// Thread of a run, before it begins.
#[derive(Debug)]
pub(super) struct Lane<'a, S> {
    pub(super) file: Arc<File>,
    pub(super) source: S,
    /// Number of its buffers, and bytes in each of them.
    pub(super) buffers: (usize, usize),
    pub(super) seed: u64,
    pub(super) common: &'a Common<'a>,
}

impl<S> Lane<'_, S> {
    /// Allocates its buffers, from the memory next to the CPU that this runs on.
    pub(super) fn buffers(&self) -> BlockBuffers {
        let (count, bytes) = self.buffers;
        BlockBuffers::new(count, bytes, self.seed)
    }
}

/// What became of a thread.
#[derive(Debug)]
pub(super) struct LaneReport {
    pub(super) tally: FileTally,
    /// When its last operation ended, in nanoseconds of the engine's clock.
    pub(super) ended_ns: u64,
    pub(super) failure: Option<FailedOperation>,
}

/// What a thread knows while it runs.
#[derive(Debug)]
pub(super) struct Progress<'a> {
    pub(super) recorder: TallyRecorder,
    pub(super) common: &'a Common<'a>,
    failure: Option<FailedOperation>,
    ended_ns: u64,
    batch: [u64; 2],
}

impl<'a> Progress<'a> {
    pub(super) fn new(measured: Measured, common: &'a Common<'a>) -> Self {
        let recorder = TallyRecorder::new(measured);
        Self { recorder, common, failure: None, ended_ns: measured.begin_ns, batch: [0; 2] }
    }

    /// The operations that follow ended at this time.
    #[inline]
    pub(super) fn at(&mut self, now_ns: u64) {
        self.recorder.at(now_ns);
        self.ended_ns = now_ns;
    }

    #[inline]
    pub(super) fn ended(&mut self, operation: &Operation, begun_ns: u64) {
        self.recorder.record(operation, begun_ns);
        self.batch[0] += 1;
        self.batch[1] += u64::from(operation.bytes());
    }

    /// Adds what ended since the last call to what all threads show.
    #[inline]
    pub(super) fn publish(&mut self) {
        let [operations, bytes] = std::mem::take(&mut self.batch);
        self.common.live.operations.fetch_add(operations, Ordering::Relaxed);
        self.common.live.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn failed(&mut self, failure: FailedOperation) {
        self.common.failed.store(true, Ordering::Relaxed);
        self.failure.get_or_insert(failure);
    }

    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.recorder.is_over() || self.common.is_over()
    }

    pub(super) fn finish(mut self) -> LaneReport {
        self.publish();
        LaneReport { tally: self.recorder.finish(), ended_ns: self.ended_ns, failure: self.failure }
    }
}
