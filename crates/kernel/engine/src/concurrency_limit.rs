//! How many clients of a closed loop may be active.

use pgdyno_core::random::{Draw, Random};

use crate::{steps::LoadProfile, timeline::Timeline};

/// Clients that may be active at once in a closed loop: all of them, unless steps limit the number, or not all have
/// begun yet.
#[derive(Debug)]
pub(crate) struct ConcurrencyLimit {
    /// Clients allowed to be active.
    open: u64,
    /// When the limit changes, in nanoseconds of the engine's clock.
    until_ns: u64,
    profile: Option<LoadProfile>,
    worker: usize,
    workers: usize,
    /// Instants at which the clients that have not begun yet do so, the latest first.
    begins_ns: Vec<u64>,
    clients: u64,
}

impl ConcurrencyLimit {
    /// Makes the limit of worker number `worker` out of `workers`, which has this number of clients.
    pub(crate) fn new(profile: Option<LoadProfile>, worker: usize, workers: usize, clients: usize) -> Self {
        let clients = clients as u64;
        Self { open: u64::MAX, until_ns: u64::MAX, profile, worker, workers, begins_ns: Vec::new(), clients }
    }

    /// Lets clients begin at random instants within the first `ramp_ns` of the schedule instead of all at once.
    pub(crate) fn ramping(mut self, timeline: &Timeline, ramp_ns: u64, seed: u64) -> Self {
        if ramp_ns > 0 && self.clients > 1 {
            let mut random = Random::seeded(seed.wrapping_add(self.worker as u64));
            let mut begin = || timeline.start_ns + random.between(0, ramp_ns as i64) as u64;
            self.begins_ns = (0..self.clients).map(|_| begin()).collect();
            self.begins_ns.sort_unstable_by(|a, b| b.cmp(a));
        }
        self
    }

    /// Whether another client may become active in addition to those in flight.
    #[inline]
    pub(crate) fn admits(&mut self, in_flight: u64, now_ns: u64) -> bool {
        in_flight < self.open || (now_ns >= self.until_ns && self.admits_after_looking(in_flight, now_ns))
    }

    #[cold]
    fn admits_after_looking(&mut self, in_flight: u64, now_ns: u64) -> bool {
        self.look(now_ns);
        in_flight < self.open
    }

    /// When the limit changes, in nanoseconds of the engine's clock.
    pub(crate) fn until_ns(&self) -> u64 {
        self.until_ns
    }

    /// Updates the limit that holds from `now_ns` on.
    pub(crate) fn look(&mut self, now_ns: u64) {
        (self.open, self.until_ns) = match &self.profile {
            Some(profile) => {
                (profile.clients_at(now_ns, self.worker, self.workers), profile.end_after(now_ns))
            }
            None => (u64::MAX, u64::MAX),
        };
        while self.begins_ns.pop_if(|at_ns| *at_ns <= now_ns).is_some() {}
        if let Some(next_ns) = self.begins_ns.last() {
            self.open = self.open.min(self.clients - self.begins_ns.len() as u64);
            self.until_ns = self.until_ns.min(*next_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMELINE: Timeline =
        Timeline { start_ns: 1_000, measure_ns: 2_000, end_ns: 9_000, interval_ns: 1_000 };

    /// Instants at which one more client is admitted.
    fn begins(limit: &mut ConcurrencyLimit) -> Vec<u64> {
        let mut active = 0;
        let mut at = |now_ns: u64| {
            let before = active;
            while active < 8 && limit.admits(active, now_ns) {
                active += 1;
            }
            active - before
        };
        (1_000..=2_000).flat_map(|now_ns| vec![now_ns; at(now_ns) as usize]).collect()
    }

    fn limit(clients: usize, ramp_ns: u64, seed: u64) -> ConcurrencyLimit {
        let mut limit = ConcurrencyLimit::new(None, 0, 1, clients).ramping(&TIMELINE, ramp_ns, seed);
        limit.look(TIMELINE.start_ns);
        limit
    }

    #[test]
    fn clients_begin_one_by_one_within_the_ramp() {
        let mut some = limit(8, 500, 7);
        let found = begins(&mut some);
        assert_eq!(found.len(), 8, "{found:?}");
        assert!(found.iter().all(|at| (1_000..=1_500).contains(at)), "{found:?}");
        let mut distinct = found.clone();
        distinct.dedup();
        assert!(distinct.len() >= 6, "{found:?}");
        assert_eq!(
            (some.until_ns(), some.admits(1_000_000, 1_600)),
            (u64::MAX, true),
            "then nothing limits them"
        );
        assert_eq!(begins(&mut limit(8, 500, 7)), found, "the seed decides");
        assert_ne!(begins(&mut limit(8, 500, 8)), found);
    }

    #[test]
    fn without_a_ramp_all_begin_at_once() {
        assert_eq!(begins(&mut limit(8, 0, 7)), [1_000; 8]);
        let mut one = limit(1, 500, 7);
        assert!(one.admits(0, 1_000), "a single client waits for nobody");
    }

    /// Transactions of 100 with a ramp of 500: however many rounds are over, phases are spread over the round.
    #[test]
    fn equal_transactions_are_out_of_step() {
        let mut limit = ConcurrencyLimit::new(None, 0, 1, 64).ramping(&TIMELINE, 500, 3);
        limit.look(TIMELINE.start_ns);
        let mut begun: Vec<u64> = Vec::new();
        for now_ns in 1_000..=1_500 {
            while begun.len() < 64 && limit.admits(begun.len() as u64, now_ns) {
                begun.push(now_ns);
            }
        }
        let in_quarter = |quarter: u64| begun.iter().filter(|at| (*at % 100) / 25 == quarter).count();
        assert!((0..4).all(|quarter| (8..=24).contains(&in_quarter(quarter))), "{begun:?}");
    }
}
