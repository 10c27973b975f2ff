//! Non-uniform random numbers (clause 2.1.6).

use serde::{Deserialize, Serialize};

use super::Draws;

/// NURand(A, x, y) with its constant C.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NuRand {
    a: u64,
    low: u64,
    high: u64,
    pub(super) c: u64,
}

impl NuRand {
    /// For last name numbers: A is 255, over 0 to 999.
    pub fn last_names(c: u64) -> Self {
        Self { a: 255, low: 0, high: 999, c }
    }

    /// For customer numbers: A is 1,023, over 1 to 3,000.
    pub fn customers(c: u64) -> Self {
        Self { a: 1_023, low: 1, high: super::CUSTOMERS, c }
    }

    /// For item numbers: A is 8,191, over 1 to 100,000.
    pub fn items(c: u64) -> Self {
        Self { a: 8_191, low: 1, high: super::ITEMS, c }
    }

    /// Draws a number.
    #[inline]
    pub fn draw(&self, draws: &mut Draws) -> u64 {
        let both = draws.within(0, self.a) | draws.within(self.low, self.high);
        (both + self.c) % (self.high - self.low + 1) + self.low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with the exact distribution of NURand(255, 0, 999), computed over all pairs of its draws.
    #[test]
    fn numbers_follow_their_definition() {
        const C: u64 = 123;
        let mut expected = [0_f64; 1_000];
        for a in 0..=255 {
            for b in 0..=999 {
                expected[(((a | b) + C) % 1_000) as usize] += 1.0 / 256_000.0;
            }
        }
        let (mut seen, mut draws) = ([0_f64; 1_000], Draws::new(3, 0, 0));
        let many = 1_000_000;
        for _ in 0..many {
            seen[NuRand::last_names(C).draw(&mut draws) as usize] += 1.0;
        }
        let chi: f64 = seen
            .iter()
            .zip(expected)
            .filter(|(_, share)| *share > 0.0)
            .map(|(count, share)| {
                let expected = share * f64::from(many);
                (count - expected).powi(2) / expected
            })
            .sum();
        // 999 degrees of freedom: mean 999, standard deviation 45.
        assert!((800.0..1_230.0).contains(&chi), "{chi}");
        let never = seen.iter().zip(expected).filter(|(_, share)| *share == 0.0).map(|(count, _)| count);
        assert_eq!(never.sum::<f64>(), 0.0);
    }
}
