//! Service times with a known distribution.

use std::time::Duration;

/// Distribution of service times with known quantiles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distribution {
    /// Always the same time.
    Constant(Duration),
    /// One of two times; the slow one with probability `slow_share`.
    Bimodal {
        /// Usual time.
        fast: Duration,
        /// Slow time.
        slow: Duration,
        /// Probability of the slow time, from 0 to 1.
        slow_share: f64,
    },
    /// Pareto distribution: never below `least`, and above x with probability (least / x)^shape.
    HeavyTail {
        /// Shortest time.
        least: Duration,
        /// Tail index: the smaller, the heavier the tail; above 1 the mean is finite.
        shape: f64,
        /// Longest time, at which the tail is cut.
        most: Duration,
    },
}

impl Distribution {
    /// Service time that a share `quantile` (from 0 to 1) of the requests does not exceed.
    pub fn quantile(&self, quantile: f64) -> Duration {
        match *self {
            Self::Constant(always) => always,
            Self::Bimodal { fast, slow, slow_share } => {
                if quantile <= 1.0 - slow_share {
                    fast
                } else {
                    slow
                }
            }
            Self::HeavyTail { least, shape, most } => {
                let seconds = least.as_secs_f64() * (1.0 - quantile).powf(-1.0 / shape);
                Duration::from_secs_f64(seconds.min(most.as_secs_f64()))
            }
        }
    }
}

/// Service times drawn from a distribution; equal seeds give equal sequences.
#[derive(Debug, Clone)]
pub struct Delays {
    distribution: Distribution,
    state: u64,
}

impl Delays {
    /// Starts a sequence.
    pub fn new(distribution: Distribution, seed: u64) -> Self {
        Self { distribution, state: seed }
    }

    /// Draws the next service time: the quantile of a uniform number in [0, 1), by SplitMix64.
    pub fn draw(&mut self) -> Duration {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^= bits >> 31;
        self.distribution.quantile((bits >> 11) as f64 / (1u64 << 53) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Drawn times have the promised quantiles, within four standard errors of their rank.
    #[test]
    fn what_is_drawn_is_what_is_promised() {
        const N: usize = 40_000;
        let ms = Duration::from_millis;
        for distribution in [
            Distribution::Constant(ms(5)),
            Distribution::Bimodal { fast: ms(1), slow: ms(50), slow_share: 0.1 },
            Distribution::HeavyTail { least: ms(1), shape: 1.5, most: ms(1000) },
        ] {
            let mut delays = Delays::new(distribution, 7);
            let mut drawn: Vec<_> = (0..N).map(|_| delays.draw()).collect();
            drawn.sort_unstable();
            for quantile in [0.1, 0.5, 0.8, 0.95, 0.99] {
                let off = 4.0 * (quantile * (1.0 - quantile) / N as f64).sqrt();
                let (low, high) =
                    (distribution.quantile(quantile - off), distribution.quantile(quantile + off));
                let got = drawn[(quantile * N as f64) as usize];
                assert!((low..=high).contains(&got), "{distribution:?} at {quantile}: {got:?}");
            }
        }
    }
}
