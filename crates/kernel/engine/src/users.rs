//! Users with think times: many more of them than clients.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::chooser::Chooser;

/// Longest think time, as a multiple of the mean (TPC-C, clause 5.2.5.4).
const LONGEST_THOUGHT: f64 = 10.0;

/// Times of a user around an attempt of one script.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// Keying time in nanoseconds: passes before the attempt is due.
    pub keying_ns: u64,
    /// Mean think time after the answer in nanoseconds; exponential, and cut at ten times the mean.
    pub think_ns: u64,
    /// Whether the user does not wait for the answer: thinking then begins when the attempt is due.
    pub queued: bool,
}

/// Users who key, send, wait and think. Each attempt runs a script drawn by the weights of [`Mix`](crate::Mix); it is
/// due when the user has keyed it, and any free client carries it out.
#[derive(Debug, Clone, PartialEq)]
pub struct Population {
    /// Number of users over all workers.
    pub users: u64,
    /// Times of each script.
    pub paces: Vec<Pace>,
}

/// An attempt that a user wants to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Due {
    pub(crate) at_ns: u64,
    pub(crate) user: u64,
    pub(crate) script: u32,
}

/// The users of one worker. Each is keying or thinking, or waits for a client or an answer; a queued attempt waits
/// without its user.
#[derive(Debug)]
pub(crate) struct Users {
    paces: Vec<Pace>,
    random: Xoshiro256PlusPlus,
    /// Start of the schedule. All other instants count from it, because creating many users takes time.
    start_ns: u64,
    /// Attempts being keyed, or keyed after the thinking; the earliest first.
    coming: BinaryHeap<Reverse<Due>>,
    /// Attempts due and not begun, the oldest first.
    waiting: VecDeque<Due>,
}

impl Users {
    /// Creates the users of a worker, given its number and the number of workers: user `i` belongs to worker `i` modulo
    /// that number. Each starts at a random point of a key/think cycle, at time 0.
    pub(crate) fn new(
        population: &Population,
        (worker, workers): (usize, usize),
        seed: u64,
        chooser: &mut Chooser,
    ) -> Self {
        let mut users = Self {
            paces: population.paces.clone(),
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            start_ns: 0,
            coming: BinaryHeap::new(),
            waiting: VecDeque::new(),
        };
        for user in (worker as u64..population.users).step_by(workers.max(1)) {
            let (script, round_ns) = users.present_round(chooser);
            let at_ns = (round_ns as f64 * users.uniform()) as u64;
            users.coming.push(Reverse(Due { at_ns, user, script }));
        }
        users
    }

    /// Sets the start of the schedule on the engine's clock.
    pub(crate) fn beginning_at(mut self, start_ns: u64) -> Self {
        self.start_ns = start_ns;
        self
    }

    fn pace(&self, script: u32) -> Pace {
        let none = Pace { keying_ns: 0, think_ns: 0, queued: false };
        self.paces.get(script as usize).copied().unwrap_or(none)
    }

    /// Draws a uniform number in (0, 1].
    fn uniform(&mut self) -> f64 {
        ((self.random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    fn think_ns(&mut self, script: u32) -> u64 {
        let mean_ns = self.pace(script).think_ns as f64;
        ((-self.uniform().ln()).min(LONGEST_THOUGHT) * mean_ns) as u64
    }

    /// Draws the cycle that a random instant falls into: a longer cycle contains more instants and is likelier in
    /// proportion. Otherwise the first users would come too soon.
    fn present_round(&mut self, chooser: &mut Chooser) -> (u32, u64) {
        let most = |of: fn(&Pace) -> u64| self.paces.iter().map(of).max().unwrap_or(0) as f64;
        let longest_ns = most(|pace| pace.keying_ns) + most(|pace| pace.think_ns) * LONGEST_THOUGHT;
        loop {
            // Thinks about one script, then keys the next.
            let (before, script) = (chooser.choose(), chooser.choose());
            let round_ns = self.think_ns(before) + self.pace(script).keying_ns;
            if self.uniform() * longest_ns <= round_ns as f64 {
                return (script, round_ns);
            }
        }
    }

    /// Starts a user's next cycle, after an answer or without waiting for one: think, then key the next attempt.
    fn start_cycle(&mut self, user: u64, script: u32, now_ns: u64, chooser: &mut Chooser) {
        let think_ns = self.think_ns(script);
        let script = chooser.choose();
        let at_ns = now_ns.saturating_add(think_ns).saturating_add(self.pace(script).keying_ns);
        self.coming.push(Reverse(Due { at_ns, user, script }));
    }

    /// Counts the attempts that have fallen due before `until_ns` since the last call. Users who do not wait for the
    /// answer think from then on, and may be due again before `until_ns`.
    pub(crate) fn count_due(&mut self, until_ns: u64, chooser: &mut Chooser) -> u64 {
        let until_ns = until_ns.saturating_sub(self.start_ns);
        let mut count = 0;
        while let Some(&Reverse(due)) = self.coming.peek() {
            if due.at_ns >= until_ns {
                break;
            }
            self.coming.pop();
            self.waiting.push_back(due);
            count += 1;
            if self.pace(due.script).queued {
                self.start_cycle(due.user, due.script, due.at_ns, chooser);
            }
        }
        count
    }

    /// Takes the oldest attempt that is due and not begun.
    pub(crate) fn begin(&mut self) -> Option<Due> {
        let due = self.waiting.pop_front()?;
        Some(Due { at_ns: due.at_ns + self.start_ns, ..due })
    }

    /// Notes that a user's attempt has ended.
    pub(crate) fn answered(&mut self, user: u64, script: u32, end_ns: u64, chooser: &mut Chooser) {
        if !self.pace(script).queued {
            self.start_cycle(user, script, end_ns.saturating_sub(self.start_ns), chooser);
        }
    }

    /// Number of attempts due and not begun.
    pub(crate) fn backlog(&self) -> u64 {
        self.waiting.len() as u64
    }

    /// Instant at which the next attempt falls due, in nanoseconds; `u64::MAX` if all users wait.
    pub(crate) fn next_due_ns(&self) -> u64 {
        self.coming.peek().map_or(u64::MAX, |Reverse(due)| due.at_ns.saturating_add(self.start_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mix, chooser::Chooser};

    const SECOND: u64 = 1_000_000_000;

    fn chooser(weights: &[u32]) -> Chooser {
        Chooser::new(&Mix { weights: weights.to_vec(), streams: Vec::new() }, 0)
    }

    fn pace(keying_s: u64, think_s: u64, queued: bool) -> Pace {
        Pace { keying_ns: keying_s * SECOND, think_ns: think_s * SECOND, queued }
    }

    /// Runs users for an hour, each attempt answered after `answer_ns`; returns the number of attempts and the most at
    /// once.
    fn rounds(population: &Population, weights: &[u32], answer_ns: u64) -> (u64, u64) {
        let mut chooser = chooser(weights);
        let mut users = Users::new(population, (0, 1), 7, &mut chooser);
        let (mut ended, mut most) = (0, 0);
        while users.next_due_ns() < 3_600 * SECOND {
            users.count_due(users.next_due_ns() + 1, &mut chooser);
            most = most.max(users.backlog());
            while let Some(due) = users.begin() {
                users.answered(due.user, due.script, due.at_ns + answer_ns, &mut chooser);
                ended += 1;
            }
        }
        (ended, most)
    }

    /// Little's law: attempts a second are users over the length of a cycle.
    #[test]
    fn users_come_round_as_often_as_their_pace_says() {
        let population = Population { users: 500, paces: vec![pace(18, 12, false), pace(2, 5, false)] };
        for (weights, answer_ns, round_s) in [([1, 0], 0, 30.0), ([0, 1], 0, 7.0), ([1, 1], SECOND, 19.5)] {
            let (ended, _) = rounds(&population, &weights, answer_ns);
            let expected = 500.0 * 3_600.0 / round_s;
            assert!((ended as f64 / expected - 1.0).abs() < 0.02, "{weights:?}: {ended} of {expected}");
        }
    }

    /// The first seconds are like all others, so that a warm-up is not needed to spread the users.
    #[test]
    fn users_begin_in_the_middle_of_what_they_do() {
        let users = 20_000;
        let population = Population { users, paces: vec![pace(18, 12, false), pace(2, 5, false)] };
        let mut chooser = chooser(&[1, 1]);
        let mut all = Users::new(&population, (0, 1), 11, &mut chooser);
        let mut due = Vec::new();
        for second in 1..=60 {
            all.count_due(second * SECOND, &mut chooser);
            due.push(all.backlog() as f64);
            while let Some(due) = all.begin() {
                all.answered(due.user, due.script, due.at_ns, &mut chooser);
            }
        }
        let expected = users as f64 / 18.5;
        for (window, seconds) in due.chunks(10).enumerate() {
            let mean = seconds.iter().sum::<f64>() / seconds.len() as f64;
            assert!((mean / expected - 1.0).abs() < 0.05, "{window}: {mean} of {expected} a second");
        }
    }

    #[test]
    fn who_waits_for_no_answer_thinks_from_the_instant_of_sending_on() {
        let population = Population { users: 500, paces: vec![pace(2, 5, true)] };
        let (ended, _) = rounds(&population, &[1], 100 * SECOND);
        let expected = 500.0 * 3_600.0 / 7.0;
        assert!((ended as f64 / expected - 1.0).abs() < 0.02, "{ended} of {expected}");
    }

    /// Queued attempts fall due, and are counted, even if no client is free.
    #[test]
    fn who_waits_for_no_answer_does_not_wait_for_a_client_either() {
        let population = Population { users: 5_000, paces: vec![pace(2, 5, true)] };
        let mut chooser = chooser(&[1]);
        let mut users = Users::new(&population, (0, 1), 7, &mut chooser);
        let due: Vec<_> =
            (1..=60).map(|second| users.count_due(second * SECOND, &mut chooser) as f64).collect();
        for (window, seconds) in due.chunks(10).enumerate() {
            let mean = seconds.iter().sum::<f64>() / seconds.len() as f64;
            assert!((mean * 7.0 / 5_000.0 - 1.0).abs() < 0.05, "{window}: {mean} a second");
        }
        let begun: Vec<_> = std::iter::from_fn(|| users.begin()).map(|due| due.at_ns).collect();
        assert!(begun.is_sorted() && begun.len() as f64 == due.iter().sum::<f64>());
    }

    #[test]
    fn users_are_dealt_out_and_each_waits_once() {
        let population = Population { users: 1_003, paces: vec![pace(1, 1, false)] };
        let mut seen = Vec::new();
        for worker in 0..4 {
            let mut chooser = chooser(&[1]);
            let mut users = Users::new(&population, (worker, 4), worker as u64, &mut chooser);
            // No user gets an answer, so none comes twice however late it is.
            users.count_due(u64::MAX, &mut chooser);
            seen.extend(std::iter::from_fn(|| users.begin()).map(|due| due.user));
            assert_eq!((users.backlog(), users.next_due_ns()), (0, u64::MAX));
        }
        seen.sort_unstable();
        assert_eq!(seen, (0..1_003).collect::<Vec<_>>());
    }
}
