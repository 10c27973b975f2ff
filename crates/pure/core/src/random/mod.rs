//! Random numbers from pgbench's generator.

mod variates;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::{SplitMix64, Xoroshiro128StarStar};

/// A source of uniform integers.
pub trait Draw {
    /// A uniformly distributed number from `lowest` to `highest`, both included; `lowest` if the range is empty.
    fn between(&mut self, lowest: i64, highest: i64) -> i64;
}

/// pgbench's generator: xoroshiro128** (Blackman and Vigna), seeded from 64 bits by splitmix64, as
/// `pg_prng_seed` in PostgreSQL's `src/common/pg_prng.c` (15 and later). The same seed gives the same
/// numbers as `pg_prng` does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Random(Xoroshiro128StarStar);

/// Increment of splitmix64: 2^64 over the golden ratio, made odd.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

impl Random {
    /// A generator in the state after `pg_prng_seed(seed)`.
    pub fn seeded(seed: u64) -> Self {
        Self(Xoroshiro128StarStar::seed_from_u64(seed))
    }

    /// The next 64 random bits (`pg_prng_uint64`), for seeds and arrivals.
    #[inline]
    pub fn next_bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// The seed of one client's stream in one run.
    ///
    /// Run and client together are a 64-bit number n, and the stream's seed is the n-th output of splitmix64 started
    /// from the plan's seed. For one plan splitmix64 maps different n to different seeds, so no two clients, and no
    /// client in two runs, share a stream. A stream depends only on plan seed, run and client: not on the number of
    /// threads, nor on the client count.
    pub fn stream_seed(plan_seed: u64, run: u32, client: u32) -> u64 {
        let number = u64::from(run) << 32 | u64::from(client);
        SplitMix64::seed_from_u64(plan_seed.wrapping_add(number.wrapping_mul(GOLDEN))).next_u64()
    }

    /// The generator of one client in one run; see [`Random::stream_seed`].
    pub fn stream(plan_seed: u64, run: u32, client: u32) -> Self {
        Self::seeded(Self::stream_seed(plan_seed, run, client))
    }
}

impl Draw for Random {
    /// `pg_prng_int64_range`: as many high bits as the range needs, redrawn while they exceed it. Unlike a remainder,
    /// this is unbiased; it takes fewer than two draws on average.
    #[inline]
    fn between(&mut self, lowest: i64, highest: i64) -> i64 {
        if lowest >= highest {
            return lowest;
        }
        let range = highest.cast_unsigned().wrapping_sub(lowest.cast_unsigned());
        let shift = range.leading_zeros();
        loop {
            let offset = self.0.next_u64() >> shift;
            if offset <= range {
                return lowest.cast_unsigned().wrapping_add(offset).cast_signed();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    /// An independent implementation, after the text of `pg_prng.c`.
    struct PgPrng(u64, u64);

    impl PgPrng {
        fn seed(mut seed: u64) -> Self {
            let mut splitmix = || {
                seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
                let val = (seed ^ (seed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
                let val = (val ^ (val >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
                val ^ (val >> 31)
            };
            Self(splitmix(), splitmix())
        }

        fn next(&mut self) -> u64 {
            let (s0, sx) = (self.0, self.1 ^ self.0);
            self.0 = s0.rotate_left(24) ^ sx ^ (sx << 16);
            self.1 = sx.rotate_left(37);
            s0.wrapping_mul(5).rotate_left(7).wrapping_mul(9)
        }
    }

    proptest! {
        #[test]
        fn the_generator_is_that_of_postgresql(seed: u64) {
            let (mut ours, mut theirs) = (Random::seeded(seed), PgPrng::seed(seed));
            for _ in 0..20 {
                let expected = theirs.next().wrapping_add(1 << 63).cast_signed();
                prop_assert_eq!(ours.between(i64::MIN, i64::MAX), expected);
            }
        }

        #[test]
        fn numbers_stay_in_their_range(seed: u64, a: i64, b: i64) {
            let (low, high) = (a.min(b), a.max(b));
            let mut random = Random::seeded(seed);
            prop_assert!((0..50).all(|_| (low..=high).contains(&random.between(low, high))));
            prop_assert_eq!(random.between(high, low), high, "an empty range gives its first end");
        }
    }

    /// Chi-square with 9 degrees of freedom: 27.9 is exceeded once in a thousand times. The seed is fixed.
    #[test]
    fn ten_values_are_equally_frequent() {
        let mut random = Random::stream(1, 0, 0);
        let mut counts = [0u32; 10];
        (0..100_000).for_each(|_| counts[random.between(-3, 6).abs_diff(-3) as usize] += 1);
        let chi2: f64 = counts.iter().map(|&n| (f64::from(n) - 10_000.0).powi(2) / 10_000.0).sum();
        assert!(chi2 < 27.9, "{chi2} {counts:?}");
    }

    #[test]
    fn all_streams_of_a_plan_start_differently() {
        let seeds =
            (0..50).flat_map(|run| (0..1_000).map(move |client| Random::stream_seed(42, run, client)));
        assert_eq!(seeds.collect::<HashSet<_>>().len(), 50_000);
    }
}
