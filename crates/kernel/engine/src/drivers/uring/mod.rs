//! Sockets by completion (io_uring): one system call sends everything that is due and takes everything that came.
//!
//! Every socket has one receive request that stays armed (multishot) and takes its buffers from a ring that all
//! sockets of a worker share; a send is a submission without a completion of its own unless it fails. The kernel
//! does its part of the work when the worker enters it (deferred task work), never in between (`io_uring_setup(2)`,
//! `IORING_SETUP_DEFER_TASKRUN`; `io_uring_prep_recv_multishot(3)`).

mod buffers;
mod lines;

use std::io;

use io_uring::{CompletionQueue, IoUring, SubmissionQueue, Submitter, cqueue, opcode, squeue, types};
use rustix::io::Errno;

use self::{buffers::Buffers, lines::Lines};
use super::{
    NOTIFIERS,
    client_scheduler::ClientScheduler,
    sockets::{Arrival, Sending, Sockets, TICK_NS, WaitLimit},
};
use crate::{Client, Target, report::Ended, worker_schedule::WorkerSchedule};

/// Most and fewest submissions that fit in the ring; a full ring is submitted early.
const MAX_SUBMISSIONS: usize = 4_096;
const MIN_SUBMISSIONS: usize = 64;

/// Checks that this kernel, this process and its limits allow what [`drive`] needs.
pub(super) fn check() -> io::Result<()> {
    let mut ring = ring(1)?;
    let (submitter, submissions, completions) = ring.split();
    UringSockets::open(1, submitter, submissions, completions).map(drop)
}

/// Drives clients with io_uring: one ring per thread, any number of clients. Clients without a socket, which only wait
/// by time, work too.
pub(super) fn drive<T: Target>(
    clients: Vec<Client<T>>,
    schedule: Box<WorkerSchedule>,
) -> io::Result<Ended<T>> {
    let mut ring = ring(clients.len() + NOTIFIERS)?;
    let (submitter, submissions, completions) = ring.split();
    let sockets = UringSockets::open(clients.len() + NOTIFIERS, submitter, submissions, completions)?;
    ClientScheduler::work(clients, schedule, sockets)
}

/// Makes a ring for this many sockets, to be used by the calling thread only.
fn ring(sockets: usize) -> io::Result<IoUring> {
    let submissions = sockets.next_power_of_two().clamp(MIN_SUBMISSIONS, MAX_SUBMISSIONS) as u32;
    IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_submit_all()
        .setup_clamp()
        .setup_cqsize((2 * sockets).next_power_of_two().max(2 * MIN_SUBMISSIONS) as u32)
        .build(submissions)
}

struct UringSockets<'ring> {
    submitter: Submitter<'ring>,
    submissions: SubmissionQueue<'ring>,
    completions: CompletionQueue<'ring>,
    lines: Lines,
    buffers: Buffers,
    /// Buffer whose bytes were lent last; given back when the next arrival is requested.
    lent: Option<u16>,
    /// Whether a tick is pending.
    ticking: bool,
    /// Whether all requests were cancelled, and none is made any more.
    quiet: bool,
}

/// User data of a tick; no socket has this value.
const TICK: u64 = u64::MAX;
static TICK_AFTER: types::Timespec = types::Timespec::new().nsec(TICK_NS as u32);

impl<'ring> UringSockets<'ring> {
    fn open(
        sockets: usize,
        mut submitter: Submitter<'ring>,
        submissions: SubmissionQueue<'ring>,
        completions: CompletionQueue<'ring>,
    ) -> io::Result<Self> {
        submitter.register_files_sparse(sockets.max(1) as u32)?;
        let buffers = Buffers::register(&submitter, sockets)?;
        submitter.register_ring_fd()?;
        let lines = Lines::new(sockets);
        Ok(Self {
            submitter,
            submissions,
            completions,
            lines,
            buffers,
            lent: None,
            ticking: false,
            quiet: false,
        })
    }

    /// Queues a request; a full queue is submitted first.
    #[inline]
    fn push(&mut self, request: &squeue::Entry) -> io::Result<()> {
        // SAFETY: a send reads from a buffer of `lines`, which keeps every buffer until the ring is gone; a receive
        // writes to buffers of `buffers`, which does the same; a tick reads a static.
        #[allow(unsafe_code)]
        while unsafe { self.submissions.push(request) }.is_err() {
            self.submissions.sync();
            self.submitter.submit()?;
            self.submissions.sync();
        }
        Ok(())
    }

    fn enter(&mut self, limit: WaitLimit) -> io::Result<()> {
        if !std::mem::replace(&mut self.ticking, true) {
            self.push(&opcode::Timeout::new(&raw const TICK_AFTER).build().user_data(TICK))?;
        }
        self.submissions.sync();
        let entered = if limit.outlasts_a_tick() {
            self.submitter.submit_and_wait(1)
        } else {
            let timeout = types::Timespec::new().nsec(limit.left_ns as u32);
            self.submitter.submit_with_args(1, &types::SubmitArgs::new().timespec(&timeout))
        };
        self.submissions.sync();
        self.completions.sync();
        match entered.map_err(|error| (Errno::from_io_error(&error), error)) {
            // Timeout, signal, or more completions than the ring holds: the loop continues.
            Ok(_) | Err((Some(Errno::TIME | Errno::INTR | Errno::BUSY | Errno::AGAIN), _)) => Ok(()),
            Err((_, error)) => Err(error),
        }
    }

    /// Cancels all requests and waits for their end. Having nothing to cancel is an error of the kernel's; a ring that
    /// cannot be entered has no pending requests.
    fn cancel_all(&mut self) {
        self.submissions.sync();
        let _ = self.submitter.submit();
        let _ = self.submitter.register_sync_cancel(None, types::CancelBuilder::any());
    }

    /// Evaluates a completed receive; `None` if it has nothing to report.
    fn received(&mut self, seat: usize, completion: &cqueue::Entry) -> io::Result<Option<Arrived>> {
        let buffer = cqueue::buffer_select(completion.flags());
        if self.quiet && completion.result() < 0 {
            return Ok(None);
        }
        if !self.quiet && !cqueue::more(completion.flags()) && completion.result() != 0 {
            self.push(&self.lines.receive(seat))?;
        }
        Ok(match completion.result() {
            0 => Some(Arrived::Gone(self.lines.take_error(seat))),
            bytes @ 1.. => buffer.map(|buffer| Arrived::Bytes { buffer, bytes: bytes as usize }),
            code => match Errno::from_raw_os_error(-code) {
                // All buffers were full of data still being read, or a signal came.
                Errno::NOBUFS | Errno::INTR | Errno::AGAIN => None,
                error => Some(Arrived::Gone(Some(error.into()))),
            },
        })
    }
}

/// Event on a socket, with its buffer by number.
enum Arrived {
    Bytes { buffer: u16, bytes: usize },
    Gone(Option<io::Error>),
}

impl Sockets for UringSockets<'_> {
    fn add(&mut self, seat: usize, socket: std::os::fd::OwnedFd) -> io::Result<()> {
        // On a non-blocking socket a send would fail instead of waiting for room.
        rustix::io::ioctl_fionbio(&socket, false)?;
        let fd = self.lines.open(seat, socket);
        self.submitter.register_files_update(seat as u32, &[fd])?;
        self.push(&self.lines.receive(seat))
    }

    fn remove(&mut self, seat: usize) -> io::Result<()> {
        if self.lines.close(seat) {
            self.submitter.register_files_update(seat as u32, &[-1])?;
        }
        Ok(())
    }

    fn quiesce(&mut self) -> io::Result<()> {
        self.quiet = true;
        self.cancel_all();
        self.completions.sync();
        Ok(())
    }

    fn release(&mut self, seat: usize) -> io::Result<Option<std::os::fd::OwnedFd>> {
        let socket = self.lines.release(seat);
        if socket.is_some() {
            self.submitter.register_files_update(seat as u32, &[-1])?;
        }
        Ok(socket)
    }

    #[inline]
    fn send(&mut self, seat: usize, bytes: &[u8]) -> io::Result<Sending> {
        match self.lines.send(seat, bytes) {
            Some(request) => self.push(&request).map(|()| Sending::Handed),
            None => Ok(Sending::Broken(None)),
        }
    }

    /// Always `None`: after a failed send the armed receive still delivers what the peer sent last.
    fn read_remaining(&mut self, _seat: usize) -> Option<&[u8]> {
        None
    }

    #[inline]
    fn wait(&mut self, limit: WaitLimit) -> io::Result<()> {
        self.enter(limit)
    }

    #[inline]
    fn next(&mut self) -> io::Result<Option<(usize, Arrival<'_>)>> {
        if let Some(buffer) = self.lent.take() {
            self.buffers.give_back(buffer);
        }
        while let Some(completion) = self.completions.next() {
            if completion.user_data() == TICK {
                self.ticking = false;
                continue;
            }
            let Some((seat, kind)) = self.lines.whose(completion.user_data()) else {
                // Belongs to a socket that was closed meanwhile.
                if let Some(buffer) = cqueue::buffer_select(completion.flags()) {
                    self.buffers.give_back(buffer);
                }
                continue;
            };
            let arrived = match kind {
                lines::Kind::Send => {
                    self.lines.send_failed(seat, completion.result());
                    None
                }
                lines::Kind::Receive => self.received(seat, &completion)?,
            };
            match arrived {
                None => {}
                Some(Arrived::Gone(error)) => return Ok(Some((seat, Arrival::Gone(error)))),
                Some(Arrived::Bytes { buffer, bytes }) => {
                    self.lent = Some(buffer);
                    return Ok(Some((seat, Arrival::Bytes(self.buffers.bytes(buffer, bytes)))));
                }
            }
        }
        Ok(None)
    }
}

impl Drop for UringSockets<'_> {
    /// Makes the kernel release all buffers before they are freed.
    fn drop(&mut self) {
        self.lines.close_all();
        self.cancel_all();
    }
}
