//! Blocks of a comparison that other load disturbed, by a rule that does not look at their result.

use pgdyno_core::{
    measure::{Arm, CellRun},
    results::Disturbance,
};

/// Fewest runs before a block that show what is usual: those of three blocks.
const FEWEST_KNOWN: usize = 6;
/// CPU time of other programs beyond what is usual, per CPU of the server: five times the usual equivalence margin,
/// because most of it is not taken from the server.
const MORE_OTHERS: f64 = 0.1;
/// The same in total while it is not known what is usual.
const MOST_OTHERS: f64 = 0.3;
/// Steal beyond what is usual, as a share: the usual equivalence margin.
const MORE_STEAL: f64 = 0.02;
/// The same in total while it is not known what is usual.
const MOST_STEAL: f64 = 0.1;
/// Time that threads waited for a CPU, as a multiple of what is usual: the run's own queueing is load, and varies.
const TIMES_WAITED: f64 = 2.0;
/// Added to that, per CPU of the server and second.
const MORE_WAITED: f64 = 0.1;

/// Share of blocks that may meet other load; above, the machine is too busy for a comparison.
pub const MAX_DISTURBED: f64 = 1.0 / 3.0;
/// Fewest blocks by which that is judged.
pub const FEWEST_JUDGED: usize = 9;
/// Shortest time that their runs measured: nine blocks of short slots may lie within one burst of other load.
const LEAST_JUDGED_S: f64 = 20.0;
/// Times a second at which Linux advances its counters of CPU time (`USER_HZ`, proc(5)).
const TICKS_PER_S: f64 = 100.0;

/// What one run met.
#[derive(Debug, Clone, Copy)]
struct Met {
    seconds: f64,
    others_cpus: Option<f64>,
    steal: Option<f64>,
    /// Seconds of waiting per second of the interval.
    waited: Option<f64>,
}

impl Met {
    fn of(run: &CellRun) -> Self {
        let seconds = run.duration_ns as f64 / 1e9;
        let waited = run.cpu.waited_s.filter(|_| seconds > 0.0).map(|waited_s| waited_s / seconds);
        Self { seconds, others_cpus: run.cpu.others_cpus, steal: run.cpu.steal, waited }
    }

    /// Share of a CPU by which what was counted in ticks may be off: one tick.
    fn tick(&self) -> f64 {
        if self.seconds > 0.0 { 1.0 / (TICKS_PER_S * self.seconds) } else { 0.0 }
    }
}

/// What disturbed each of these blocks, given by their numbers counted from 0 in execution order; `None` for a block
/// that counts. Each is judged by the median of all runs before it, of both arms: steady load is the same for all, a
/// doubt and no reason to measure again, and load during one arm alone remains visible. `cpus` is the number of CPUs of
/// the server. Runs of commands are not seen, and disturb nothing.
pub fn disturbances(runs: &[CellRun], blocks: &[u32], cpus: f64) -> Vec<Option<Disturbance>> {
    let mut usual: Vec<Met> = Vec::new();
    let mut judge = |block: &u32| {
        let of = |arm: Arm| {
            let mut own = runs.iter().filter(|run| run.block == *block);
            own.find(|run| run.workload.subject.as_deref() == Some(arm.letter())).map(Met::of)
        };
        let met: Vec<Met> = Arm::BOTH.into_iter().filter_map(of).collect();
        let found = met.iter().find_map(|met| disturbance(*met, &usual, cpus));
        usual.extend(met);
        found
    };
    blocks.iter().map(&mut judge).collect()
}

fn disturbance(met: Met, usual: &[Met], cpus: f64) -> Option<Disturbance> {
    let median = |of: fn(&Met) -> Option<f64>| {
        let known: Vec<f64> = usual.iter().filter_map(of).collect();
        (known.len() >= FEWEST_KNOWN).then(|| super::spread::median(known)).flatten()
    };
    let beyond = |found: Option<f64>, limit: Option<f64>| {
        found.zip(limit).filter(|(found, limit)| found > limit).map(|(found, _)| found)
    };
    let others = median(|met| met.others_cpus).map_or(MOST_OTHERS * cpus, |usual| usual + MORE_OTHERS * cpus);
    let others = others + met.tick() * cpus;
    let steal = median(|met| met.steal).map_or(MOST_STEAL, |usual| usual + MORE_STEAL) + met.tick();
    let waited = median(|met| met.waited).map(|usual| TIMES_WAITED * usual + MORE_WAITED * cpus);
    let by_others = beyond(met.others_cpus, Some(others)).map(|cpus| Disturbance::OtherLoad { cpus });
    by_others
        .or_else(|| beyond(met.steal, Some(steal)).map(|share| Disturbance::Steal { share }))
        .or_else(|| beyond(met.waited, waited).map(|threads| Disturbance::Waiting { threads }))
}

/// Whether other load disturbed so many blocks that a comparison has no answer here and now. `measured_s` is the time
/// that the runs of all blocks measured, in seconds.
pub fn is_too_disturbed(disturbed: usize, blocks: usize, measured_s: f64) -> bool {
    let is_known = blocks >= FEWEST_JUDGED && measured_s >= LEAST_JUDGED_S;
    is_known && disturbed as f64 > MAX_DISTURBED * blocks as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{doubts::samples, steady::tests::Normal};

    /// Runs of A and B in so many blocks, with what the closure says of block and arm: CPUs of others, and seconds of
    /// waiting per second.
    fn runs(blocks: u32, mut met: impl FnMut(u32, Arm) -> (f64, f64)) -> Vec<CellRun> {
        let mut all = Vec::new();
        for block in 0..blocks {
            for arm in Arm::BOTH {
                let mut run = samples::run("tpcb-like", 8, 1_000.0);
                run.workload.subject = Some(arm.letter().into());
                run.block = block;
                let (others, waited) = met(block, arm);
                run.cpu.others_cpus = Some(others);
                run.cpu.waited_s = Some(waited * run.duration_ns as f64 / 1e9);
                all.push(run);
            }
        }
        all
    }

    fn found(runs: &[CellRun], blocks: u32) -> Vec<u32> {
        let numbers: Vec<u32> = (0..blocks).collect();
        let all = disturbances(runs, &numbers, 1.0);
        numbers.into_iter().zip(all).filter(|(_, found)| found.is_some()).map(|(number, _)| number).collect()
    }

    #[test]
    fn a_program_that_takes_half_a_processor_is_found_from_the_first_block_on() {
        for at in [0, 1, 5, 11] {
            let runs =
                runs(12, |block, arm| if (block, arm) == (at, Arm::B) { (0.6, 2.0) } else { (0.13, 2.0) });
            assert_eq!(found(&runs, 12), [at]);
        }
    }

    /// A saturated cell of 32 clients: its threads wait for a processor most of the time, and not equally long.
    #[test]
    fn queueing_of_the_run_itself_is_no_disturbance() {
        let mut normal = Normal::seeded(91);
        let mut spoiled = 0;
        for _ in 0..50 {
            let runs =
                runs(16, |_, _| (0.14 + 0.02 * normal.draw().abs(), 12.0 * (0.2 * normal.draw()).exp()));
            spoiled += found(&runs, 16).len();
        }
        assert!(spoiled < 40, "{spoiled} of 800, which is under 5 %");
    }

    #[test]
    fn waiting_beyond_the_usual_is_found() {
        let runs = runs(8, |block, _| (0.13, if block == 6 { 9.0 } else { 2.0 }));
        assert_eq!(found(&runs, 8), [6]);
    }

    /// Steady load is a doubt of its own. What it is shows after three blocks.
    #[test]
    fn steady_load_disturbs_only_until_it_is_known() {
        let runs = runs(20, |_, _| (0.5, 2.0));
        assert_eq!(found(&runs, 20), [0, 1, 2]);
        assert!(!is_too_disturbed(3, 9, 90.0));
    }

    /// If a program runs only during one arm, most blocks are disturbed.
    #[test]
    fn load_during_one_arm_leaves_no_answer() {
        let runs = runs(9, |_, arm| if arm == Arm::B { (0.5, 2.0) } else { (0.1, 2.0) });
        let disturbed = found(&runs, 9).len();
        assert!(is_too_disturbed(disturbed, 9, 90.0), "{disturbed}");
        assert!(!is_too_disturbed(3, 9, 90.0) && !is_too_disturbed(8, 8, 80.0));
        assert!(!is_too_disturbed(9, 9, 5.0), "one burst may have met all of them");
    }

    #[test]
    fn steal_is_found_and_what_is_not_seen_disturbs_nothing() {
        let mut all = runs(5, |_, _| (0.1, 1.0));
        all.iter_mut().for_each(|run| run.cpu.steal = Some(0.01));
        all[8].cpu.steal = Some(0.05);
        assert_eq!(found(&all, 5), [4]);
        assert_eq!(disturbances(&[], &[0, 1], 4.0), [None, None]);
    }

    /// In a slot of 300 ms a tick is 3 % of a CPU.
    #[test]
    fn a_tick_more_in_a_short_slot_is_no_disturbance() {
        let mut all = runs(5, |_, _| (0.1, 1.0));
        all.iter_mut().for_each(|run| (run.duration_ns, run.cpu.steal) = (300_000_000, Some(0.0)));
        all[7].cpu.steal = Some(0.05);
        assert!(found(&all, 5).is_empty());
        all[8].cpu.steal = Some(0.06);
        assert_eq!(found(&all, 5), [4]);
    }
}
