//! The looks at the result of a comparison.

use pgdyno_core::results::Look;

/// The looks before the last one. The last look is after all blocks (16 by default) and gets the rest of
/// [`FALSE_ALARMS`]: 0.010, 0.015, 0.025.
pub const EARLY_LOOKS: [Look; 2] = [Look { blocks: 8, alpha: 0.010 }, Look { blocks: 12, alpha: 0.015 }];
/// Largest false alarm rate of all looks together.
pub const FALSE_ALARMS: f64 = 0.05;
/// Fewest blocks: the interval of two observations is useless.
pub const MIN_BLOCKS: u32 = 3;
/// Most blocks.
pub const MAX_BLOCKS: u32 = 200;

/// The looks of a comparison with at most this number of blocks (at least 1).
pub fn looks(blocks: u32) -> Vec<Look> {
    let mut looks: Vec<_> = EARLY_LOOKS.into_iter().filter(|look| look.blocks < blocks).collect();
    let spent: f64 = looks.iter().map(|look| look.alpha).sum();
    looks.push(Look { blocks, alpha: FALSE_ALARMS - spent });
    looks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_blocks_have_the_looks_of_the_method() {
        let all: Vec<_> = looks(16).iter().map(|look| (look.blocks, (look.alpha * 1e3).round())).collect();
        assert_eq!(all, [(8, 10.0), (12, 15.0), (16, 25.0)]);
        assert_eq!(looks(8).iter().map(|look| look.blocks).collect::<Vec<_>>(), [8]);
        assert_eq!(looks(30).iter().map(|look| look.blocks).collect::<Vec<_>>(), [8, 12, 30]);
    }

    #[test]
    fn all_looks_together_spend_what_may_be_spent() {
        for blocks in 1..=MAX_BLOCKS {
            let looks = looks(blocks);
            let spent: f64 = looks.iter().map(|look| look.alpha).sum();
            assert!((spent - FALSE_ALARMS).abs() < 1e-12 && looks.iter().all(|look| look.alpha > 0.0));
            assert!(looks.windows(2).all(|two| two[0].blocks < two[1].blocks));
            assert_eq!(looks.last().map(|look| look.blocks), Some(blocks));
        }
    }
}
