//! The order of arms and subjects.

use pgdyno_core::{measure::Arm, random::Random};

/// The arm that runs first in a block, counted from 0: AB BA BA AB, then BA AB AB BA, and so on (the Thue-Morse
/// sequence). In every four blocks each arm is first twice; a linear drift of the machine, or a quadratic one over
/// eight blocks, favours neither.
pub fn first_of(block: u32) -> Arm {
    if in_round(2, block as usize).next() == Some(0) { Arm::A } else { Arm::B }
}

/// The order of the arms in a round, by the design of Williams ("Experimental designs balanced for the
/// estimation of residual effects of treatments", Australian Journal of Scientific Research A 2, 1949, 149-168): over
/// a cycle of rounds ([`cycle`]) every arm is in every position equally often, and runs right after every other arm
/// equally often, so that carry-over effects (a warm cache, a busy disk) affect all arms equally.
///
/// The first row is 0, 1, n-1, 2, n-2 and so on, in which neighbours differ by each step once (n even) or by half of
/// the steps twice (n odd); the others are cyclic shifts of it. Every second round is the previous one reversed: for an
/// even number a row of the same square, for an odd one a row of a second square, which has the other half of the
/// steps. So a linear drift cancels over every two rounds. Some cycles reverse each such pair (by the Thue-Morse
/// sequence), so that drifts of higher powers cancel over several. Three arms: ABC CBA BCA ACB CAB BAC; two: AB BA BA
/// AB; four: ABDC CDBA BCAD DACB.
pub fn in_round(arms: usize, round: usize) -> impl Iterator<Item = usize> {
    let pairs = pairs(arms);
    let row = round / 2 % pairs;
    let is_turned = !(round + (round / 2 / pairs).count_ones() as usize).is_multiple_of(2);
    (0..arms).map(move |place| {
        let place = if is_turned { arms - 1 - place } else { place };
        let step = if place.is_multiple_of(2) { arms - place / 2 } else { place.div_ceil(2) };
        (step + row) % arms
    })
}

/// Length of a balanced cycle in rounds: the number of arms, or twice as many if that is odd.
pub fn cycle(arms: usize) -> usize {
    2 * pairs(arms)
}

/// Pairs of a round and its reverse in a cycle.
fn pairs(arms: usize) -> usize {
    let arms = arms.max(1);
    if arms.is_multiple_of(2) { arms / 2 } else { arms }
}

/// The order of the subjects at a level of a workload, in a block counted from 0. Blocks follow each other like rounds
/// ([`in_round`]); the seed determines the pair of rounds with which a level begins, so that in a block of several
/// levels no subject is always first.
///
/// After any number of blocks, the counts of subjects per position, and of direct successions, differ by at most one
/// (two if the number of subjects is odd).
pub fn turns(subjects: usize, seed: u64, level: u32, block: u32) -> impl Iterator<Item = usize> {
    // Over two cycles each pair occurs in both directions.
    let begin = Random::stream_seed(seed, level, u32::MAX) % cycle(subjects) as u64;
    in_round(subjects, 2 * begin as usize + block as usize)
}

#[cfg(test)]
mod tests {
    use pgdyno_plan::MAX_SUBJECTS;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn blocks_go_abba_baab() {
        let runs: String = (0..8).map(|block| if first_of(block) == Arm::A { "AB" } else { "BA" }).collect();
        assert_eq!(runs, "ABBABAABBAABABBA");
    }

    /// Counts of each subject in each position, and of each direct succession.
    fn met(subjects: usize, seed: u64, level: u32, blocks: u32) -> (Vec<u32>, Vec<u32>) {
        let (mut places, mut after) = (vec![0; subjects * subjects], vec![0; subjects * subjects]);
        for block in 0..blocks {
            let order: Vec<_> = turns(subjects, seed, level, block).collect();
            let mut each = order.clone();
            each.sort_unstable();
            assert!(each.into_iter().eq(0..subjects), "each runs once: {order:?}");
            order.iter().enumerate().for_each(|(place, who)| places[who * subjects + place] += 1);
            order.windows(2).for_each(|two| after[two[1] * subjects + two[0]] += 1);
        }
        // No subject follows itself within a round.
        (
            places,
            after
                .into_iter()
                .enumerate()
                .filter(|(at, _)| at % (subjects + 1) != 0)
                .map(|(_, n)| n)
                .collect(),
        )
    }

    fn uneven(counts: &[u32]) -> u32 {
        counts.iter().max().zip(counts.iter().min()).map_or(0, |(most, least)| most - least)
    }

    proptest! {
        #[test]
        fn over_a_cycle_all_are_everywhere_and_after_everybody_equally_often(
            subjects in 1..=MAX_SUBJECTS, seed in any::<u64>(), level in 0_u32..40, cycles in 1_u32..4
        ) {
            let (places, after) = met(subjects, seed, level, cycles * cycle(subjects) as u32);
            prop_assert_eq!((uneven(&places), uneven(&after)), (0, 0), "{:?} {:?}", places, after);
        }

        /// As balanced as integers can be for an even number of subjects; a cycle of an odd number has everything
        /// twice.
        #[test]
        fn any_number_of_blocks_is_nearly_as_even(
            subjects in 2..=MAX_SUBJECTS, seed in any::<u64>(), level in 0_u32..40, blocks in 1_u32..80
        ) {
            let (places, after) = met(subjects, seed, level, blocks);
            let most = if subjects.is_multiple_of(2) { 1 } else { 2 };
            prop_assert!(uneven(&places) <= most && uneven(&after) <= most, "{:?} {:?}", places, after);
        }

        #[test]
        fn over_every_two_blocks_a_drift_favours_none(
            subjects in 1..=MAX_SUBJECTS, seed in any::<u64>(), level in 0_u32..40, pair in 0_u32..40
        ) {
            let order = |block| turns(subjects, seed, level, block).collect::<Vec<_>>();
            let turned: Vec<_> = order(2 * pair + 1).into_iter().rev().collect();
            prop_assert_eq!(order(2 * pair), turned);
        }
    }

    #[test]
    fn rounds_are_those_of_williams() {
        let written = |arms: usize| {
            let round = |round| in_round(arms, round).map(|arm| ['A', 'B', 'C', 'D', 'E'][arm]).collect();
            (0..cycle(arms)).map(round).collect::<Vec<String>>().join(" ")
        };
        assert_eq!(written(2), "AB BA");
        assert_eq!(written(3), "ABC CBA BCA ACB CAB BAC");
        assert_eq!(written(4), "ABDC CDBA BCAD DACB");
        assert_eq!(written(5), "ABECD DCEBA BCADE EDACB CDBEA AEBDC DECAB BACED EADBC CBDAE");
        assert_eq!(in_round(2, 2).collect::<Vec<_>>(), [1, 0], "the second cycle is reversed");
        assert_eq!(in_round(2, 6).collect::<Vec<_>>(), [0, 1], "and the fourth is not");
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
        assert_ne!(orders(1), orders(2), "the seed determines the order");
    }

    /// A linear or quadratic drift cancels in B − A over eight blocks.
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
