//! What an attempt does, as a state machine without I/O.

use std::{io, os::fd::OwnedFd};

use pgdyno_core::measure::Outcome;

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
    /// The connection is gone: closed by the peer (`None`) or broken.
    Gone(Option<io::Error>),
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
    /// Do a disk operation; needs the blocking driver, because a synchronous write has no readiness.
    Disk(DiskOp),
    /// The attempt has ended and the client can begin another.
    Done(Outcome),
    /// The attempt has ended and the client can begin no other.
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

/// One client's state machine. The engine calls [`Target::step`] once for every event and does what it returns.
pub trait Target: Send {
    /// Takes an event and says what is wanted next.
    ///
    /// `now_ns` is the instant at which the engine learned of the event; with [`Event::Sent`] it is the instant of
    /// the event before it, so that sending costs no look at the clock. An [`Event::Woken`] may come more than once.
    fn step(&mut self, event: Event<'_>, now_ns: u64, probe: &mut Probe) -> Step;

    /// The bytes of a [`Step::Send`] or [`DiskOp::WriteAndSync`].
    fn outgoing(&self) -> &[u8];

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
