//! One operation of a thread at one time, by the system calls that PostgreSQL makes.

use std::{
    fs::File,
    io,
    os::{
        fd::{AsRawFd, RawFd},
        unix::fs::FileExt,
    },
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
};

use super::{
    lane::{FailedOperation, Lane, LaneReport, Progress, check_bytes},
    operation::{Operation, Operations},
    tally::Measured,
};
use crate::Clock;

/// The operations of a job, for all of its threads.
#[derive(Debug)]
pub(super) struct Shared<G> {
    source: Mutex<G>,
    /// Held together by all operations but a sync, which has it alone.
    barrier: RwLock<()>,
}

impl<G: Operations> Shared<G> {
    pub(super) fn new(source: G) -> Arc<Self> {
        Arc::new(Self { source: Mutex::new(source), barrier: RwLock::new(()) })
    }

    /// Takes the next operation and performs it with `work`; `None` if there is no further one. While a sync waits for
    /// earlier operations the source stays locked, so that no later one begins.
    fn perform<T>(&self, work: impl FnOnce(&Operation) -> T) -> Option<(Operation, T)> {
        let mut source: MutexGuard<'_, G> = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        let operation = source.next()?;
        if operation == Operation::SyncData {
            let _alone = self.barrier.write().unwrap_or_else(PoisonError::into_inner);
            return Some((operation, work(&operation)));
        }
        let _together = self.barrier.read().unwrap_or_else(PoisonError::into_inner);
        drop(source);
        Some((operation, work(&operation)))
    }
}

/// Drives operations of a job, one after the other; see [`super::uring::drive`] for `begin`.
pub(super) fn drive<G: Operations>(
    lane: Lane<'_, Arc<Shared<G>>>,
    begin: impl FnOnce() -> Option<Measured>,
) -> Option<LaneReport> {
    let mut buffers = lane.buffers();
    let mut slot = 0;
    let mut progress = Progress::new(begin()?, lane.common);
    while !progress.is_over() {
        slot = (slot + 1) % buffers.count();
        let performed = lane.source.perform(|operation| {
            if let Operation::Write { len, .. } = operation {
                buffers.refresh(slot, *len as usize);
            }
            let begun_ns = Clock::now_ns();
            let result = call(&lane.file, operation, buffers.slot(slot));
            (begun_ns, Clock::now_ns(), result)
        });
        let Some((operation, (begun_ns, ended_ns, result))) = performed else { break };
        progress.at(ended_ns);
        match result {
            Ok(()) => progress.ended(&operation, begun_ns),
            Err(failure) => progress.failed(failure),
        }
        progress.publish();
    }
    Some(progress.finish())
}

fn call(file: &File, operation: &Operation, buffer: &mut [u8]) -> Result<(), FailedOperation> {
    let done = match *operation {
        Operation::Read { offset, len } => file.read_at(&mut buffer[..len as usize], offset),
        Operation::Write { offset, len } => file.write_at(&buffer[..len as usize], offset),
        Operation::SyncData => file.sync_data().map(|()| 0),
        Operation::WriteBack { offset, len } => write_back(file.as_raw_fd(), offset, len).map(|()| 0),
        Operation::Nop => Ok(0),
    };
    match done {
        Ok(bytes) => check_bytes(operation, bytes),
        Err(error) => Err(FailedOperation { operation: *operation, error }),
    }
}

fn write_back(file: RawFd, offset: u64, len: u32) -> io::Result<()> {
    // SAFETY: no memory is passed.
    #[expect(unsafe_code, reason = "rustix has no sync_file_range")]
    let result =
        unsafe { libc::sync_file_range(file, offset as i64, i64::from(len), libc::SYNC_FILE_RANGE_WRITE) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicU32, AtomicU64, Ordering},
        thread,
    };

    use super::*;

    /// Every tenth operation is a sync. While one is performed nothing else is, and all that came before it has ended.
    #[test]
    fn a_sync_is_performed_alone_and_after_all_before_it() {
        let mut number = 0;
        let source = move || {
            number += 1;
            let next = if number % 10 == 0 {
                Operation::SyncData
            } else {
                Operation::Read { offset: number, len: 0 }
            };
            (number <= 2_000).then_some(next)
        };
        let (shared, in_flight, ended) = (Shared::new(source), AtomicU32::new(0), AtomicU64::new(0));
        let work = |operation: &Operation| {
            let others = in_flight.fetch_add(1, Ordering::SeqCst);
            if *operation == Operation::SyncData {
                assert_eq!((others, ended.load(Ordering::SeqCst) % 10), (0, 9), "it is not alone");
            }
            thread::yield_now();
            ended.fetch_add(1, Ordering::SeqCst);
            in_flight.fetch_sub(1, Ordering::SeqCst);
        };
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| while shared.perform(work).is_some() {});
            }
        });
        assert_eq!(ended.into_inner(), 2_000);
    }
}
