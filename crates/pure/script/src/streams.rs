//! Random streams of a run, derived as by pgbench.

use pgdyno_core::random::Random;

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
    /// Chooses the next script.
    pub choose: Random,
    /// Schedules attempts under `--rate` in pgbench; it only keeps the others in their places here.
    pub throttle: Random,
    /// Selects attempts to log under `--sampling-rate` ([`Random::unit`]).
    pub sample: Random,
}

impl Streams {
    /// Derives the streams for a seed and these client and thread counts.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_defined_default_seed_shifts_the_streams_of_threads_by_one() {
        let (drawn, defined) = (Streams::derive(42, 2, 1, false), Streams::derive(42, 2, 1, true));
        assert_eq!(drawn.clients, defined.clients);
        assert_eq!(drawn.threads[0].choose, defined.threads[0].throttle);
        assert!(drawn.default_seed.is_some() && defined.default_seed.is_none());
    }
}
