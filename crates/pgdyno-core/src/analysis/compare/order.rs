//! Which arm or subject goes first.

use crate::{measure::Arm, script::Random};

/// The arm that goes first in a block, counted from 0: AB BA BA AB, then BA AB AB BA, and so on (the sequence of Thue
/// and Morse). In every four blocks each arm is first twice, and a machine that drifts along a line, or along a
/// parabola over eight blocks, favours neither.
pub fn first_of(block: u32) -> Arm {
    if block.count_ones().is_multiple_of(2) { Arm::A } else { Arm::B }
}

/// The places of a round of so many arms, each once. Every second round is the one before it turned round, and every
/// second round begins one arm further on: ABC CBA BCA ACB CAB BAC; of two arms AB BA BA AB.
pub fn in_round(arms: usize, round: usize) -> impl Iterator<Item = usize> {
    (0..arms).map(move |at| {
        let at = if round.is_multiple_of(2) { at } else { arms - 1 - at };
        (at + round / 2) % arms
    })
}

/// The order in which subjects take their turns at a level of a workload, in a block counted from 0. Blocks follow each
/// other as rounds do ([`in_round`]), and the seed says with which round a level begins: so in a block of several
/// levels nobody is always first.
pub fn turns(subjects: usize, seed: u64, level: u32, block: u32) -> impl Iterator<Item = usize> {
    let rounds = 2 * subjects.max(1) as u64;
    let begin = Random::stream_seed(seed, level, u32::MAX) % rounds;
    in_round(subjects, begin as usize + block as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_go_abba_baab() {
        let runs: String = (0..8).map(|block| if first_of(block) == Arm::A { "AB" } else { "BA" }).collect();
        assert_eq!(runs, "ABBABAABBAABABBA");
    }

    #[test]
    fn every_subject_has_one_turn_in_a_block_and_every_place_equally_often() {
        for subjects in 1..6_usize {
            for level in 0..20 {
                let mut places = vec![vec![0; subjects]; subjects];
                for block in 0..2 * subjects as u32 {
                    turns(subjects, 7, level, block)
                        .enumerate()
                        .for_each(|(place, who)| places[who][place] += 1);
                }
                assert!(places.iter().flatten().all(|count| *count == 2), "{subjects}: {places:?}");
            }
        }
    }

    #[test]
    fn four_blocks_of_two_favour_neither_and_levels_begin_with_either() {
        let first = |level, block| turns(2, 11, level, block).next().expect("there are two");
        for level in 0..32 {
            assert_eq!((0..4).map(|block| first(level, block)).sum::<usize>(), 2, "level {level}");
        }
        let begun: usize = (0..32).map(|level| first(level, 0)).sum();
        assert!((8..=24).contains(&begun), "{begun} of 32 levels begin with the second");
        let orders =
            |seed| (0..16).map(|level| turns(3, seed, level, 0).collect::<Vec<_>>()).collect::<Vec<_>>();
        assert_eq!(orders(1), orders(1));
        assert_ne!(orders(1), orders(2), "the seed says it");
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
