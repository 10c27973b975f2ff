//! Choice of the script that an attempt runs.

use pgdyno_core::random::{Draw, Random};

/// Weights by which scripts share the attempts.
#[derive(Debug, Clone, Default)]
pub struct Mix {
    /// Weight of every script; empty runs the first script only.
    pub weights: Vec<u32>,
    /// Random stream of every worker, for the choice.
    pub streams: Vec<Random>,
}

/// The random stream of a worker; one seeded with the worker's number if none was given.
pub(crate) fn stream(streams: &[Random], worker: usize) -> Random {
    streams.get(worker).cloned().unwrap_or_else(|| Random::seeded(worker as u64))
}

/// Draws scripts by weight, one chooser a worker.
#[derive(Debug)]
pub(crate) struct Chooser {
    weights: Vec<u32>,
    total: i64,
    random: Random,
}

impl Chooser {
    pub(crate) fn new(mix: &Mix, worker: usize) -> Self {
        let random = stream(&mix.streams, worker);
        let total = mix.weights.iter().map(|&weight| i64::from(weight)).sum();
        Self { weights: mix.weights.clone(), total, random }
    }

    /// Draws the next script. A single script costs no random number, as in pgbench.
    #[inline]
    pub(crate) fn choose(&mut self) -> u32 {
        if self.weights.len() < 2 {
            return 0;
        }
        let mut left = self.random.between(0, self.total - 1);
        let chosen = self.weights.iter().position(|&weight| {
            left -= i64::from(weight);
            left < 0
        });
        chosen.unwrap_or(0) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_chosen_by_weight_and_one_of_weight_0_never() {
        let mut chooser = Chooser::new(&Mix { weights: vec![1, 0, 3], streams: vec![Random::seeded(7)] }, 0);
        let mut chosen = [0_u32; 3];
        (0..40_000).for_each(|_| chosen[chooser.choose() as usize] += 1);
        // Four standard deviations of a binomial distribution with n = 40,000 and p = 1/4 are 346.
        assert!(chosen[0].abs_diff(10_000) < 346, "{chosen:?}");
        assert_eq!(chosen[1], 0);
    }

    /// The first thread of `pgbench -c 3 -j 3 --random-seed=77`, version 15, with scripts of weight 1, 2 and 5; its
    /// random stream is the fifth that the seed gives.
    #[test]
    fn scripts_are_chosen_as_by_pgbench() {
        let mut seeds = Random::seeded(77);
        for _ in 0..4 {
            seeds.next_bits();
        }
        let streams = vec![Random::seeded(seeds.next_bits())];
        let mut chooser = Chooser::new(&Mix { weights: vec![1, 2, 5], streams }, 0);
        assert_eq!([0; 12].map(|_| chooser.choose()), [0, 2, 2, 2, 0, 0, 2, 2, 2, 2, 2, 2]);
    }

    #[test]
    fn without_weights_there_is_one_script() {
        let mut chooser = Chooser::new(&Mix::default(), 3);
        assert_eq!(chooser.choose(), 0);
    }
}
