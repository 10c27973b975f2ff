//! What an attempt does, as a state machine without I/O.

use std::{io, os::fd::OwnedFd};

use pgdyno_core::{measure::Outcome, stop::Stop};

use crate::Probe;

/// What happened to a client.
#[derive(Debug)]
pub enum Event<'a> {
    /// A new attempt begins.
    Begin,
    /// Everything in [`Target::outgoing`] was handed to the kernel.
    Sent,
    /// Bytes came from the peer, cut anywhere.
    Received(&'a [u8]),
    /// The instant of a [`Step::WaitUntil`] has come.
    Woken,
    /// A [`Step::Disk`] is done, with its result.
    Disk(io::Result<()>),
    /// The connection of a [`Step::Connect`] is made, or that of a [`Step::Reconnect`]: then no attempt is under way,
    /// and the answer is not looked at.
    Connected,
    /// The connection is gone: closed by the peer (`None`) or broken, or could not be made.
    Gone(Option<io::Error>),
    /// The run is over, and no attempt is under way: a last question may be asked. Answered by [`Step::Send`] where
    /// there is one; [`Step::Done`], of whatever outcome, tells that its answer is there. It belongs to no attempt, is
    /// counted nowhere and has little time. A driver of sockets for many clients tells it; the others need not.
    Parting,
}

/// What a client wants next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Send [`Target::outgoing`], then tell [`Event::Sent`].
    Send,
    /// Wait for bytes.
    Receive,
    /// Wait for an instant in nanoseconds of the engine's clock.
    WaitUntil(u64),
    /// Close the connection, where there is one, and make another by [`Target::connect`]; then tell
    /// [`Event::Connected`], or [`Event::Gone`] with the reason.
    Connect,
    /// Do a disk operation; needs the blocking driver, because a synchronous write has no readiness.
    Disk(DiskOp),
    /// The attempt has ended, if one was under way, and the connection is of no use any more: the client can begin
    /// another over a new one, which is made by [`Target::dial`] beside the loop. After a [`Event::Gone`] that tells of
    /// a failed try: try again, after a while.
    Reconnect(Outcome),
    /// The attempt has ended and the client can begin another.
    Done(Outcome),
    /// The attempt has ended and the client can begin no other: it is lost, unless it said [`Probe::finished`].
    Last(Outcome),
}

/// A disk operation on the file of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskOp {
    /// Write [`Target::outgoing`] at this offset in bytes, then `fdatasync`.
    WriteAndSync {
        /// Offset in bytes.
        offset: u64,
    },
}

/// Makes one connection in a thread that may wait. A request to stop ends its waits within a fraction of a second.
pub type Dial = Box<dyn FnOnce(&Stop) -> io::Result<OwnedFd> + Send>;

/// One client's state machine. The engine calls [`Target::step`] once for every event and does what it returns.
pub trait Target: Send {
    /// Takes an event and says what is wanted next.
    ///
    /// `now_ns` is the instant at which the engine learned of the event; with [`Event::Sent`] it is the instant of
    /// the event before it, so that sending costs no look at the clock. An [`Event::Woken`] may come more than once.
    fn step(&mut self, event: Event<'_>, now_ns: u64, probe: &mut Probe) -> Step;

    /// The bytes of a [`Step::Send`] or [`DiskOp::WriteAndSync`].
    fn outgoing(&self) -> &[u8];

    /// Makes the connection of a [`Step::Connect`]: connected, authenticated, with nothing left to read. What the
    /// target knew of the old one (prepared statements, half a message) is over.
    ///
    /// The one step of a target that makes system calls and may wait. The other clients of its worker wait meanwhile,
    /// as pgbench's do: connecting is part of what such a run measures, and handing it to another thread would add two
    /// wake-ups to each.
    ///
    /// # Errors
    /// Why there is no connection; the engine passes it on as [`Event::Gone`]. Without an implementation, always.
    fn connect(&mut self) -> io::Result<OwnedFd> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "this target cannot connect again"))
    }

    /// How the connection of a [`Step::Reconnect`] is made: connected, authenticated, with nothing left to read. What
    /// the target knew of the old one is over. Called in the worker, and must not wait; what it gives may.
    fn dial(&mut self) -> Dial {
        Box::new(|_| Err(io::Error::new(io::ErrorKind::Unsupported, "this target cannot connect again")))
    }

    /// What the attempt under way comes to when it gets no more time: [`Outcome::TimedOut`], or
    /// [`Outcome::InDoubt`] where a commit may have been carried out.
    fn abandon(&mut self) -> Outcome;
}

/// A target with the descriptor that its I/O goes to: a connected socket, a file, or nothing.
#[derive(Debug)]
pub struct Client<T> {
    /// The state machine.
    pub target: T,
    /// Where its I/O goes.
    pub io: Option<OwnedFd>,
}
