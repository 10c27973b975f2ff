//! Non-uniform random numbers as in pgbench (see NOTICE): the same generator in the same state gives the same numbers.
//! They depend on the platform's `exp`, `log`, `pow` and `sin`, as in pgbench; if two mathematical libraries differ in
//! the last bit, a number may differ by one.

use std::f64::consts::PI;

use super::Random;

impl Random {
    /// A double in [0, 1) with 52 random bits (`pg_prng_double`).
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_bits() >> 12) as f64 * (1.0 / (1u64 << 52) as f64)
    }

    /// A double in (0, 1].
    #[inline]
    fn above_zero(&mut self) -> f64 {
        1.0 - self.unit()
    }

    /// A double of the standard normal distribution, by the Box-Muller transform.
    fn normal(&mut self) -> f64 {
        let radius = self.above_zero();
        let turn = self.above_zero();
        (-2.0 * radius.ln()).sqrt() * (2.0 * PI * turn).sin()
    }

    /// `random_exponential`: from `lowest` to `highest`, with decreasing probability. The density falls by the factor
    /// e^−`parameter` from one end to the other; `parameter` is above 0.
    pub fn exponential(&mut self, lowest: i64, highest: i64, parameter: f64) -> i64 {
        let cut = (-parameter).exp();
        let uniform = self.above_zero();
        let fraction = -(cut + (1.0 - cut) * uniform).ln() / parameter;
        at_fraction(lowest, highest, fraction)
    }

    /// `random_gaussian`: from `lowest` to `highest`, most often in the middle; the ends are `parameter` (at least 2)
    /// standard deviations away from it.
    pub fn gaussian(&mut self, lowest: i64, highest: i64, parameter: f64) -> i64 {
        let deviation = loop {
            let deviation = self.normal();
            if !(deviation < -parameter || deviation >= parameter) {
                break deviation;
            }
        };
        at_fraction(lowest, highest, (deviation + parameter) / (parameter * 2.0))
    }

    /// `random_zipfian`: from `lowest` to `highest`, the k-th of them with a probability proportional to
    /// k^−`parameter`, which is from 1.001 to 1000. Drawn by rejection (Devroye, "Non-Uniform Random Variate
    /// Generation", 1986, p. 550).
    pub fn zipfian(&mut self, lowest: i64, highest: i64, parameter: f64) -> i64 {
        let numbers = highest - lowest + 1;
        if numbers <= 1 {
            return lowest;
        }
        let power = parameter - 1.0;
        let b = 2f64.powf(power);
        loop {
            let u = self.unit();
            let v = self.unit();
            let x = u.powf(-1.0 / power).floor();
            let t = (1.0 + 1.0 / x).powf(power);
            if v * x * (t - 1.0) / (b - 1.0) <= t / b && x <= numbers as f64 {
                return lowest - 1 + x as i64;
            }
        }
    }
}

fn at_fraction(lowest: i64, highest: i64, fraction: f64) -> i64 {
    lowest.wrapping_add(((highest - lowest + 1) as f64 * fraction) as i64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_stay_in_their_range(seed: u64, low in -1000i64..1000, more in 0i64..1000, p in 2.0..50.0) {
            let (mut random, high) = (Random::seeded(seed), low + more);
            for _ in 0..20 {
                for drawn in [
                    random.exponential(low, high, p),
                    random.gaussian(low, high, p),
                    random.zipfian(low, high, p),
                ] {
                    prop_assert!((low..=high).contains(&drawn), "{}", drawn);
                }
            }
        }
    }

    /// The k-th of n has a probability proportional to k^−s: 36/49, 9/49 and 4/49 for s = 2 and three numbers.
    /// Chi-square with 2 degrees of freedom exceeds 13.8 once in a thousand times; the seed is fixed.
    #[test]
    fn zipfian_numbers_follow_their_distribution() {
        let mut random = Random::seeded(7);
        let mut counts = [0u32; 3];
        (0..49_000).for_each(|_| counts[(random.zipfian(1, 3, 2.0) - 1) as usize] += 1);
        let chi2: f64 = counts
            .iter()
            .zip([36_000.0, 9_000.0, 4_000.0])
            .map(|(&n, expected)| (f64::from(n) - expected).powi(2) / expected)
            .sum();
        assert!(chi2 < 13.8, "{chi2} {counts:?}");
    }

    /// According to pgbench's manual, 67 % of the draws are in the middle 1/parameter of the range, 95 % in the middle
    /// 2/parameter.
    #[test]
    fn gaussian_numbers_follow_their_distribution() {
        let mut random = Random::seeded(3);
        let drawn: Vec<_> = (0..20_000).map(|_| random.gaussian(1, 1_000_000, 5.0)).collect();
        let within =
            |half: i64| drawn.iter().filter(|n| n.abs_diff(500_000) <= half as u64).count() as f64 / 200.0;
        assert!((within(100_000) - 68.3).abs() < 1.0 && (within(200_000) - 95.4).abs() < 0.5);
    }

    #[test]
    fn exponential_numbers_follow_their_distribution() {
        let mut random = Random::seeded(5);
        let drawn =
            (0..20_000).filter(|_| random.exponential(1, 1_000, 4.0) <= 500).count() as f64 / 20_000.0;
        let expected = (1.0 - (-2f64).exp()) / (1.0 - (-4f64).exp());
        assert!((drawn - expected).abs() < 0.01, "{drawn} {expected}");
    }
}
