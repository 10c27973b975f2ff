//! Random streams of a run, derived as by pgbench.

use pgdyno_core::random::{Draw, Random};

/// The random streams of a run with `--random-seed`, derived as by pgbench 15 and later: a generator with the
/// run's seed seeds every stream with its next number, in the order of these fields and, within a thread, of
/// [`ThreadStreams`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Streams {
    /// Stream of each client, for the random functions of its scripts.
    pub clients: Vec<Random>,
    /// Value of `:default_seed`; `None` if the user defined that variable, for which no number is drawn then.
    pub default_seed: Option<i64>,
    /// Streams of each thread.
    pub threads: Vec<ThreadStreams>,
}

/// Random streams of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadStreams {
    /// Chooses the next script ([`Chooser::choose`]).
    pub choose: Random,
    /// Schedules attempts under `--rate` ([`Random::waiting_time`]).
    pub throttle: Random,
    /// Selects attempts to log under `--sampling-rate` ([`Random::unit`]).
    pub sample: Random,
}

impl Streams {
    /// Derives the streams for a seed and these numbers of clients and threads.
    pub fn derive(seed: u64, clients: u32, threads: u32, default_seed_is_defined: bool) -> Self {
        let mut base = Random::seeded(seed);
        let mut next = || base.next_bits();
        Self {
            clients: (0..clients).map(|_| Random::seeded(next())).collect(),
            default_seed: (!default_seed_is_defined).then(|| next().cast_signed()),
            threads: (0..threads)
                .map(|_| ThreadStreams {
                    choose: Random::seeded(next()),
                    throttle: Random::seeded(next()),
                    sample: Random::seeded(next()),
                })
                .collect(),
        }
    }
}

/// Chooses among scripts by weight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chooser {
    weights: Vec<u32>,
    total: i64,
}

impl Chooser {
    /// A chooser for scripts with these weights; `None` if their sum is 0.
    pub fn new(weights: &[u32]) -> Option<Self> {
        let total = weights.iter().map(|&weight| i64::from(weight)).sum();
        (total > 0).then(|| Self { weights: weights.to_vec(), total })
    }

    /// The index of the next script. Draws nothing if there is only one.
    #[inline]
    pub fn choose(&self, random: &mut Random) -> usize {
        if self.weights.len() == 1 {
            return 0;
        }
        let mut left = random.between(0, self.total - 1);
        let passed = |weight: &u32| {
            left -= i64::from(*weight);
            left < 0
        };
        self.weights.iter().position(passed).expect("the number is below the sum of the weights")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_chosen_in_proportion_to_their_weights() {
        let chooser = Chooser::new(&[1, 0, 3]).expect("the sum is 4");
        let mut random = Random::seeded(1);
        let mut counts = [0u32; 3];
        (0..40_000).for_each(|_| counts[chooser.choose(&mut random)] += 1);
        assert!(counts[0].abs_diff(10_000) < 300 && counts[1] == 0, "{counts:?}");
        assert_eq!(Chooser::new(&[0, 0]), None);
    }

    #[test]
    fn one_script_is_chosen_without_a_draw() {
        let mut random = Random::seeded(1);
        assert_eq!(Chooser::new(&[5]).expect("it has a weight").choose(&mut random), 0);
        assert_eq!(random, Random::seeded(1));
    }

    #[test]
    fn a_defined_default_seed_shifts_the_streams_of_threads_by_one() {
        let (drawn, defined) = (Streams::derive(42, 2, 1, false), Streams::derive(42, 2, 1, true));
        assert_eq!(drawn.clients, defined.clients);
        assert_eq!(drawn.threads[0].choose, defined.threads[0].throttle);
        assert!(drawn.default_seed.is_some() && defined.default_seed.is_none());
    }
}
