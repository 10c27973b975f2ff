//! Decides what happens to each operation, and counts them.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use pgdyno_core::random::Random;
use rustix::io::{Errno, Result};

use crate::layer::behaviour::{Behaviour, Injection};

/// Kind of an operation that can be delayed or fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    Write,
    Sync,
}

/// How many operations reached the layer since it was mounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OperationCounts {
    /// Reads, with those that failed.
    pub reads: u64,
    /// Writes, with those that failed.
    pub writes: u64,
    /// Syncs, with those that failed or were dropped.
    pub syncs: u64,
}

/// The behaviour of a layer with its state.
pub(crate) struct Injector {
    behaviour: Behaviour,
    random: Mutex<Random>,
    reads: AtomicU64,
    writes: AtomicU64,
    syncs: AtomicU64,
}

impl Injector {
    pub(crate) fn new(behaviour: Behaviour) -> Self {
        let random = Mutex::new(Random::seeded(behaviour.seed));
        let zero = || AtomicU64::new(0);
        Self { behaviour, random, reads: zero(), writes: zero(), syncs: zero() }
    }

    fn of(&self, kind: Kind) -> (&Injection, &AtomicU64) {
        match kind {
            Kind::Read => (&self.behaviour.reads, &self.reads),
            Kind::Write => (&self.behaviour.writes, &self.writes),
            Kind::Sync => (&self.behaviour.syncs, &self.syncs),
        }
    }

    /// Counts an operation that begins.
    ///
    /// # Errors
    /// `EIO` if it is to fail.
    pub(crate) fn begin(&self, kind: Kind) -> Result<()> {
        let (injection, count) = self.of(kind);
        let earlier = count.fetch_add(1, Ordering::Relaxed);
        match injection.fails_after {
            Some(after) if earlier >= after => Err(Errno::IO),
            _ => Ok(()),
        }
    }

    /// The delay of an operation that took `own` itself.
    pub(crate) fn delay(&self, kind: Kind, own: Duration) -> Duration {
        let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        self.of(kind).0.delay.of(own, &mut random)
    }

    /// Whether syncs are acknowledged and not passed on.
    pub(crate) fn drops_syncs(&self) -> bool {
        self.behaviour.drops_syncs
    }

    pub(crate) fn counts(&self) -> OperationCounts {
        let [reads, writes, syncs] =
            [&self.reads, &self.writes, &self.syncs].map(|count| count.load(Ordering::Relaxed));
        OperationCounts { reads, writes, syncs }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_fails_after_its_number_and_leaves_the_others_alone() {
        let writes = Injection { fails_after: Some(2), ..Injection::default() };
        let injector = Injector::new(Behaviour { writes, ..Behaviour::default() });
        let writes: Vec<_> = (0..4).map(|_| injector.begin(Kind::Write)).collect();
        assert_eq!(writes, [Ok(()), Ok(()), Err(Errno::IO), Err(Errno::IO)]);
        assert!((0..4).all(|_| injector.begin(Kind::Read).is_ok()));
        assert_eq!(injector.begin(Kind::Sync), Ok(()));
        assert_eq!(injector.counts(), OperationCounts { reads: 4, writes: 4, syncs: 1 });
    }
}
