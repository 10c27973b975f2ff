//! Which arm goes first.

use crate::measure::Arm;

/// The arm that goes first in a block, counted from 0: AB BA BA AB, then BA AB AB BA, and so on (the sequence of Thue
/// and Morse). In every four blocks each arm is first twice, and a machine that drifts along a line, or along a
/// parabola over eight blocks, favours neither.
pub fn first_of(block: u32) -> Arm {
    if block.count_ones().is_multiple_of(2) { Arm::A } else { Arm::B }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_go_abba_baab() {
        let runs: String = (0..8).map(|block| if first_of(block) == Arm::A { "AB" } else { "BA" }).collect();
        assert_eq!(runs, "ABBABAABBAABABBA");
    }

    /// What a drift adds to B less A over eight blocks is nothing, for a straight line and for a parabola.
    #[test]
    fn drifts_cancel() {
        for drift in [|t: f64| t, |t: f64| t * t] {
            let unfair: f64 = (0..8)
                .map(|block| {
                    let (first, second) = (drift(f64::from(2 * block)), drift(f64::from(2 * block + 1)));
                    if first_of(block) == Arm::A { second - first } else { first - second }
                })
                .sum();
            assert_eq!(unfair, 0.0);
        }
    }
}
