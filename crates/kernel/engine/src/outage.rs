//! Lost connections and reconnects: how long clients are disconnected, and when the next try is allowed.
//!
//! None of this is on the hot path: it is used only while a client is disconnected.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pgdyno_core::measure::Outage;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Wait before a client's second try in nanoseconds; it doubles with every further try. A server that ends one backend
/// accepts the next connection at once.
const FIRST_WAIT_NS: u64 = 10_000_000;
/// Longest wait between tries in nanoseconds. A longer one would make an outage of a second look like several.
const LONGEST_WAIT_NS: u64 = 1_000_000_000;
/// Time between two tries of the whole run while tries fail, in nanoseconds: 50 a second. Every try costs a recovering
/// or full server a process; after a successful try there is no such limit.
const PACE_NS: u64 = 20_000_000;
/// How long the run continues without any connected client, in nanoseconds. Restarts and failovers end within it, crash
/// recovery seldom takes longer, and a server that is gone for good should not cost a night.
pub(crate) const LONGEST_OUTAGE_NS: u64 = 30_000_000_000;

/// Connection state of a run, shared by all workers.
#[derive(Debug)]
pub(crate) struct Connections(Mutex<State>);

#[derive(Debug)]
struct State {
    /// Clients that are connected, or need no connection.
    connected: usize,
    /// Clients that are disconnected.
    away: usize,
    /// Since when no client has been connected.
    none_since_ns: Option<u64>,
    /// Whether the last try failed.
    failing: bool,
    /// Earliest instant of the next try.
    next_try_ns: u64,
    random: Xoshiro256PlusPlus,
    outage: Outage,
}

impl Connections {
    /// Starts with `clients` connected clients.
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

    /// Notes that a client has lost its connection and wants another.
    pub(crate) fn lost(&self, now_ns: u64) {
        let state = &mut *self.state();
        state.outage.lost += 1;
        state.connected = state.connected.saturating_sub(1);
        state.away += 1;
        state.look(now_ns);
    }

    /// Notes that a try has failed.
    pub(crate) fn refused(&self, now_ns: u64) {
        let state = &mut *self.state();
        state.outage.refused += 1;
        state.failing = true;
        state.next_try_ns = state.next_try_ns.max(now_ns + PACE_NS);
    }

    /// Wait before a client's next try after `tries` failures, in nanoseconds: randomised by up to a quarter, so that
    /// clients that were lost together do not come back together.
    pub(crate) fn wait_ns(&self, tries: u32) -> u64 {
        let state = &mut *self.state();
        let planned_ns =
            FIRST_WAIT_NS.saturating_mul(1 << tries.saturating_sub(1).min(16)).min(LONGEST_WAIT_NS);
        let quarter = planned_ns / 4;
        planned_ns - quarter + state.random.next_u64() % (2 * quarter)
    }

    /// Notes that a client is connected again.
    pub(crate) fn made(&self, since_ns: u64, now_ns: u64) {
        let state = &mut *self.state();
        state.outage.made_again += 1;
        state.failing = false;
        state.next_try_ns = 0;
        state.connected += 1;
        state.back(since_ns, now_ns);
    }

    /// Notes that a disconnected client gives up.
    pub(crate) fn gave_up(&self, since_ns: u64, now_ns: u64) {
        self.state().back(since_ns, now_ns);
    }

    /// Notes that a connected client has ended.
    pub(crate) fn ended(&self, now_ns: u64) {
        let state = &mut *self.state();
        state.connected = state.connected.saturating_sub(1);
        state.look(now_ns);
    }

    /// Whether a try is allowed now; the error is the earliest instant at which it is.
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

    /// How long no client has been connected, in nanoseconds.
    pub(crate) fn none_for_ns(&self, now_ns: u64) -> u64 {
        self.state().none_since_ns.map_or(0, |since_ns| now_ns.saturating_sub(since_ns))
    }

    /// Totals of the outages so far.
    pub(crate) fn outage(&self) -> Outage {
        self.state().outage
    }
}

impl State {
    /// Adds the time that a client was disconnected.
    fn back(&mut self, since_ns: u64, now_ns: u64) {
        let without_ns = now_ns.saturating_sub(since_ns);
        self.outage.clients_ns += without_ns;
        self.outage.longest_ns = self.outage.longest_ns.max(without_ns);
        self.away = self.away.saturating_sub(1);
        self.look(now_ns);
    }

    /// Updates since when no client has been connected.
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

    /// A client that has ended normally is no outage; clients left without a connection are.
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

    /// However many clients are disconnected, a server that refuses them gets at most fifty tries a second.
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
