//! Which runs come next, according to the job and the record so far.

use pgdyno_analysis::compare::{Comparison, first_of, turns};
use pgdyno_core::measure::Arm;
use pgdyno_plan::Order;
use pgdyno_record::{ComparisonRecord, RunRecord};

use crate::{Job, SubjectJob, ahead::RoundsLeft, job::Compare, prepared::Prepared};

/// Runs that belong together: one of each subject at one level, or the two of a block of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Round {
    /// Number of rounds before it.
    pub number: u32,
    /// Number of passes over other levels before its own.
    pass: usize,
    /// Index of the plan's workload.
    pub workload: usize,
    /// Client count of subjects without one of their own.
    pub clients: u32,
    /// Number of the block.
    pub block: u32,
    /// The subjects in order of their runs, as indexes into the job's list.
    pub order: Vec<usize>,
    /// In a comparison: the arm that runs first.
    pub first: Option<Arm>,
    /// Whether the servers are restarted before it.
    pub restarts: bool,
}

impl Round {
    /// Client count of a subject's run.
    pub fn clients_of(&self, subject: &SubjectJob) -> u32 {
        subject.clients.unwrap_or(self.clients)
    }
}

/// The round after those in the record; `None` if no more are needed.
pub fn next(job: &Job, prepared: &Prepared, record: &RunRecord) -> Option<Round> {
    Schedule::new(job, prepared).next(record)
}

/// The planned rounds that the record lacks.
pub fn left(job: &Job, prepared: &Prepared, record: &RunRecord) -> RoundsLeft {
    let schedule = Schedule::new(job, prepared);
    let done = match &record.comparison {
        None => record.runs.len() / schedule.subjects.max(1),
        Some(comparison) => comparison.undisturbed().count(),
    };
    let left = || schedule.rounds.iter().skip(done);
    RoundsLeft {
        rounds: left().count() as u32,
        starts: left().filter(|round| round.restarts).count() as u32,
        of: schedule.rounds.len() as u32,
    }
}

/// All planned rounds.
#[derive(Debug)]
struct Schedule {
    rounds: Vec<Round>,
    /// Numbers of the rounds before which there is a look.
    looks: Vec<u32>,
    subjects: usize,
}

impl Schedule {
    /// The schedule of a job.
    fn new(job: &Job, prepared: &Prepared) -> Self {
        let (subjects, seed) = (job.subjects.len(), prepared.seed);
        let mut schedule = match job.comparison() {
            None => {
                let measure = &prepared.plan.measure;
                let rounds = by_levels(&passes(prepared), (measure.blocks, measure.order), subjects, seed);
                Self { rounds, looks: Vec::new(), subjects }
            }
            Some(compare) => in_blocks(compare, prepared.bench.clients.first().copied().unwrap_or(1)),
        };
        if let Some(blocks) = prepared.blocks_per_start {
            begin_starts(&mut schedule.rounds, blocks);
        }
        schedule
    }

    /// The round after those in the record; `None` if no more are needed.
    fn next(&self, record: &RunRecord) -> Option<Round> {
        match &record.comparison {
            None => self.rounds.get(record.runs.len() / self.subjects.max(1)).cloned(),
            Some(comparison) => self.next_block(comparison),
        }
    }

    /// The next block. One that was disturbed by other load is measured again, on the same start.
    fn next_block(&self, comparison: &ComparisonRecord) -> Option<Round> {
        let done = comparison.undisturbed().count();
        let is_settled = comparison.result.as_ref().is_some_and(Comparison::is_settled);
        if comparison.too_disturbed || (is_settled && self.looks.contains(&(done as u32))) {
            return None;
        }
        let planned = self.rounds.get(done)?;
        let number = comparison.blocks.len() as u32;
        let repeats = comparison.blocks.last().is_some_and(|block| block.disturbed.is_some());
        Some(Round { number, block: number, restarts: planned.restarts && !repeats, ..planned.clone() })
    }
}

/// A workload, by its index, with a client count.
type Level = (usize, u32);

/// Levels that take turns: all blocks of a pass are measured before those of the next.
fn passes(prepared: &Prepared) -> Vec<Vec<Level>> {
    let levels =
        |workload: usize| prepared.bench.levels[workload].iter().map(move |clients| (workload, *clients));
    prepared.passes().into_iter().map(|workloads| workloads.flat_map(levels).collect()).collect()
}

/// All levels of a pass, then those of the next. Unless the plan's own order is wanted, every second block runs
/// backwards. At each level all subjects run right after each other. So a drift of the machine affects all alike.
fn by_levels(passes: &[Vec<Level>], (blocks, order): (u32, Order), subjects: usize, seed: u64) -> Vec<Round> {
    let mut rounds: Vec<Round> = Vec::new();
    let mut levels_before = 0;
    for (pass, levels) in passes.iter().enumerate() {
        for block in 0..blocks {
            let mut turn: Vec<usize> = (0..levels.len()).collect();
            if block % 2 == 1 && order == Order::Balanced {
                turn.reverse();
            }
            for level in turn {
                let (workload, clients) = levels[level];
                rounds.push(Round {
                    number: rounds.len() as u32,
                    pass,
                    workload,
                    clients,
                    block,
                    order: turns(subjects, seed, levels_before + level as u32, block).collect(),
                    first: None,
                    restarts: false,
                });
            }
        }
        levels_before += levels.len() as u32;
    }
    rounds
}

/// Lets the servers restart every so many blocks of a pass.
fn begin_starts(rounds: &mut [Round], blocks: u32) {
    let mut before = None;
    for round in rounds {
        let start = (round.pass, round.block / blocks);
        round.restarts = before != Some(start);
        before = Some(start);
    }
}

/// Blocks of A and B.
fn in_blocks(compare: &Compare, clients: u32) -> Schedule {
    let blocks = compare.looks.last().map_or(0, |look| look.blocks);
    let round = |block| {
        let first = first_of(block);
        let order = vec![first.index(), first.other().index()];
        Round {
            number: block,
            pass: 0,
            workload: 0,
            clients,
            block,
            order,
            first: Some(first),
            restarts: false,
        }
    };
    let looks = compare.looks.iter().map(|look| look.blocks).collect();
    Schedule { rounds: (0..blocks).map(round).collect(), looks, subjects: 2 }
}

#[cfg(test)]
mod tests {
    use pgdyno_analysis::compare::{ComparedRate, Disturbance, looks};
    use testkit::fixtures;

    use super::*;

    fn compare(blocks: u32) -> Compare {
        Compare {
            looks: looks(blocks),
            by: ComparedRate::Tps,
            keep_disturbed: false,
            slots: false,
            fail_if_slower: false,
        }
    }

    #[test]
    fn blocks_run_both_arms_and_looks_follow_theirs() {
        let schedule = in_blocks(&compare(16), 4);
        assert_eq!((schedule.rounds.len(), &schedule.looks[..]), (16, &[8, 12, 16][..]));
        let order = |round: &Round| (round.block, round.order.clone());
        let orders = schedule.rounds.iter().take(4).map(order).collect::<Vec<_>>();
        assert_eq!(orders, [(0, vec![0, 1]), (1, vec![1, 0]), (2, vec![1, 0]), (3, vec![0, 1])]);
    }

    /// One workload after the other, at these client counts.
    fn workloads(counts: &[&[u32]]) -> Vec<Vec<Level>> {
        let pass = |(workload, counts): (usize, &&[u32])| {
            counts.iter().map(|clients| (workload, *clients)).collect()
        };
        counts.iter().enumerate().map(pass).collect()
    }

    #[test]
    fn levels_ascend_and_descend_and_subjects_alternate() {
        let rounds = by_levels(&workloads(&[&[1, 4], &[8]]), (2, Order::Balanced), 2, 7);
        let of = |round: &Round| (round.workload, round.block, round.clients);
        let expected = [(0, 0, 1), (0, 0, 4), (0, 1, 4), (0, 1, 1), (1, 0, 8), (1, 1, 8)];
        assert_eq!(rounds.iter().map(of).collect::<Vec<_>>(), expected);
        for (number, round) in rounds.iter().enumerate() {
            let mut all = round.order.clone();
            all.sort_unstable();
            assert_eq!((round.number as usize, all), (number, vec![0, 1]));
        }
        let alone = by_levels(&workloads(&[&[1]]), (1, Order::Balanced), 1, 7);
        assert!(alone[0].order == [0], "one subject has its turn too");
    }

    #[test]
    fn workloads_of_a_pass_take_turns_and_the_given_order_is_kept() {
        let of = |round: &Round| (round.block, round.workload, round.clients);
        let both = [vec![(0, 1), (0, 4), (1, 1)]];
        let rounds = |order| by_levels(&both, (2, order), 1, 7).iter().map(of).collect::<Vec<_>>();
        let first = [(0, 0, 1), (0, 0, 4), (0, 1, 1)];
        assert_eq!(rounds(Order::Balanced), [&first[..], &[(1, 1, 1), (1, 0, 4), (1, 0, 1)]].concat());
        assert_eq!(rounds(Order::Given), [&first[..], &[(1, 0, 1), (1, 0, 4), (1, 1, 1)]].concat());
    }

    #[test]
    fn servers_restart_before_every_second_block_or_every_pass_over_the_levels() {
        let restarts = |mut rounds: Vec<Round>, blocks| {
            begin_starts(&mut rounds, blocks);
            rounds.iter().map(|round| round.restarts).collect::<Vec<_>>()
        };
        let of_two = restarts(in_blocks(&compare(6), 4).rounds, 2);
        assert_eq!(of_two, [true, false, true, false, true, false]);
        let of_levels = restarts(by_levels(&workloads(&[&[1, 4], &[8]]), (2, Order::Balanced), 2, 7), 1);
        assert_eq!(of_levels, [true, false, true, false, true, true]);
    }

    #[test]
    fn the_next_round_follows_from_the_record() {
        let mut record = fixtures::several().record;
        let rounds = by_levels(&workloads(&[&[1, 4, 16]]), (4, Order::Balanced), 3, 4711);
        let schedule = Schedule { rounds, looks: Vec::new(), subjects: 3 };
        assert_eq!(schedule.next(&record), None);
        // An incomplete round is measured again.
        record.runs.truncate(7);
        assert_eq!(schedule.next(&record).map(|round| (round.number, round.clients)), Some((2, 16)));
        let mut record = fixtures::faster().record;
        let schedule = in_blocks(&compare(16), 4);
        assert_eq!(schedule.next(&record), None, "it was settled at the first look");
        record.comparison.as_mut().expect("it is one").blocks.pop();
        let next = schedule.next(&record).expect("the first look is not reached");
        assert_eq!((next.number, next.block), (7, 7));
    }

    #[test]
    fn a_disturbed_block_is_measured_again_on_the_same_start() {
        let mut record = fixtures::faster().record;
        let mut schedule = in_blocks(&compare(16), 4);
        begin_starts(&mut schedule.rounds, 2);
        let comparison = record.comparison.as_mut().expect("it is one");
        comparison.blocks.truncate(3);
        comparison.result = None;
        let next = |comparison: &ComparisonRecord| {
            let round = schedule.next_block(comparison).expect("it continues");
            (round.block, round.first, round.restarts)
        };
        assert_eq!(next(comparison), (3, Some(Arm::A), false));
        comparison.blocks[2].disturbed = Some(Disturbance::Steal { share: 0.2 });
        assert_eq!(next(comparison), (3, Some(Arm::B), false), "as the third, which began a start");
        comparison.blocks[1].disturbed = Some(Disturbance::Steal { share: 0.2 });
        comparison.blocks.truncate(1);
        assert_eq!(next(comparison), (1, Some(Arm::B), false));
        comparison.too_disturbed = true;
        assert_eq!(schedule.next_block(comparison), None);
    }
}
