//! Arrival schedules: when attempts fall due.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::users::Users;

/// Most arrivals drawn one by one in a single call; beyond it their number is taken from the rate, so that an absurd
/// rate ends on time instead of counting forever.
const MAX_DRAWN: u64 = 1_000_000;

/// A Poisson process: gaps between arrivals are exponential with mean 1 / rate, drawn from a seed.
#[derive(Debug, Clone)]
pub(crate) struct Poisson {
    random: Xoshiro256PlusPlus,
    mean_gap_ns: f64,
    /// Next arrival: whole nanoseconds plus the fraction beyond, so that rounding does not make the schedule drift.
    next_ns: u64,
    fraction_ns: f64,
    /// Instant of the next change of the rate; `u64::MAX` if there is none.
    change_ns: u64,
    /// Mean gaps after `change_ns`, each with the instant at which it ends, the next one last.
    later: Vec<(u64, f64)>,
}

impl Poisson {
    /// Starts a process whose rate changes: `rates` are arrivals a second in order, each with the instant in
    /// nanoseconds at which it ends. The last rate holds forever. The rest of a gap that a change interrupts continues
    /// at the new rate, so that the process is exact on both sides of the change, and one seed gives one schedule.
    ///
    /// # Panics
    /// If `rates` is empty.
    pub fn changing(start_ns: u64, rates: &[(u64, f64)], seed: u64) -> Self {
        let mut later: Vec<_> = rates.iter().rev().map(|&(end_ns, per_s)| (end_ns, 1e9 / per_s)).collect();
        later[0].0 = u64::MAX;
        let (change_ns, mean_gap_ns) = later.pop().expect("there is a rate");
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut process = Self { random, mean_gap_ns, next_ns: start_ns, fraction_ns: 0.0, change_ns, later };
        process.advance();
        process
    }

    /// Moves on to the following arrival.
    pub fn advance(&mut self) {
        // 53 random bits make a number in (0, 1]; its negative logarithm is exponential with mean 1.
        let uniform = ((self.random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
        let mut gaps = -uniform.ln();
        if self.next_ns.saturating_add((gaps * self.mean_gap_ns + self.fraction_ns) as u64) >= self.change_ns
        {
            gaps = self.cross(gaps);
        }
        let gap_ns = gaps * self.mean_gap_ns + self.fraction_ns;
        let whole_ns = gap_ns.floor();
        self.next_ns = self.next_ns.saturating_add(whole_ns as u64);
        self.fraction_ns = gap_ns - whole_ns;
    }

    /// Crosses the changes of the rate that come before `gaps` mean gaps have passed; returns the gaps left.
    #[cold]
    fn cross(&mut self, mut gaps: f64) -> f64 {
        loop {
            let left_ns = (self.change_ns - self.next_ns) as f64 - self.fraction_ns;
            if self.later.is_empty() || gaps * self.mean_gap_ns < left_ns {
                return gaps;
            }
            gaps = (gaps - left_ns / self.mean_gap_ns).max(0.0);
            self.turn();
        }
    }

    /// Moves to the next change of the rate.
    fn turn(&mut self) {
        self.next_ns = self.change_ns;
        self.fraction_ns = 0.0;
        if let Some((change_ns, mean_gap_ns)) = self.later.pop() {
            (self.change_ns, self.mean_gap_ns) = (change_ns, mean_gap_ns);
        }
    }

    /// Jumps to an instant without drawing; returns the mean number of arrivals before it.
    fn leap(&mut self, until_ns: u64) -> u64 {
        let mut count = 0.0;
        while self.change_ns < until_ns {
            count += (self.change_ns - self.next_ns) as f64 / self.mean_gap_ns;
            self.turn();
        }
        count += (until_ns - self.next_ns) as f64 / self.mean_gap_ns;
        self.next_ns = until_ns;
        count as u64
    }
}

/// Arrival schedule of one worker.
#[derive(Debug)]
pub(crate) enum Arrivals {
    /// Closed loop: a client's next attempt is due as soon as its last has ended.
    Closed,
    /// Open loop: attempts fall due by a Poisson process, whether or not a client is free.
    Open(OpenLoop),
    /// Users with think times: a user's next attempt is due some time after the last has ended, whether or not a client
    /// is free.
    Users(Users),
}

/// An open loop in constant memory, however long the backlog: one copy of the process counts what has fallen due,
/// another follows behind it and gives the due instants of the attempts that are begun.
#[derive(Debug)]
pub(crate) struct OpenLoop {
    due: Poisson,
    begun: Poisson,
    backlog: u64,
}

impl OpenLoop {
    /// Makes an open loop of a process.
    pub fn from_process(due: Poisson) -> Self {
        Self { begun: due.clone(), due, backlog: 0 }
    }

    /// Counts the attempts that have fallen due before `until_ns` since the last call.
    pub fn count_due(&mut self, until_ns: u64) -> u64 {
        let mut count = 0;
        while self.due.next_ns < until_ns && count < MAX_DRAWN {
            self.due.advance();
            count += 1;
        }
        if self.due.next_ns < until_ns {
            count += self.due.leap(until_ns);
        }
        self.backlog += count;
        count
    }

    /// Takes the oldest attempt that is due and not begun; returns the instant at which it fell due.
    pub fn begin(&mut self) -> Option<u64> {
        self.backlog = self.backlog.checked_sub(1)?;
        let due_ns = self.begun.next_ns.min(self.due.next_ns);
        self.begun.advance();
        Some(due_ns)
    }

    /// Number of attempts due and not begun.
    pub fn backlog(&self) -> u64 {
        self.backlog
    }

    /// Instant at which the next attempt falls due, in nanoseconds.
    pub fn next_due_ns(&self) -> u64 {
        self.due.next_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: usize = 20_000;

    /// Kolmogorov–Smirnov distance between a sample and a distribution function, times the root of the sample's size:
    /// chance exceeds 1.95 once in a thousand times.
    fn kolmogorov_smirnov(mut sample: Vec<f64>, cumulated: impl Fn(f64) -> f64) -> f64 {
        sample.sort_by(f64::total_cmp);
        let n = sample.len() as f64;
        let apart = |(i, value): (usize, &f64)| {
            let share = cumulated(*value);
            (share - i as f64 / n).abs().max(((i + 1) as f64 / n - share).abs())
        };
        sample.iter().enumerate().map(apart).fold(0.0, f64::max) * n.sqrt()
    }

    /// Lists how arrivals differ from a Poisson process of this rate that starts at 0.
    fn faults(arrivals: &[u64], rate_per_s: f64) -> Vec<&'static str> {
        let mut faults = Vec::new();
        let instants = || arrivals.iter().map(|&ns| ns as f64 * rate_per_s / 1e9);
        let last = instants().next_back().unwrap_or(0.0);
        let n = arrivals.len() as f64;
        // The n-th arrival of a process of rate 1 comes at n, with a standard deviation of the root of n.
        if (last - n).abs() > 4.0 * n.sqrt() {
            faults.push("drift");
        }
        // Given the last, all before it are uniform: a schedule that speeds up, slows down or pauses is not.
        if kolmogorov_smirnov(instants().take(arrivals.len() - 1).collect(), |at| at / last) > 1.95 {
            faults.push("uneven");
        }
        let before = std::iter::once(0.0).chain(instants());
        let gaps = instants().zip(before).map(|(at, before)| at - before).collect();
        // Whole nanoseconds are too coarse beyond a million a second for the shape of the gaps.
        if rate_per_s <= 1e6 && kolmogorov_smirnov(gaps, |gap| 1.0 - (-gap).exp()) > 1.95 {
            faults.push("gaps");
        }
        faults
    }

    fn poisson(start_ns: u64, rate_per_s: f64, seed: u64) -> Poisson {
        Poisson::changing(start_ns, &[(u64::MAX, rate_per_s)], seed)
    }

    fn open_loop(start_ns: u64, rate_per_s: f64, seed: u64) -> OpenLoop {
        OpenLoop::from_process(poisson(start_ns, rate_per_s, seed))
    }

    fn drawn(rate_per_s: f64, seed: u64) -> Vec<u64> {
        let mut process = poisson(0, rate_per_s, seed);
        (0..N)
            .map(|_| {
                let at_ns = process.next_ns;
                process.advance();
                at_ns
            })
            .collect()
    }

    #[test]
    fn arrivals_are_a_poisson_process_that_does_not_drift() {
        for (seed, rate) in [(1, 50.0), (2, 10_000.0), (3, 1e6), (4, 3e6), (5, 1e8)] {
            assert_eq!(faults(&drawn(rate, seed), rate), [""; 0], "rate {rate}");
        }
    }

    /// The schedule as clients see it: begun late, in bursts, after a stall. Only the due instants count.
    #[test]
    fn what_is_begun_late_was_due_by_the_same_process() {
        let rate = 10_000.0;
        let mut open = open_loop(0, rate, 9);
        let (mut due, mut now_ns, mut look) = (Vec::new(), 0, 0);
        while due.len() < N {
            look += 1;
            now_ns += if look % 100 == 0 { 50_000_000 } else { 30_000 * (look % 7) };
            open.count_due(now_ns);
            // Not all that are due are begun at once.
            (0..look % 5).for_each(|_| due.extend(open.begin()));
            if look % 200 == 0 {
                due.extend(std::iter::from_fn(|| open.begin()));
            }
        }
        assert_eq!(faults(&due[..N], rate), [""; 0]);
        assert_eq!(due[..N], drawn(rate, 9));
    }

    /// Rates a second, each with its end in nanoseconds.
    const RATES: [(u64, f64); 4] =
        [(500_000_000, 10_000.0), (2_500_000_000, 2_000.0), (2_500_700_000, 1e6), (u64::MAX, 30_000.0)];

    /// Mean number of arrivals of a process of these rates before an instant.
    fn expected(rates: &[(u64, f64)], at_ns: u64) -> f64 {
        let mut start_ns = 0;
        let until = |&(end_ns, rate): &(u64, f64)| {
            let length_ns = end_ns.min(at_ns).saturating_sub(start_ns);
            start_ns = end_ns;
            length_ns as f64 / 1e9 * rate
        };
        rates.iter().map(until).sum()
    }

    fn stepped(rates: &[(u64, f64)], seed: u64) -> Vec<u64> {
        let mut open = OpenLoop::from_process(Poisson::changing(0, rates, seed));
        open.count_due(3_000_000_000);
        std::iter::from_fn(|| open.begin()).collect()
    }

    /// Rescales time by the rate, which turns a process whose rate changes into one whose rate is constant, and tests
    /// that.
    fn faults_of_steps(arrivals: &[u64], rates: &[(u64, f64)]) -> Vec<&'static str> {
        let even = |&at_ns: &u64| (expected(rates, at_ns) * 100_000.0) as u64;
        faults(&arrivals.iter().map(even).collect::<Vec<_>>(), 10_000.0)
    }

    #[test]
    fn a_rate_that_changes_is_exact_on_both_sides_of_the_change() {
        for seed in 1..6 {
            let arrivals = stepped(&RATES, seed);
            assert_eq!(faults_of_steps(&arrivals, &RATES), [""; 0], "seed {seed}");
            let mut start_ns = 0;
            for (end_ns, _) in RATES.map(|(end_ns, rate)| (end_ns.min(3_000_000_000), rate)) {
                let count =
                    arrivals.iter().filter(|at_ns| (start_ns..end_ns).contains(*at_ns)).count() as f64;
                let mean = expected(&RATES, end_ns) - expected(&RATES, start_ns);
                assert!(
                    (count - mean).abs() < 4.5 * mean.sqrt(),
                    "{count} instead of {mean} before {end_ns}"
                );
                start_ns = end_ns;
            }
            assert_eq!(arrivals, stepped(&RATES, seed));
        }
    }

    /// The test notices changes that come late, or that wait for the current gap to end.
    #[test]
    fn a_rate_that_changes_late_is_found() {
        let late = RATES.map(|(end_ns, rate)| (end_ns.saturating_add(20_000_000), rate));
        assert!(!faults_of_steps(&stepped(&late, 1), &RATES).is_empty());
    }

    /// Splitting one rate into steps of the same rate changes nothing: the rest of a cut gap continues behind the cut.
    #[test]
    fn steps_of_one_rate_are_one_step() {
        let cut: Vec<_> = (1..3_000).map(|ms| (ms * 1_000_000, 10_000.0)).collect();
        let (cut, whole) = (stepped(&cut, 7), stepped(&[(u64::MAX, 10_000.0)], 7));
        assert_eq!(cut.len(), whole.len());
        assert!(cut.iter().zip(&whole).all(|(a, b)| a.abs_diff(*b) <= 1));
    }

    #[test]
    fn absurd_rates_are_counted_over_their_steps() {
        let mut open =
            OpenLoop::from_process(Poisson::changing(0, &[(1_000, 1e15), (2_000, 1e12), (3_000, 1e18)], 1));
        let count = open.count_due(3_000) as f64;
        assert!((1e12..1.01e12).contains(&count), "{count}");
    }

    /// Constant gaps have the right mean and the wrong distribution.
    #[test]
    fn constant_gaps_are_found() {
        let even: Vec<u64> = (1..=N as u64).map(|i| i * 100_000).collect();
        assert_eq!(faults(&even, 10_000.0), ["gaps"]);
    }

    /// Gaps counted from when the previous attempt was begun instead of when it was due: every begin is 4 µs late, and
    /// the schedule falls behind.
    #[test]
    fn gaps_from_the_begin_are_found() {
        let rate = 10_000.0;
        let late = |(i, due_ns): (usize, &u64)| due_ns + 4_000 * i as u64;
        let arrivals: Vec<u64> = drawn(rate, 2).iter().enumerate().map(late).collect();
        assert!(faults(&arrivals, rate).contains(&"drift"));
    }

    /// A schedule that pauses with the clients leaves a hole where a stall was: coordinated omission.
    #[test]
    fn a_schedule_that_pauses_is_found() {
        let rate = 10_000.0;
        let pause = |due_ns: &u64| due_ns + if *due_ns > 1_000_000_000 { 100_000_000 } else { 0 };
        assert!(faults(&drawn(rate, 2).iter().map(pause).collect::<Vec<_>>(), rate).contains(&"uneven"));
    }

    /// Without the fraction of a nanosecond that is carried over, every gap is half a nanosecond short.
    #[test]
    fn gaps_in_whole_nanoseconds_are_found() {
        let (rate, mut at_ns, mut before) = (1e8, 0, 0.0);
        let mut exact = poisson(0, rate, 5);
        let cut: Vec<u64> = (0..N)
            .map(|_| {
                let at = exact.next_ns as f64 + exact.fraction_ns;
                at_ns += (at - before) as u64;
                before = at;
                exact.advance();
                at_ns
            })
            .collect();
        assert!(faults(&cut, rate).contains(&"drift"));
    }

    #[test]
    fn what_is_begun_fell_due_in_order_and_in_time() {
        let mut open = open_loop(1_000, 1e6, 7);
        let mut last = 0;
        let mut begun = 0;
        for now in (2_000..2_000_000).step_by(10_000) {
            open.count_due(now);
            while let Some(due) = open.begin() {
                assert!(last <= due && due < now);
                last = due;
                begun += 1;
            }
        }
        assert!((1_800..2_200).contains(&begun), "{begun}");
    }

    #[test]
    fn an_absurd_rate_is_counted_at_once() {
        let mut open = open_loop(0, 1e12, 1);
        let count = open.count_due(1_000_000_000);
        assert!((0.99e12..1.01e12).contains(&(count as f64)), "{count}");
        assert_eq!(open.backlog(), count);
    }
}
