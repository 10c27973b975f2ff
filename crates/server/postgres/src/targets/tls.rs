//! Encryption between a target and the engine.

use std::{
    io,
    os::fd::OwnedFd,
    sync::{Arc, Mutex, PoisonError},
};

use pgdyno_core::{measure::Outcome, stop::Stop};
use pgdyno_engine::{Dial, Event, Probe, Step, Target};

use pgdyno_wire::Records;

/// A target with an optionally encrypted connection. Encryption is transparent: data sent by the target is
/// sealed into records, data received is decrypted before the target sees it, in reused buffers.
#[derive(Debug)]
pub struct Link<T> {
    inner: T,
    way: Way,
}

/// State of the connection's encryption.
#[derive(Debug)]
enum Way {
    Plain,
    Encrypted(Box<Tls>),
    /// The next connection is being made, and will leave its record layer here if it has one.
    Awaited(Arc<Mutex<Option<Records>>>),
}

#[derive(Debug)]
struct Tls {
    records: Records,
    /// Records for data sent by the target.
    outgoing: Vec<u8>,
}

/// A target that can reconnect.
pub trait Reconnects: Target {
    /// Returns a function that connects and authenticates; the target's state of the old connection is void.
    /// The function returns the socket, with a record layer if the connection is encrypted
    /// ([`pgdyno_wire::Session::into_parts`]). The default implementation always fails.
    fn redial(&mut self) -> Redial {
        Box::new(|_| Err(io::Error::new(io::ErrorKind::Unsupported, "this target cannot connect again")))
    }
}

/// Makes a connection for a [`Link`], in a thread that may block.
pub type Redial = Box<dyn FnOnce(&Stop) -> io::Result<(OwnedFd, Option<Records>)> + Send>;

impl Way {
    fn of(records: Option<Records>) -> Self {
        records.map_or(Self::Plain, |records| Self::Encrypted(Tls::new(records)))
    }
}

impl Tls {
    fn new(records: Records) -> Box<Self> {
        Box::new(Self { records, outgoing: Vec::with_capacity(1024) })
    }
}

impl<T: Reconnects> Link<T> {
    /// A target on a connection, which is encrypted if it has a record layer.
    pub fn new(inner: T, records: Option<Records>) -> Self {
        Self { inner, way: Way::of(records) }
    }

    /// Handles an event on an encrypted connection, or without a connection.
    fn encrypted(&mut self, event: Event<'_>, now_ns: u64, probe: &mut Probe) -> Step {
        if let (Way::Awaited(made), Event::Connected) = (&self.way, &event) {
            let records = made.lock().unwrap_or_else(PoisonError::into_inner).take();
            self.way = Way::of(records);
        }
        let Way::Encrypted(tls) = &mut self.way else { return self.inner.step(event, now_ns, probe) };
        let step = match event {
            Event::Received(bytes) => match tls.records.open(bytes) {
                // Half a record, or one without data: nothing for the target to do.
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

    /// Ends a connection that is unusable though the kernel does not know.
    fn gone(&mut self, error: io::Error, now_ns: u64, probe: &mut Probe) -> Step {
        match self.inner.step(Event::Gone(Some(error)), now_ns, probe) {
            step @ (Step::Last(_) | Step::Reconnect(_)) => step,
            Step::Done(outcome) => Step::Last(outcome),
            _ => Step::Last(self.inner.abandon()),
        }
    }
}

impl<T: Reconnects> Target for Link<T> {
    #[inline]
    fn step(&mut self, event: Event<'_>, now_ns: u64, probe: &mut Probe) -> Step {
        match self.way {
            Way::Plain => self.inner.step(event, now_ns, probe),
            Way::Encrypted(_) | Way::Awaited(_) => self.encrypted(event, now_ns, probe),
        }
    }

    #[inline]
    fn outgoing(&self) -> &[u8] {
        match &self.way {
            Way::Encrypted(tls) => &tls.outgoing,
            Way::Plain | Way::Awaited(_) => self.inner.outgoing(),
        }
    }

    fn dial(&mut self) -> Dial {
        let redial = self.inner.redial();
        let made = Arc::new(Mutex::new(None));
        self.way = Way::Awaited(Arc::clone(&made));
        Box::new(move |stop| {
            let (socket, records) = redial(stop)?;
            *made.lock().unwrap_or_else(PoisonError::into_inner) = records;
            Ok(socket)
        })
    }

    fn abandon(&mut self) -> Outcome {
        self.inner.abandon()
    }
}
