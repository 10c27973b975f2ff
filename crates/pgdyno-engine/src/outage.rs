//! Connections that are lost and made again: how long clients are without, and when the next try may be made.
//!
//! All of it is cold: nothing here is looked at while every client has its connection.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pgdyno_core::measure::Outage;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Wait before the second try of a client in nanoseconds; it doubles with every further one. A server that ends one
/// backend takes the next connection at once.
const FIRST_WAIT_NS: u64 = 10_000_000;
/// Longest such wait in nanoseconds. Longer ones would make an outage of a second look like several.
const LONGEST_WAIT_NS: u64 = 1_000_000_000;
/// Time between two tries of the whole run while tries fail, in nanoseconds: 50 a second. Every try costs a server
/// that recovers, or one that is full, a process; after one that succeeded there is no such limit.
const PACE_NS: u64 = 20_000_000;
/// How long no client may have a connection before the run is ended, in nanoseconds. Restarts and failovers are over
/// within it, recovery after a crash seldom takes longer; a server that is gone for good should not cost a night.
pub(crate) const LONGEST_OUTAGE_NS: u64 = 30_000_000_000;

/// What all workers of a run know of its connections.
#[derive(Debug)]
pub(crate) struct Connections(Mutex<State>);

#[derive(Debug)]
struct State {
    /// Clients that have a connection, or none to lose.
    connected: usize,
    /// Clients that are without.
    away: usize,
    /// Since when no client has had one.
    none_since_ns: Option<u64>,
    /// Whether the last try failed.
    failing: bool,
    /// No try before this instant.
    next_try_ns: u64,
    random: Xoshiro256PlusPlus,
    outage: Outage,
}

impl Connections {
    /// Those of so many clients.
    pub(crate) fn new(clients: usize, seed: u64) -> Self {
        Self(Mutex::new(State {
            connected: clients,
            away: 0,
            none_since_ns: None,
            failing: false,
            next_try_ns: 0,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            outage: Outage::default(),
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A client has lost its connection and is to have another.
    pub(crate) fn lost(&self, now_ns: u64) {
        let state = &mut *self.state();
        state.outage.lost += 1;
        state.connected = state.connected.saturating_sub(1);
        state.away += 1;
        state.look(now_ns);
    }

    /// A try has failed.
    pub(crate) fn refused(&self, now_ns: u64) {
        let state = &mut *self.state();
        state.outage.refused += 1;
        state.failing = true;
        state.next_try_ns = state.next_try_ns.max(now_ns + PACE_NS);
    }

    /// Time until the next try of a client, after so many that failed, in nanoseconds: up to a quarter more or less
    /// than planned, so that clients that were lost together do not come back together.
    pub(crate) fn wait_ns(&self, tries: u32) -> u64 {
        let state = &mut *self.state();
        let planned_ns =
            FIRST_WAIT_NS.saturating_mul(1 << tries.saturating_sub(1).min(16)).min(LONGEST_WAIT_NS);
        let quarter = planned_ns / 4;
        planned_ns - quarter + state.random.next_u64() % (2 * quarter)
    }

    /// A client has a connection again.
    pub(crate) fn made(&self, since_ns: u64, now_ns: u64) {
        let state = &mut *self.state();
        state.outage.made_again += 1;
        state.failing = false;
        state.next_try_ns = 0;
        state.connected += 1;
        state.back(since_ns, now_ns);
    }

    /// A client that was without a connection will have no other.
    pub(crate) fn gave_up(&self, since_ns: u64, now_ns: u64) {
        self.state().back(since_ns, now_ns);
    }

    /// A client that had a connection is done.
    pub(crate) fn ended(&self, now_ns: u64) {
        let state = &mut *self.state();
        state.connected = state.connected.saturating_sub(1);
        state.look(now_ns);
    }

    /// Whether a try may be made now, else when.
    pub(crate) fn may_try(&self, now_ns: u64) -> Result<(), u64> {
        let state = &mut *self.state();
        if now_ns < state.next_try_ns {
            return Err(state.next_try_ns);
        }
        if state.failing {
            state.next_try_ns = now_ns + PACE_NS;
        }
        Ok(())
    }

    /// How long no client has had a connection, in nanoseconds.
    pub(crate) fn none_for_ns(&self, now_ns: u64) -> u64 {
        self.state().none_since_ns.map_or(0, |since_ns| now_ns.saturating_sub(since_ns))
    }

    /// What it came to.
    pub(crate) fn outage(&self) -> Outage {
        self.state().outage
    }
}

impl State {
    /// Without: time counts to an end.
    fn back(&mut self, since_ns: u64, now_ns: u64) {
        let without_ns = now_ns.saturating_sub(since_ns);
        self.outage.clients_ns += without_ns;
        self.outage.longest_ns = self.outage.longest_ns.max(without_ns);
        self.away = self.away.saturating_sub(1);
        self.look(now_ns);
    }

    /// Whether there is a client with a connection now.
    fn look(&mut self, now_ns: u64) {
        let none = self.connected == 0 && self.away > 0;
        match self.none_since_ns {
            None if none => self.none_since_ns = Some(now_ns),
            Some(since_ns) if !none => {
                self.outage.none_ns += now_ns.saturating_sub(since_ns);
                self.none_since_ns = None;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn an_outage_is_timed_for_each_client_and_for_all() {
        let connections = Connections::new(2, 1);
        connections.lost(100);
        assert_eq!(connections.none_for_ns(150), 0);
        connections.lost(200);
        assert_eq!(connections.none_for_ns(250), 50);
        connections.made(100, 1_100);
        assert_eq!(connections.none_for_ns(1_200), 0);
        connections.made(200, 1_700);
        let expected = Outage {
            lost: 2,
            made_again: 2,
            refused: 0,
            clients_ns: 1_000 + 1_500,
            longest_ns: 1_500,
            none_ns: 900,
        };
        assert_eq!(connections.outage(), expected);
    }

    /// A client that has done all it had to do is no outage; those that are left without one are.
    #[test]
    fn clients_that_are_done_count_neither_way() {
        let connections = Connections::new(2, 1);
        connections.lost(100);
        connections.ended(300);
        assert_eq!(connections.none_for_ns(400), 100);
        connections.gave_up(100, 600);
        assert_eq!(connections.none_for_ns(900), 0);
        let outage = connections.outage();
        assert_eq!((outage.none_ns, outage.clients_ns, outage.made_again), (300, 500, 0));
    }

    #[test]
    fn waits_double_up_to_a_second_and_differ_between_clients() {
        let connections = Connections::new(1, 7);
        let waits: Vec<_> = (1..=12).map(|tries| connections.wait_ns(tries)).collect();
        for (index, wait_ns) in waits.iter().enumerate() {
            let planned_ns = ((10 * MS) << index).min(1_000 * MS);
            assert!((planned_ns * 3 / 4..planned_ns * 5 / 4).contains(wait_ns), "{index}: {wait_ns}");
        }
        let again = Connections::new(1, 7);
        assert_eq!(waits, (1..=12).map(|tries| again.wait_ns(tries)).collect::<Vec<_>>());
        assert_ne!(waits[11], waits[10]);
        assert!(connections.wait_ns(u32::MAX) < 1_250 * MS);
    }

    /// However many clients are without a connection, a server that refuses is asked fifty times a second.
    #[test]
    fn tries_are_spread_while_they_fail() {
        let connections = Connections::new(1_000, 1);
        assert_eq!((connections.may_try(0), connections.may_try(0)), (Ok(()), Ok(())));
        connections.refused(0);
        let mut tries = 0;
        for now_ns in (0..1_000 * MS).step_by(MS as usize) {
            while connections.may_try(now_ns).is_ok() {
                connections.refused(now_ns);
                tries += 1;
            }
        }
        assert!((45..=50).contains(&tries), "{tries}");
        connections.made(0, 1_000 * MS);
        assert!((0..1_000).all(|_| connections.may_try(1_000 * MS).is_ok()));
    }
}
