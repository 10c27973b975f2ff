//! Encryption between a target and the engine.

use std::{io, os::fd::OwnedFd};

use pgdyno_core::measure::Outcome;
use pgdyno_engine::{Event, Probe, Step, Target};

use crate::wire::Records;

/// A target whose bytes go over a connection as they are, or encrypted. The target knows nothing of it: what it sends
/// is sealed into records, and what is received is opened before it sees it, in buffers that stay.
#[derive(Debug)]
pub struct Link<T> {
    inner: T,
    tls: Option<Box<Tls>>,
}

#[derive(Debug)]
struct Tls {
    records: Records,
    /// The records of what the target sends.
    outgoing: Vec<u8>,
}

/// A target that can make its connection anew.
pub trait Reconnects: Target {
    /// Connects and authenticates; what the target knew of the old connection is over. Gives the socket, and the record
    /// layer where the connection is encrypted ([`crate::wire::Session::into_parts`]).
    ///
    /// # Errors
    /// Why there is no connection. Without an implementation, always.
    fn reconnect(&mut self) -> io::Result<(OwnedFd, Option<Records>)> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "this target cannot connect again"))
    }
}

impl Tls {
    fn new(records: Records) -> Box<Self> {
        Box::new(Self { records, outgoing: Vec::with_capacity(1024) })
    }
}

impl<T: Reconnects> Link<T> {
    /// A target on a connection; encrypted where the connection has a record layer.
    pub fn new(inner: T, records: Option<Records>) -> Self {
        Self { inner, tls: records.map(Tls::new) }
    }

    /// An event on an encrypted connection.
    fn encrypted(&mut self, event: Event<'_>, now_ns: u64, probe: &mut Probe) -> Step {
        let Some(tls) = &mut self.tls else { return self.inner.step(event, now_ns, probe) };
        let step = match event {
            Event::Received(bytes) => match tls.records.open(bytes) {
                // Half a record, or one that is no data: the target has nothing to think about.
                Ok(0) => return Step::Receive,
                Ok(plain) => {
                    let event = Event::Received(tls.records.plain(plain));
                    let step = self.inner.step(event, now_ns, probe);
                    tls.records.done(plain);
                    step
                }
                Err(error) => return self.gone(error, now_ns, probe),
            },
            event => self.inner.step(event, now_ns, probe),
        };
        if step != Step::Send {
            return step;
        }
        tls.outgoing.clear();
        match tls.records.seal(self.inner.outgoing(), &mut tls.outgoing) {
            Ok(()) => Step::Send,
            Err(error) => self.gone(error, now_ns, probe),
        }
    }

    /// The connection is of no use any more, though the kernel knows nothing of it.
    fn gone(&mut self, error: io::Error, now_ns: u64, probe: &mut Probe) -> Step {
        match self.inner.step(Event::Gone(Some(error)), now_ns, probe) {
            Step::Last(outcome) | Step::Done(outcome) => Step::Last(outcome),
            _ => Step::Last(self.inner.abandon()),
        }
    }
}

impl<T: Reconnects> Target for Link<T> {
    #[inline]
    fn step(&mut self, event: Event<'_>, now_ns: u64, probe: &mut Probe) -> Step {
        match self.tls {
            None => self.inner.step(event, now_ns, probe),
            Some(_) => self.encrypted(event, now_ns, probe),
        }
    }

    #[inline]
    fn outgoing(&self) -> &[u8] {
        match &self.tls {
            None => self.inner.outgoing(),
            Some(tls) => &tls.outgoing,
        }
    }

    fn connect(&mut self) -> io::Result<OwnedFd> {
        let (socket, records) = self.inner.reconnect()?;
        self.tls = records.map(Tls::new);
        Ok(socket)
    }

    fn abandon(&mut self) -> Outcome {
        self.inner.abandon()
    }
}
