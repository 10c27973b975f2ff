//! Compares several subjects with the first, level by level.

use pgdyno_core::{
    measure::{CellRun, Workload},
    results::{Comparison, FEWEST_COMMITS, LevelResult, Look, Unjudged},
};

use super::{looks::FALSE_ALARMS, verdict::judge};

/// Compares every subject with the first (the baseline) at every level of every workload that both ran, in the order of
/// their first runs. The observation is the ln of the ratio within a block. `margin` is a positive share.
pub fn levels(runs: &[CellRun], subjects: &[&str], margin: f64) -> Vec<LevelResult> {
    let Some((baseline, others)) = subjects.split_first() else { return Vec::new() };
    let mut seen: Vec<&Workload> = Vec::new();
    for run in runs {
        if !seen.iter().any(|known| same_level(known, &run.workload)) {
            seen.push(&run.workload);
        }
    }
    let pairs = seen.iter().flat_map(|level| others.iter().map(move |subject| (*level, *subject)));
    let found: Vec<_> =
        pairs.map(|(level, subject)| (level, subject, Blocks::new(runs, level, subject, baseline))).collect();
    let judged = found.iter().filter(|(level, _, blocks)| blocks.unjudged(level).is_none()).count().max(1);
    let alone = |(level, subject, blocks): (&Workload, &str, Blocks)| {
        let (ratios, unjudged) = (&blocks.ln_ratios, blocks.unjudged(level));
        let at = |alpha| judge(ratios, &[Look { blocks: ratios.len() as u32, alpha }], margin);
        let result = at(FALSE_ALARMS).filter(|_| unjudged.is_none());
        let strict =
            at(FALSE_ALARMS / judged as f64).filter(|_| result.as_ref().is_some_and(Comparison::is_decided));
        LevelResult {
            script: level.script.clone(),
            protocol: level.protocol.clone(),
            clients: level.clients,
            subject: subject.to_owned(),
            blocks: ratios.len() as u32,
            effect: blocks.effect(),
            result,
            unjudged,
            among_all: strict.is_some_and(|found| found.low > 0.0 || found.high < 0.0),
        }
    };
    found.into_iter().map(alone).collect()
}

/// Observations from the runs of a subject and the baseline at one level, block by block.
#[derive(Debug, Default)]
struct Blocks {
    /// ln of subject over baseline, from blocks in which both committed.
    ln_ratios: Vec<f64>,
    /// Blocks in which both ran, but one of them committed nothing.
    empty: u32,
    /// Fewest commits of a run within its interval.
    fewest: Option<u64>,
}

impl Blocks {
    fn new(runs: &[CellRun], level: &Workload, subject: &str, baseline: &str) -> Self {
        let of = |name: &str| -> Vec<&CellRun> {
            let own = |run: &&CellRun| {
                run.workload.subject.as_deref() == Some(name) && same_level(&run.workload, level)
            };
            runs.iter().filter(own).collect()
        };
        let base = of(baseline);
        let mut blocks = Self::default();
        for run in of(subject) {
            if let Some(base) = base.iter().find(|other| other.block == run.block) {
                blocks.add(run, base);
            }
        }
        blocks
    }

    fn add(&mut self, run: &CellRun, baseline: &CellRun) {
        let fewer = run.counts.committed.min(baseline.counts.committed);
        self.fewest = Some(self.fewest.map_or(fewer, |fewest| fewest.min(fewer)));
        match run.tps > 0.0 && baseline.tps > 0.0 {
            true => self.ln_ratios.push(run.tps.ln() - baseline.tps.ln()),
            false => self.empty += 1,
        }
    }

    fn unjudged(&self, level: &Workload) -> Option<Unjudged> {
        match () {
            () if level.rate_per_s.is_some() => Some(Unjudged::OpenLoop),
            () if self.empty > 0 => Some(Unjudged::NothingCommitted),
            () if self.fewest.is_some_and(|fewest| fewest < FEWEST_COMMITS) => Some(Unjudged::FewCommits),
            () if self.ln_ratios.len() < 2 => Some(Unjudged::TooFewBlocks),
            () => None,
        }
    }

    fn effect(&self) -> Option<f64> {
        let blocks = self.ln_ratios.len();
        let mean = || self.ln_ratios.iter().sum::<f64>() / blocks as f64;
        (blocks > 0 && self.empty == 0).then(|| mean().exp_m1())
    }
}

fn same_level(a: &Workload, b: &Workload) -> bool {
    let level = |of: &Workload| (of.clients, of.rate_per_s);
    (&a.script, &a.protocol, level(a)) == (&b.script, &b.protocol, level(b))
}

#[cfg(test)]
mod tests {
    use pgdyno_core::results::Verdict;

    use super::*;
    use crate::{doubts::samples::run, steady::tests::Normal};

    fn runs(of: &[(&str, u32, u32, f64)]) -> Vec<CellRun> {
        let one = |(subject, clients, block, tps): &(&str, u32, u32, f64)| {
            let mut run = run("select-only", *clients, *tps);
            run.workload.subject = Some((*subject).to_owned());
            CellRun { block: *block, ..run }
        };
        of.iter().map(one).collect()
    }

    #[test]
    fn ratios_are_taken_within_blocks_and_drift_cancels() {
        // The machine doubles its speed from block to block, and the second subject is always 10 % faster.
        let runs = runs(&[
            ("old", 4, 0, 100.0),
            ("new", 4, 0, 110.0),
            ("new", 4, 1, 220.0),
            ("old", 4, 1, 200.0),
            ("old", 4, 2, 400.0),
            ("new", 4, 2, 440.0),
        ]);
        let found = levels(&runs, &["old", "new"], 0.02);
        let [level] = &found[..] else { panic!("one level and one subject: {found:?}") };
        assert_eq!((level.subject.as_str(), level.clients, level.blocks), ("new", 4, 3));
        let result = level.result.as_ref().expect("three blocks");
        assert!((result.effect - 0.1).abs() < 1e-9 && (result.high - result.low).abs() < 1e-9);
        assert_eq!((result.verdict, level.among_all), (Verdict::Faster, true));
        assert!((level.effect.expect("there are blocks") - 0.1).abs() < 1e-9);
    }

    #[test]
    fn levels_come_in_the_order_they_ran_and_a_block_that_is_not_whole_is_left_out() {
        let runs = runs(&[
            ("a", 1, 0, 10.0),
            ("b", 1, 0, 10.0),
            ("c", 1, 0, 5.0),
            ("a", 8, 0, 10.0),
            ("c", 8, 0, 0.0),
            ("b", 8, 0, 20.0),
            ("a", 8, 1, 10.0),
        ]);
        let found = levels(&runs, &["a", "b", "c"], 0.02);
        let percent = |effect: f64| (effect * 100.0).round();
        let rows: Vec<_> = found
            .iter()
            .map(|of| (of.clients, of.subject.as_str(), of.blocks, of.effect.map(percent)))
            .collect();
        let (half, double) = (Some(-50.0), Some(100.0));
        assert_eq!(rows, [(1, "b", 1, Some(0.0)), (1, "c", 1, half), (8, "b", 1, double), (8, "c", 0, None)]);
        assert!(found.iter().all(|of| of.result.is_none() && !of.among_all), "one block has no interval");
        let why: Vec<_> = found.iter().filter_map(|of| of.unjudged).collect();
        let few = Unjudged::TooFewBlocks;
        assert_eq!(why, [few, few, few, Unjudged::NothingCommitted]);
        assert_eq!(levels(&runs, &[], 0.02), []);
    }

    /// Two subjects in four blocks, the second 10 % faster: a clear case for tests to modify.
    fn faster() -> Vec<CellRun> {
        let of_block = |block| [("old", 4, block, 100.0), ("new", 4, block, 110.0)];
        runs(&(0..4).flat_map(of_block).collect::<Vec<_>>())
    }

    fn only(runs: &[CellRun]) -> LevelResult {
        let mut found = levels(runs, &["old", "new"], 0.02);
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0)
    }

    #[test]
    fn an_open_loop_is_not_judged_by_the_tps_of_its_schedule() {
        let mut runs = faster();
        assert!(only(&runs).is_decided());
        for run in &mut runs {
            (run.workload.rate_per_s, run.tps) = (Some(100.0), 100.0);
        }
        let level = only(&runs);
        assert_eq!((level.result, level.unjudged, level.among_all), (None, Some(Unjudged::OpenLoop), false));
        assert_eq!((level.blocks, level.effect), (4, Some(0.0)));
    }

    #[test]
    fn a_block_without_a_commit_is_not_passed_over() {
        for at in [2, 3] {
            let mut runs = faster();
            (runs[at].tps, runs[at].counts.committed) = (0.0, 0);
            let level = only(&runs);
            assert_eq!((level.result, level.unjudged), (None, Some(Unjudged::NothingCommitted)));
            assert_eq!((level.blocks, level.effect), (3, None));
        }
        let mut stopped = faster();
        stopped.pop();
        let level = only(&stopped);
        assert!(level.blocks == 3 && level.is_decided(), "incomplete blocks are ignored");
    }

    #[test]
    fn runs_of_few_commits_are_not_judged() {
        let mut runs = faster();
        let (fewest, last) = (FEWEST_COMMITS, runs.len() - 1);
        runs[last].counts.committed = fewest;
        assert!(only(&runs).is_decided());
        runs[last].counts.committed = fewest - 1;
        let level = only(&runs);
        assert_eq!((level.result, level.unjudged), (None, Some(Unjudged::FewCommits)));
        assert!(level.effect.is_some_and(|effect| effect > 0.09));
    }

    /// With equal subjects about one level in twenty is called faster or slower, and almost none is after correction.
    #[test]
    fn equal_subjects_raise_alarms_at_their_rates() {
        let mut normal = Normal::seeded(5);
        let (mut alone, mut together, mut all) = (0, 0, 0);
        for _ in 0..100 {
            let mut of = Vec::new();
            for clients in 1..=20 {
                for block in 0..4 {
                    for subject in ["a", "b"] {
                        of.push((subject, clients, block, 1_000.0 * (0.05 * normal.draw()).exp()));
                    }
                }
            }
            let found = levels(&runs(&of), &["a", "b"], 0.001);
            all += found.len();
            alone += found.iter().filter(|level| level.is_decided()).count();
            together += usize::from(found.iter().any(|level| level.among_all));
        }
        assert!((60..=140).contains(&alone), "{alone} of {all} levels");
        assert!(together <= 12, "{together} of 100 plans");
    }
}
