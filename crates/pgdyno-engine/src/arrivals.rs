//! When attempts fall due.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Most arrivals that are drawn one by one in a single look at the schedule; beyond it their number is taken from
/// the rate, so that an absurd rate ends on time instead of counting forever.
const MAX_DRAWN: u64 = 1_000_000;

/// A Poisson process: gaps are exponential with mean 1 / rate, drawn from a seed.
#[derive(Debug, Clone)]
pub struct Poisson {
    random: Xoshiro256PlusPlus,
    mean_gap_ns: f64,
    /// The next arrival: whole nanoseconds and the fraction beyond, so that rounding does not make it drift.
    next_ns: u64,
    fraction_ns: f64,
}

impl Poisson {
    /// A process that starts at `start_ns` with `rate_per_s` arrivals a second on average.
    pub fn new(start_ns: u64, rate_per_s: f64, seed: u64) -> Self {
        let mut process = Self {
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            mean_gap_ns: 1e9 / rate_per_s,
            next_ns: start_ns,
            fraction_ns: 0.0,
        };
        process.advance();
        process
    }

    /// The next arrival in nanoseconds.
    #[inline]
    pub fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// Moves to the arrival after the next.
    pub fn advance(&mut self) {
        // 53 random bits make a number in (0, 1]; its negative logarithm is exponential with mean 1.
        let uniform = ((self.random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
        let gap_ns = -uniform.ln() * self.mean_gap_ns + self.fraction_ns;
        let whole_ns = gap_ns.floor();
        self.next_ns = self.next_ns.saturating_add(whole_ns as u64);
        self.fraction_ns = gap_ns - whole_ns;
    }
}

/// The schedule of one worker.
#[derive(Debug)]
pub enum Arrivals {
    /// Closed loop: a client's next attempt is due when its last has ended.
    Closed,
    /// Open loop: attempts fall due by a Poisson process, whether or not a client is free.
    Open(OpenLoop),
}

/// An open loop in constant memory, however long the backlog: one copy of the process counts what has fallen due,
/// another, behind it, gives the instants of those that are begun.
#[derive(Debug)]
pub struct OpenLoop {
    due: Poisson,
    begun: Poisson,
    backlog: u64,
}

impl OpenLoop {
    /// A loop that starts at `start_ns`.
    pub fn new(start_ns: u64, rate_per_s: f64, seed: u64) -> Self {
        let due = Poisson::new(start_ns, rate_per_s, seed);
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
            count += ((until_ns - self.due.next_ns) as f64 / self.due.mean_gap_ns) as u64;
            self.due.next_ns = until_ns;
        }
        self.backlog += count;
        count
    }

    /// Takes the oldest attempt that is due and not begun: the instant at which it fell due.
    pub fn begin(&mut self) -> Option<u64> {
        self.backlog = self.backlog.checked_sub(1)?;
        let due_ns = self.begun.next_ns.min(self.due.next_ns);
        self.begun.advance();
        Some(due_ns)
    }

    /// Attempts due and not begun.
    pub fn backlog(&self) -> u64 {
        self.backlog
    }

    /// When the next attempt falls due.
    pub fn next_due_ns(&self) -> u64 {
        self.due.next_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kolmogorov and Smirnov's test of the gaps against the exponential distribution, at the 1 % level.
    #[test]
    fn gaps_are_exponential_and_do_not_drift() {
        const N: usize = 20_000;
        for (seed, rate) in [(1, 50.0), (2, 10_000.0), (3, 3_000_000.0)] {
            let mut process = Poisson::new(0, rate, seed);
            let mut last = 0;
            let mut gaps: Vec<f64> = (0..N)
                .map(|_| {
                    let gap = process.next_ns() - last;
                    last = process.next_ns();
                    process.advance();
                    gap as f64 * rate / 1e9
                })
                .collect();
            let mean = gaps.iter().sum::<f64>() / N as f64;
            assert!((mean - 1.0).abs() < 4.0 / (N as f64).sqrt(), "rate {rate}: mean gap {mean}");
            if rate > 1e6 {
                continue; // whole nanoseconds are too coarse there for a test of the shape
            }
            gaps.sort_by(f64::total_cmp);
            let distance = gaps
                .iter()
                .enumerate()
                .map(|(i, gap)| ((1.0 - (-gap).exp()) - i as f64 / N as f64).abs())
                .fold(0.0, f64::max);
            assert!(distance < 1.63 / (N as f64).sqrt(), "rate {rate}: distance {distance}");
        }
    }

    #[test]
    fn what_is_begun_fell_due_in_order_and_in_time() {
        let mut open = OpenLoop::new(1_000, 1e6, 7);
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
        let mut open = OpenLoop::new(0, 1e12, 1);
        let count = open.count_due(1_000_000_000);
        assert!((0.99e12..1.01e12).contains(&(count as f64)), "{count}");
        assert_eq!(open.backlog(), count);
    }
}
