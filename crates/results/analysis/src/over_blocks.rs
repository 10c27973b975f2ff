//! Detects jumps and drifts of a rate over the blocks of a cell.

use crate::{
    estimate::MAX_HALF_WIDTH,
    statistics::{mean, two_sided},
};

/// Tolerated factor between the rates of consecutive blocks. On a busy machine, where single runs scatter by 20 %,
/// noise alone exceeds it once in seventy times; with a scatter of 10 %, never. If a rate doubles or halves, the state
/// of server or machine has changed: a cold cache, a throttled disk, another guest.
pub const MAX_JUMP: f64 = 2.0;
/// Tolerated rise or fall of the fitted line over the blocks, as a share: the first and the last block then deviate
/// from the mean by at most [`MAX_HALF_WIDTH`].
pub const MAX_DRIFT: f64 = 2.0 * MAX_HALF_WIDTH;
/// Significance level of the line, as for the seconds of one run.
const FALSE_ALARM: f64 = 0.001;

/// A change of a rate over blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Change {
    /// A change from one block to the next by more than [`MAX_JUMP`].
    Jump {
        /// Number of the block before the jump, from 1.
        block: usize,
        /// Rate of the block before the jump.
        from: f64,
        /// Rate of the block after the jump.
        to: f64,
    },
    /// A linear trend over all blocks by more than [`MAX_DRIFT`].
    Drift {
        /// Change from the first to the last block, as a share.
        change: f64,
        /// Number of blocks.
        blocks: usize,
    },
}

impl Change {
    /// Finds the strongest change in the rates of blocks, given in execution order. Jumps take precedence over drifts.
    /// `None` if the rates are steady, or too few.
    pub fn find(rates: &[f64]) -> Option<Self> {
        jump(rates).or_else(|| drift(rates))
    }

    /// Strength of the change: the absolute value of its logarithm.
    pub fn strength(self) -> f64 {
        match self {
            Self::Jump { from, to, .. } => apart(from, to),
            Self::Drift { change, .. } => change.ln_1p().abs(),
        }
    }
}

/// The absolute value of the logarithm of a ratio: 0 for two rates of 0, infinite if only one of them is 0.
fn apart(from: f64, to: f64) -> f64 {
    if from == to { 0.0 } else { (to / from).ln().abs() }
}

fn jump(rates: &[f64]) -> Option<Change> {
    let steps = rates.windows(2).enumerate().map(|(at, pair)| (at + 1, pair[0], pair[1]));
    let (block, from, to) = steps.max_by(|a, b| apart(a.1, a.2).total_cmp(&apart(b.1, b.2)))?;
    (apart(from, to) > MAX_JUMP.ln()).then_some(Change::Jump { block, from, to })
}

/// Fits a line to the logarithms of the rates over the block numbers.
fn drift(rates: &[f64]) -> Option<Change> {
    let blocks = rates.len();
    if blocks < 3 || rates.iter().any(|rate| *rate <= 0.0) {
        return None;
    }
    let logs: Vec<f64> = rates.iter().map(|rate| rate.ln()).collect();
    let middle = mean(&logs)?;
    let center = (blocks - 1) as f64 / 2.0;
    let points = || logs.iter().enumerate().map(|(at, log)| (at as f64 - center, log - middle));
    let squares: f64 = points().map(|(x, _)| x * x).sum();
    let slope = points().map(|(x, y)| x * y).sum::<f64>() / squares;
    let rest: f64 = points().map(|(x, y)| (y - slope * x).powi(2)).sum();
    let degrees = (blocks - 2) as u32;
    let error = (rest / f64::from(degrees) / squares).sqrt();
    let change = (slope * (blocks - 1) as f64).exp_m1();
    let is_large = change.ln_1p().abs() > MAX_DRIFT.ln_1p();
    let is_seen = slope.abs() > two_sided(FALSE_ALARM, f64::from(degrees)) * error;
    (is_large && is_seen).then_some(Change::Drift { change, blocks })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steady::tests::Normal;

    #[test]
    fn a_block_that_is_twice_as_fast_as_the_one_before_is_a_jump() {
        assert_eq!(Change::find(&[1_000.0, 1_999.0]), None);
        let jump = Change::Jump { block: 1, from: 1_443.0, to: 25_060.0 };
        assert_eq!(Change::find(&[1_443.0, 25_060.0]), Some(jump));
        // The largest jump is reported, also a downward one.
        let found = Change::find(&[1_000.0, 2_100.0, 400.0, 410.0]);
        assert_eq!(found, Some(Change::Jump { block: 2, from: 2_100.0, to: 400.0 }));
        assert_eq!(Change::find(&[0.0, 0.0]), None);
        assert_eq!(Change::find(&[5.0, 0.0]), Some(Change::Jump { block: 1, from: 5.0, to: 0.0 }));
        assert_eq!((Change::find(&[]), Change::find(&[7.0])), (None, None));
    }

    #[test]
    fn a_line_over_the_blocks_is_a_drift() {
        // Six blocks that rise by 6 % each, with 1 % of noise: by a third in all.
        let noise = [1.01, 0.99, 1.0, 1.01, 0.99, 1.0];
        let rising: Vec<f64> =
            (0..).zip(noise).map(|(at, noise)| 1_000.0 * 1.06f64.powi(at) * noise).collect();
        let Some(Change::Drift { change, blocks: 6 }) = Change::find(&rising) else {
            panic!("{:?}", Change::find(&rising));
        };
        assert!((0.30..0.37).contains(&change), "{change}");
        let falling: Vec<f64> = rising.iter().rev().copied().collect();
        assert!(matches!(Change::find(&falling), Some(Change::Drift { change, .. }) if change < -0.2));
        // 15 % are tolerated; two points are too few for a line.
        let slow: Vec<f64> = (0..6).map(|at| 1_000.0 * 1.028f64.powi(at)).collect();
        assert_eq!((Change::find(&slow), Change::find(&[1_000.0, 1_300.0])), (None, None));
    }

    /// Noise alone rarely exceeds the thresholds.
    #[test]
    fn noise_alone_seldom_shows_either() {
        let mut normal = Normal::seeded(11);
        let mut found = |sd: f64, blocks: usize| {
            let rates =
                |normal: &mut Normal| (0..blocks).map(|_| (sd * normal.draw()).exp()).collect::<Vec<_>>();
            (0..2_000).filter(|_| Change::find(&rates(&mut normal)).is_some()).count()
        };
        assert!(found(0.10, 16) <= 6 && found(0.10, 6) <= 6 && found(0.10, 3) <= 6);
        // Two runs that scatter by 20 % each: 14 of 1,000 differ by more than the factor.
        assert!((12..=50).contains(&found(0.20, 2)), "once in seventy times");
    }
}
