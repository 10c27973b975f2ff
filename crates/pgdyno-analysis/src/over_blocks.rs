//! Whether the blocks of one cell met the same server, or one that changed from block to block.

use super::{
    estimate::{MAX_HALF_WIDTH, mean},
    student,
};

/// By what factor the rate of a block may differ from that of the one before. Single runs on a busy machine scatter by
/// 20 %, and then two of them differ by this factor once in seventy times; where they scatter by 10 % they never do.
/// What doubles or halves a rate is another state of server or machine: a cold cache, a throttled disk, a neighbour.
pub const MAX_JUMP: f64 = 2.0;
/// By what share a fitted line may rise or fall over the blocks: beyond it the first and the last of them lie further
/// from the mean than an interval may reach ([`MAX_HALF_WIDTH`] on either side).
pub const MAX_DRIFT: f64 = 2.0 * MAX_HALF_WIDTH;
/// How seldom noise alone may show such a line: as for the seconds of one run.
const FALSE_ALARM: f64 = 0.001;

/// How a rate changed over blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Change {
    /// From one block to the next, by more than [`MAX_JUMP`].
    Jump {
        /// Number of the block before it, from 1.
        block: usize,
        /// Rate of that block.
        from: f64,
        /// Rate of the block after it.
        to: f64,
    },
    /// Along a line, by more than [`MAX_DRIFT`].
    Drift {
        /// From the first block to the last, as a share.
        change: f64,
        /// Number of blocks.
        blocks: usize,
    },
}

impl Change {
    /// The strongest change in the rates of blocks, which are given in the order they were measured; a jump before a
    /// line. `None` where they are steady, or too few to tell.
    pub fn of(rates: &[f64]) -> Option<Self> {
        jump(rates).or_else(|| drift(rates))
    }

    /// How strong it is: the size of its logarithm.
    pub fn strength(self) -> f64 {
        match self {
            Self::Jump { from, to, .. } => apart(from, to),
            Self::Drift { change, .. } => change.ln_1p().abs(),
        }
    }
}

/// The size of the logarithm of a ratio; nothing between two rates of 0, and more than anything beside one of them.
fn apart(from: f64, to: f64) -> f64 {
    if from == to { 0.0 } else { (to / from).ln().abs() }
}

fn jump(rates: &[f64]) -> Option<Change> {
    let steps = rates.windows(2).enumerate().map(|(at, pair)| (at + 1, pair[0], pair[1]));
    let (block, from, to) = steps.max_by(|a, b| apart(a.1, a.2).total_cmp(&apart(b.1, b.2)))?;
    (apart(from, to) > MAX_JUMP.ln()).then_some(Change::Jump { block, from, to })
}

/// A line through the logarithms of the rates, over the numbers of the blocks.
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
    let is_seen = slope.abs() > student::two_sided(1.0 - FALSE_ALARM, degrees) * error;
    (is_large && is_seen).then_some(Change::Drift { change, blocks })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steady::tests::Normal;

    #[test]
    fn a_block_that_is_twice_as_fast_as_the_one_before_is_a_jump() {
        assert_eq!(Change::of(&[1_000.0, 1_999.0]), None);
        let jump = Change::Jump { block: 1, from: 1_443.0, to: 25_060.0 };
        assert_eq!(Change::of(&[1_443.0, 25_060.0]), Some(jump));
        // The largest is told, also one downwards.
        let found = Change::of(&[1_000.0, 2_100.0, 400.0, 410.0]);
        assert_eq!(found, Some(Change::Jump { block: 2, from: 2_100.0, to: 400.0 }));
        assert_eq!(Change::of(&[0.0, 0.0]), None);
        assert_eq!(Change::of(&[5.0, 0.0]), Some(Change::Jump { block: 1, from: 5.0, to: 0.0 }));
        assert_eq!((Change::of(&[]), Change::of(&[7.0])), (None, None));
    }

    #[test]
    fn a_line_over_the_blocks_is_a_drift() {
        // Six blocks that rise by 6 % each, with 1 % of noise: by a third in all.
        let noise = [1.01, 0.99, 1.0, 1.01, 0.99, 1.0];
        let rising: Vec<f64> =
            (0..).zip(noise).map(|(at, noise)| 1_000.0 * 1.06f64.powi(at) * noise).collect();
        let Some(Change::Drift { change, blocks: 6 }) = Change::of(&rising) else {
            panic!("{:?}", Change::of(&rising));
        };
        assert!((0.30..0.37).contains(&change), "{change}");
        let falling: Vec<f64> = rising.iter().rev().copied().collect();
        assert!(matches!(Change::of(&falling), Some(Change::Drift { change, .. }) if change < -0.2));
        // 15 % are within what an interval may be wide; two points make no line.
        let slow: Vec<f64> = (0..6).map(|at| 1_000.0 * 1.028f64.powi(at)).collect();
        assert_eq!((Change::of(&slow), Change::of(&[1_000.0, 1_300.0])), (None, None));
    }

    /// The thresholds are for what noise does not do.
    #[test]
    fn noise_alone_seldom_shows_either() {
        let mut normal = Normal::seeded(11);
        let mut found = |sd: f64, blocks: usize| {
            let rates =
                |normal: &mut Normal| (0..blocks).map(|_| (sd * normal.draw()).exp()).collect::<Vec<_>>();
            (0..2_000).filter(|_| Change::of(&rates(&mut normal)).is_some()).count()
        };
        assert!(found(0.10, 16) <= 6 && found(0.10, 6) <= 6 && found(0.10, 3) <= 6);
        // Two runs that scatter by 20 % each: 14 of 1,000 differ by more than the factor.
        assert!((12..=50).contains(&found(0.20, 2)), "once in seventy times");
    }
}
