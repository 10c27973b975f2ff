//! The interface of what is measured: an attempt as a state machine without I/O.

use std::{io, os::fd::OwnedFd};

use pgdyno_core::{measure::Outcome, stop::Stop};

use crate::Probe;

/// Event of a client.
#[derive(Debug)]
pub enum Event<'a> {
    /// A new attempt begins.
    Begin,
    /// The kernel has taken everything in [`Target::outgoing`].
    Sent,
    /// Bytes came from the peer, cut at any point.
    Received(&'a [u8]),
    /// The instant of a [`Step::WaitUntil`] has come.
    Woken,
    /// The connection of a [`Step::Connect`] or [`Step::Reconnect`] is made. After a [`Step::Reconnect`] no attempt is
    /// in progress, and the returned step is ignored.
    Connected,
    /// The connection was closed by the peer (`None`), broke, or could not be made.
    Gone(Option<io::Error>),
    /// The run is over and no attempt is in progress: the target may send a final query. It answers [`Step::Send`] if
    /// it has one, and [`Step::Done`] with any outcome once it has the answer. The query belongs to no attempt, is not
    /// counted, and has little time.
    Parting,
}

/// Next action of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Send [`Target::outgoing`], then report [`Event::Sent`].
    Send,
    /// Wait for bytes.
    Receive,
    /// Wait for an instant in nanoseconds of the engine's clock.
    WaitUntil(u64),
    /// Close the connection, if there is one, and make another by [`Target::connect`]; then report
    /// [`Event::Connected`], or [`Event::Gone`] with the error.
    Connect,
    /// The attempt has ended, if one was in progress, and the connection is unusable: the client can continue over a
    /// new one, which [`Target::dial`] makes outside the loop. After an [`Event::Gone`] for a failed try: try again
    /// later.
    Reconnect(Outcome),
    /// The attempt has ended and the client can begin another.
    Done(Outcome),
    /// The attempt has ended and the client can begin no other: it is lost, unless [`Probe::finished`] was called.
    Last(Outcome),
}

/// Makes one connection, in a thread that may block. A stop request ends the waits within a fraction of a second.
pub type Dial = Box<dyn FnOnce(&Stop) -> io::Result<OwnedFd> + Send>;

/// State machine of one client. The engine calls [`Target::step`] once for every event and executes what it returns.
pub trait Target: Send {
    /// Handles an event and returns the next action.
    ///
    /// `now_ns` is the instant at which the engine learned of the event; for [`Event::Sent`] it is the instant of the
    /// event before, so that sending costs no read of the clock. An [`Event::Woken`] may come more than once.
    fn step(&mut self, event: Event<'_>, now_ns: u64, probe: &mut Probe) -> Step;

    /// Bytes to send for [`Step::Send`].
    fn outgoing(&self) -> &[u8];

    /// Makes the connection of a [`Step::Connect`]: connected, authenticated, with nothing left to read. The target
    /// must drop its state of the old connection (prepared statements, half a message).
    ///
    /// This is the only method of a target that makes system calls and may block. The other clients of its worker wait
    /// meanwhile, as pgbench's do: connecting is part of what such a run measures, and another thread would add two
    /// wake-ups to each.
    ///
    /// # Errors
    /// Why there is no connection; the engine passes it on as [`Event::Gone`].
    fn connect(&mut self) -> io::Result<OwnedFd> {
        self.dial()(&Stop::default())
    }

    /// Returns a function that makes the connection of a [`Step::Reconnect`]: connected, authenticated, with nothing
    /// left to read. The target must drop its state of the old connection. Called in the worker and must not block; the
    /// returned function may. The default implementation returns one that always fails.
    fn dial(&mut self) -> Dial {
        Box::new(|_| Err(io::Error::new(io::ErrorKind::Unsupported, "this target cannot connect again")))
    }

    /// Outcome of the current attempt when it gets no more time: [`Outcome::TimedOut`], or [`Outcome::InDoubt`] if a
    /// commit may have been executed.
    fn abandon(&mut self) -> Outcome;
}

/// A target and the descriptor for its I/O: a connected socket, a file, or nothing.
#[derive(Debug)]
pub struct Client<T> {
    /// State machine of the client.
    pub target: T,
    /// Socket or file; `None` if there is none yet or the target needs none.
    pub io: Option<OwnedFd>,
}
