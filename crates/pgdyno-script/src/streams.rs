//! Which random stream belongs to whom in a run with pgbench's seeds.

use pgdyno_core::random::{Draw, Random};

/// The random streams of a run with `--random-seed`, derived as pgbench 15 and later derive them: one generator is
/// seeded with the run's seed, and every stream is seeded with its next number, in the order of these fields, the
/// streams of one thread in the order of [`ThreadStreams`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Streams {
    /// What the random functions of each client's scripts draw from.
    pub clients: Vec<Random>,
    /// `:default_seed`; `None` where the user defined that variable, for then no number is drawn for it.
    pub default_seed: Option<i64>,
    /// The streams of each thread.
    pub threads: Vec<ThreadStreams>,
}

/// What a thread draws from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadStreams {
    /// Which script is next, by [`Chooser::choose`].
    pub choose: Random,
    /// When the next attempt is due under `--rate`, by [`Random::waiting_time`].
    pub throttle: Random,
    /// Whether an attempt is logged under `--sampling-rate`, by [`Random::unit`].
    pub sample: Random,
}

impl Streams {
    /// The streams for a seed and so many clients and threads.
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

/// Chooses among weighted scripts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chooser {
    weights: Vec<u32>,
    total: i64,
}

impl Chooser {
    /// A chooser for scripts with these weights; `None` where their sum is 0.
    pub fn new(weights: &[u32]) -> Option<Self> {
        let total = weights.iter().map(|&weight| i64::from(weight)).sum();
        (total > 0).then(|| Self { weights: weights.to_vec(), total })
    }

    /// The index of the next script. Nothing is drawn where there is only one.
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
