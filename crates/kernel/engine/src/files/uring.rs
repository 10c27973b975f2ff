//! Many operations of one thread at one time, by io_uring.
//!
//! One system call submits everything that is due and takes everything that has ended. File and buffers are registered,
//! so that the kernel need not look them up for every operation, and completions are handed over when the thread enters
//! the kernel, never in between (`io_uring_setup(2)`, `IORING_SETUP_DEFER_TASKRUN`, Linux 6.1; older kernels do
//! without).

use std::{collections::VecDeque, fs::File, io, os::fd::AsRawFd};

use io_uring::{CompletionQueue, IoUring, SubmissionQueue, Submitter, opcode, squeue, types};
use rustix::io::Errno;

use super::{
    block_buffers::BlockBuffers,
    lane::{FailedOperation, Lane, LaneReport, Progress, check_bytes},
    operation::{Operation, Operations},
    tally::Measured,
};
use crate::Clock;

/// How often a thread whose operations take long checks whether its time is over.
static TICK_AFTER: types::Timespec = types::Timespec::new().nsec(50_000_000);
/// Operations that are submitted at once. With more, the first of them wait until the last is prepared, and the device
/// begins and ends them in bursts: at a depth of 32 the median was a third higher than with 4. One at a time takes more
/// system calls and requests that the kernel cannot hand to the device together.
const MOST_AT_ONCE: usize = 4;
/// User data of the timeout that ends after a tick.
const TICK: u64 = u64::MAX;
/// Most bytes that are registered as one buffer (`io_uring_register_buffers(2)`).
const MOST_REGISTERED_BYTES: usize = 1 << 30;
/// Flag of `sync_file_range(2)`.
const SYNC_FILE_RANGE_WRITE: u32 = libc::SYNC_FILE_RANGE_WRITE;

/// Checks that this kernel, this process and its limits allow what [`drive`] needs.
pub(super) fn check() -> io::Result<()> {
    ring(1)?.submitter().register_files_sparse(1)
}

/// Makes a ring for so many operations in flight, to be used by the calling thread only.
pub(super) fn ring(depth: usize) -> io::Result<IoUring> {
    // One more for the tick.
    let entries = (depth + 1).next_power_of_two() as u32;
    let built = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_submit_all()
        .setup_cqsize(2 * entries)
        .build(entries);
    match built {
        Err(error) if Errno::from_io_error(&error) == Some(Errno::INVAL) => {
            IoUring::builder().setup_cqsize(2 * entries).build(entries)
        }
        built => built,
    }
}

/// Drives the operations of one job. `begin` is called once everything is set up, and waits for the measured interval;
/// it returns `None` if another thread could not be set up.
pub(super) fn drive<G: Operations>(
    lane: Lane<'_, G>,
    depth: usize,
    begin: impl FnOnce() -> Option<Measured>,
) -> io::Result<Option<LaneReport>> {
    let mut ring = ring(depth)?;
    let buffers = lane.buffers();
    let (submitter, submissions, completions) = ring.split();
    let mut flight = Flight::new(depth, submitter, submissions, completions, buffers, &lane.file)?;
    let Some(measured) = begin() else { return Ok(None) };
    let mut progress = Progress::new(measured, lane.common);
    flight.fly(lane.source, &mut progress)?;
    Ok(Some(progress.finish()))
}

/// An operation in flight.
#[derive(Debug, Clone, Copy)]
struct Pending {
    operation: Operation,
    begun_ns: u64,
}

struct Flight<'ring> {
    submitter: Submitter<'ring>,
    submissions: SubmissionQueue<'ring>,
    completions: CompletionQueue<'ring>,
    /// `None` only while they are given up.
    buffers: Option<BlockBuffers>,
    are_registered: bool,
    pending: Vec<Pending>,
    /// Buffers that are not in use, the one first that was used longest ago.
    free: VecDeque<u16>,
    /// Buffers of operations that were queued since the last submission.
    fresh: Vec<u16>,
    /// A sync that waits until nothing else is in flight.
    held: Option<Operation>,
    syncing: bool,
    ticking: bool,
    depth: usize,
}

impl<'ring> Flight<'ring> {
    fn new(
        depth: usize,
        mut submitter: Submitter<'ring>,
        submissions: SubmissionQueue<'ring>,
        completions: CompletionQueue<'ring>,
        buffers: BlockBuffers,
        file: &File,
    ) -> io::Result<Self> {
        submitter.register_files(&[file.as_raw_fd()])?;
        // Kernels before 5.18 look the ring up with every system call.
        let _ = submitter.register_ring_fd();
        let are_registered = register(&submitter, &buffers);
        let slots = buffers.count();
        Ok(Self {
            submitter,
            submissions,
            completions,
            buffers: Some(buffers),
            are_registered,
            pending: vec![Pending { operation: Operation::Nop, begun_ns: 0 }; slots],
            free: (0..slots as u16).collect(),
            fresh: Vec::with_capacity(depth),
            held: None,
            syncing: false,
            ticking: false,
            depth,
        })
    }

    /// Keeps operations in flight until there is no further one, time is up, or one failed; then waits for the rest.
    fn fly<G: Operations>(&mut self, mut source: G, progress: &mut Progress<'_>) -> io::Result<()> {
        let mut is_over = progress.is_over();
        loop {
            if !is_over {
                is_over = !self.fill(&mut source)?;
            }
            if self.in_flight() == 0 && (is_over || self.held.is_none()) {
                return Ok(());
            }
            self.enter()?;
            progress.at(Clock::now_ns());
            self.reap(progress);
            progress.publish();
            is_over |= progress.is_over();
        }
    }

    #[inline]
    fn in_flight(&self) -> usize {
        self.pending.len() - self.free.len()
    }

    /// Queues operations up to the depth, a few of which are submitted at a time; returns `false` if there is no
    /// further one. Their time begins after the last of the few was prepared.
    #[inline]
    fn fill<G: Operations>(&mut self, source: &mut G) -> io::Result<bool> {
        let mut more = true;
        while !self.syncing && self.in_flight() < self.depth {
            let Some(operation) = self.held.take().or_else(|| source.next()) else {
                more = false;
                break;
            };
            let syncs = operation == Operation::SyncData;
            if syncs && self.in_flight() > 0 {
                self.held = Some(operation);
                break;
            }
            self.syncing = syncs;
            self.queue(operation)?;
            if self.fresh.len() >= MOST_AT_ONCE {
                self.stamp();
                self.submit()?;
            }
        }
        self.stamp();
        Ok(more)
    }

    /// What was queued begins now.
    #[inline]
    fn stamp(&mut self) {
        if !self.fresh.is_empty() {
            let begun_ns = Clock::now_ns();
            self.fresh.drain(..).for_each(|slot| self.pending[usize::from(slot)].begun_ns = begun_ns);
        }
    }

    #[inline]
    fn queue(&mut self, operation: Operation) -> io::Result<()> {
        let Some(slot) = self.free.pop_front() else { return Ok(()) };
        let entry = self.entry(operation, usize::from(slot)).user_data(u64::from(slot));
        self.pending[usize::from(slot)].operation = operation;
        self.fresh.push(slot);
        self.push(&entry)
    }

    /// The request for an operation whose buffer the kernel does not have.
    #[inline]
    fn entry(&mut self, operation: Operation, slot: usize) -> squeue::Entry {
        let (file, are_registered) = (types::Fixed(0), self.are_registered);
        let buffers = self.buffers.as_mut().expect("they are given up at the end only");
        let address = buffers.address(slot);
        match operation {
            Operation::Read { offset, len } if are_registered => {
                opcode::ReadFixed::new(file, address, len, 0).offset(offset).build()
            }
            Operation::Read { offset, len } => opcode::Read::new(file, address, len).offset(offset).build(),
            Operation::Write { offset, len } => {
                buffers.refresh(slot, len as usize);
                if are_registered {
                    opcode::WriteFixed::new(file, address, len, 0).offset(offset).build()
                } else {
                    opcode::Write::new(file, address, len).offset(offset).build()
                }
            }
            Operation::SyncData => opcode::Fsync::new(file).flags(types::FsyncFlags::DATASYNC).build(),
            Operation::WriteBack { offset, len } => {
                opcode::SyncFileRange::new(file, len).offset(offset).flags(SYNC_FILE_RANGE_WRITE).build()
            }
            Operation::Nop => opcode::Nop::new().build(),
        }
    }

    #[inline]
    fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        // SAFETY: an operation uses a buffer that no other has, and buffers are freed only when nothing is in flight
        // (`drop`); a tick reads a static.
        #[expect(
            unsafe_code,
            reason = "the kernel and this process share memory: there is no safe way to say so"
        )]
        while unsafe { self.submissions.push(entry) }.is_err() {
            self.submissions.sync();
            self.submitter.submit()?;
            self.submissions.sync();
        }
        Ok(())
    }

    /// Submits what is queued and waits until something has ended.
    #[inline]
    fn enter(&mut self) -> io::Result<()> {
        if !std::mem::replace(&mut self.ticking, true) {
            self.push(&opcode::Timeout::new(&raw const TICK_AFTER).build().user_data(TICK))?;
        }
        self.submissions.sync();
        let entered = self.submitter.submit_and_wait(1);
        self.submissions.sync();
        self.completions.sync();
        match entered.map_err(|error| (Errno::from_io_error(&error), error)) {
            Ok(_) | Err((Some(Errno::INTR | Errno::BUSY | Errno::AGAIN), _)) => Ok(()),
            Err((_, error)) => Err(error),
        }
    }

    #[inline]
    fn submit(&mut self) -> io::Result<()> {
        self.submissions.sync();
        let submitted = self.submitter.submit();
        self.submissions.sync();
        match submitted.map_err(|error| (Errno::from_io_error(&error), error)) {
            // What is left is submitted with the next call.
            Ok(_) | Err((Some(Errno::INTR | Errno::BUSY | Errno::AGAIN), _)) => Ok(()),
            Err((_, error)) => Err(error),
        }
    }

    #[inline]
    fn reap(&mut self, progress: &mut Progress<'_>) {
        for completion in &mut self.completions {
            if completion.user_data() == TICK {
                self.ticking = false;
                continue;
            }
            let slot = completion.user_data() as u16;
            let Pending { operation, begun_ns } = self.pending[usize::from(slot)];
            self.free.push_back(slot);
            self.syncing = false;
            match outcome(&operation, completion.result()) {
                Ok(()) => progress.ended(&operation, begun_ns),
                Err(failure) => progress.failed(failure),
            }
        }
    }
}

/// Registers all buffers as one; without the right to lock so much memory, or if they are too large, operations name
/// their buffers instead.
fn register(submitter: &Submitter<'_>, buffers: &BlockBuffers) -> bool {
    let (start, size) = buffers.whole();
    let all = [libc::iovec { iov_base: start.cast(), iov_len: size }];
    // SAFETY: the buffers are freed after the last operation has ended (`Flight::drop`).
    #[expect(
        unsafe_code,
        reason = "the kernel and this process share memory: there is no safe way to say so"
    )]
    let registered = size <= MOST_REGISTERED_BYTES && unsafe { submitter.register_buffers(&all) }.is_ok();
    registered
}

fn outcome(operation: &Operation, result: i32) -> Result<(), FailedOperation> {
    match usize::try_from(result) {
        Ok(bytes) => check_bytes(operation, bytes),
        Err(_) => {
            let error = io::Error::from_raw_os_error(result.saturating_neg());
            Err(FailedOperation { operation: *operation, error })
        }
    }
}

impl Drop for Flight<'_> {
    /// Waits for the operations in flight: the kernel uses their buffers. If it cannot be waited for, the buffers are
    /// never freed.
    fn drop(&mut self) {
        while self.in_flight() > 0 {
            if self.enter().is_err() {
                std::mem::forget(self.buffers.take());
                return;
            }
            let ended = self.completions.by_ref().filter(|completion| completion.user_data() != TICK);
            self.free.extend(ended.map(|completion| completion.user_data() as u16));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use pgdyno_core::stop::Stop;

    use super::*;
    use crate::files::lane::{Common, Live};

    const MEASURED: Measured = Measured { begin_ns: 0, end_ns: u64::MAX };

    #[test]
    fn a_sync_waits_for_all_before_it_and_nothing_begins_meanwhile() {
        if check().is_err() {
            return;
        }
        let file = tempfile::tempfile_in(".").expect("a file can be made");
        let mut ring = ring(4).expect("it was checked");
        let (submitter, submissions, completions) = ring.split();
        let buffers = BlockBuffers::new(4, 512, 1);
        let mut flight =
            Flight::new(4, submitter, submissions, completions, buffers, &file).expect("it was checked");
        let stop = Stop::default();
        let common = Common { stop: &stop, failed: AtomicBool::new(false), live: Live::default() };
        let mut progress = Progress::new(MEASURED, &common);
        let list = [Operation::Nop, Operation::Nop, Operation::SyncData, Operation::Nop];
        let mut left = list.into_iter();
        let mut source = move || left.next();
        let mut seen = Vec::new();
        loop {
            let more = flight.fill(&mut source).expect("it is queued");
            if flight.in_flight() == 0 {
                break;
            }
            seen.push((flight.in_flight(), flight.syncing, flight.held.is_some(), more));
            while flight.in_flight() > 0 {
                flight.enter().expect("it can be entered");
                progress.at(Clock::now_ns());
                flight.reap(&mut progress);
            }
        }
        assert_eq!(seen, [(2, false, true, true), (1, true, false, true), (1, false, false, false)]);
        assert_eq!(progress.finish().tally.operations(), 4);
    }

    /// What is dropped with operations in flight waits for them: their buffers are the kernel's until then.
    #[test]
    fn nothing_is_in_flight_when_buffers_are_freed() {
        if check().is_err() {
            return;
        }
        let (reader, writer) = std::io::pipe().expect("a pipe can be made");
        let file = File::from(std::os::fd::OwnedFd::from(reader));
        let mut ring = ring(1).expect("it was checked");
        let (submitter, submissions, completions) = ring.split();
        let buffers = BlockBuffers::new(1, 512, 1);
        let mut flight =
            Flight::new(1, submitter, submissions, completions, buffers, &file).expect("it was checked");
        let mut source = || Some(Operation::Read { offset: u64::MAX, len: 512 });
        flight.fill(&mut source).expect("it is queued");
        flight.submissions.sync();
        flight.submitter.submit().expect("it can be submitted");
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(std::time::Duration::from_millis(20));
                ended.store(true, std::sync::atomic::Ordering::SeqCst);
                drop(writer);
            });
            drop(flight);
            assert!(ended.load(std::sync::atomic::Ordering::SeqCst), "the read was still in progress");
        });
    }
}
