//! Compares several subjects with the first, level by level and script by script, as one family of tests.

use std::collections::BTreeMap;

use pgdyno_core::{
    measure::{CellRun, Workload},
    results::{LevelResult, ScriptResult, Unjudged, fewest_commits},
};

use super::{
    looks::{FALSE_ALARMS, MIN_BLOCKS},
    trimmed::Trimmed,
    verdict::{judge_once, p_value},
};
use crate::statistics::{Prior, holm};

/// The comparisons of a plan.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Levels {
    /// The means over the levels of a script.
    pub scripts: Vec<ScriptResult>,
    /// Each level.
    pub list: Vec<LevelResult>,
}

/// Compares every subject with the first (the baseline) at every level of every workload that both ran, in the order of
/// their first runs. The observation is the ln of the ratio within a block. `margin` is a positive share.
///
/// The variance of a level is moderated over the levels of its script. All levels and scripts together are one family,
/// in which at most one plan in twenty has a difference `among_all` that is not there.
pub fn levels(runs: &[CellRun], subjects: &[&str], margin: f64) -> Levels {
    let found = observed(runs, subjects);
    let means = moderated(&found);
    let scripts = by_script(&found);
    let of_levels = found.iter().zip(&means);
    let of_levels = of_levels.map(|(one, mean)| Some((one.blocks.ln_ratios(), (*mean)?)));
    let of_scripts = scripts.iter().map(|one| Some((one.ln_ratios.clone(), Trimmed::of(&one.ln_ratios)?)));
    let tests: Vec<_> = of_levels.chain(of_scripts).collect();
    let p_values: Vec<f64> = tests.iter().flatten().map(|(ratios, mean)| p_value(ratios, *mean)).collect();
    let mut adjusted = holm(&p_values).into_iter();
    let mut judged = tests.into_iter().map(|test| {
        let (ratios, mean) = test?;
        let among_all = adjusted.next().is_some_and(|p| p <= FALSE_ALARMS);
        Some((judge_once(&ratios, mean, margin), among_all))
    });
    let list = found.iter().zip(&mut judged).map(|(one, judged)| {
        let (result, among_all) = judged.map_or((None, false), |(result, among)| (Some(result), among));
        LevelResult { result, among_all, ..one.without_result() }
    });
    let list = list.collect();
    let scripts = scripts.into_iter().zip(judged).filter_map(|(one, judged)| {
        let (result, among_all) = judged?;
        let (script, protocol, subject) = one.name;
        Some(ScriptResult { script, protocol, subject, levels: one.levels, result, among_all })
    });
    Levels { scripts: scripts.collect(), list }
}

/// What was seen of a subject at a level.
struct Observed<'a> {
    level: &'a Workload,
    subject: &'a str,
    blocks: Blocks,
}

impl Observed<'_> {
    fn unjudged(&self) -> Option<Unjudged> {
        self.blocks.unjudged(self.level)
    }

    fn without_result(&self) -> LevelResult {
        LevelResult {
            script: self.level.script.clone(),
            protocol: self.level.protocol.clone(),
            clients: self.level.clients,
            subject: self.subject.to_owned(),
            blocks: self.blocks.both.len() as u32,
            effect: self.blocks.effect(),
            result: None,
            unjudged: self.unjudged(),
            among_all: false,
        }
    }
}

/// Every subject except the baseline at every level.
fn observed<'a>(runs: &'a [CellRun], subjects: &[&'a str]) -> Vec<Observed<'a>> {
    let Some((baseline, others)) = subjects.split_first() else { return Vec::new() };
    let mut seen: Vec<&Workload> = Vec::new();
    for run in runs {
        if !seen.iter().any(|known| same_level(known, &run.workload)) {
            seen.push(&run.workload);
        }
    }
    let pairs = seen.iter().flat_map(|level| others.iter().map(move |subject| (*level, *subject)));
    let observe =
        |(level, subject)| Observed { level, subject, blocks: Blocks::new(runs, level, subject, baseline) };
    pairs.map(observe).collect()
}

/// The mean of each level that is judged, with its moderated variance. Levels of one script over one protocol are a
/// family: how much they scatter has the same causes.
fn moderated(found: &[Observed<'_>]) -> Vec<Option<Trimmed>> {
    let own = |one: &Observed<'_>| Trimmed::of(&one.blocks.ln_ratios()).filter(|_| one.unjudged().is_none());
    let all: Vec<_> = found.iter().map(own).collect();
    let family = |one: &Observed<'_>| {
        let same = |other: &Observed<'_>| same_script(one.level, other.level);
        let members = found.iter().zip(&all).filter(|(other, _)| same(other));
        Prior::fit(&members.filter_map(|(_, mean)| Some((*mean)?.scatter)).collect::<Vec<_>>())
    };
    let moderate = |(one, own): (&Observed<'_>, &Option<Trimmed>)| {
        let own = (*own)?;
        let scatter = family(one).map_or(own.scatter, |prior| prior.moderate(own.scatter));
        Some(Trimmed { scatter, ..own })
    };
    found.iter().zip(&all).map(moderate).collect()
}

/// A subject in a script: the means over its judged levels, from the blocks that all of them have.
struct InScript {
    /// Script, protocol and subject.
    name: (String, String, String),
    levels: u32,
    ln_ratios: Vec<f64>,
}

/// The means over the levels of each script that has several.
fn by_script(found: &[Observed<'_>]) -> Vec<InScript> {
    let mut scripts: Vec<(&Workload, &str)> = Vec::new();
    let same = |(level, subject): &(&Workload, &str), one: &Observed<'_>| {
        same_script(level, one.level) && *subject == one.subject
    };
    for one in found {
        if !scripts.iter().any(|known| same(known, one)) {
            scripts.push((one.level, one.subject));
        }
    }
    let of = |(level, subject): (&Workload, &str)| {
        let own = found.iter().filter(|one| same(&(level, subject), one) && one.unjudged().is_none());
        let own: Vec<_> = own.map(|one| &one.blocks.both).collect();
        let name = (level.script.clone(), level.protocol.clone(), subject.to_owned());
        InScript { name, levels: own.len() as u32, ln_ratios: means(&own) }
    };
    let scripts = scripts.into_iter().map(of);
    scripts.filter(|one| one.levels >= 2 && one.ln_ratios.len() >= MIN_BLOCKS as usize).collect()
}

/// The mean over levels of each block that all of them have.
fn means(levels: &[&BTreeMap<u32, f64>]) -> Vec<f64> {
    let Some((first, others)) = levels.split_first() else { return Vec::new() };
    let mean = |block: &u32| {
        let sum = levels.iter().filter_map(|level| level.get(block)).sum::<f64>();
        others.iter().all(|level| level.contains_key(block)).then(|| sum / levels.len() as f64)
    };
    first.keys().filter_map(mean).collect()
}

/// Observations from the runs of a subject and the baseline at one level, block by block.
#[derive(Debug, Default)]
struct Blocks {
    /// ln of subject over baseline by number of the block, from blocks in which both committed.
    both: BTreeMap<u32, f64>,
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
            true => {
                self.both.insert(run.block, run.tps.ln() - baseline.tps.ln());
            }
            false => self.empty += 1,
        }
    }

    fn ln_ratios(&self) -> Vec<f64> {
        self.both.values().copied().collect()
    }

    fn unjudged(&self, level: &Workload) -> Option<Unjudged> {
        match () {
            () if level.rate_per_s.is_some() => Some(Unjudged::OpenLoop),
            () if self.empty > 0 => Some(Unjudged::NothingCommitted),
            () if self.fewest.is_some_and(|fewest| fewest < fewest_commits(level.clients)) => {
                Some(Unjudged::FewCommits)
            }
            () if self.both.len() < MIN_BLOCKS as usize => Some(Unjudged::TooFewBlocks),
            () => None,
        }
    }

    fn effect(&self) -> Option<f64> {
        let blocks = self.both.len();
        let mean = || self.both.values().sum::<f64>() / blocks as f64;
        (blocks > 0 && self.empty == 0).then(|| mean().exp_m1())
    }
}

fn same_script(a: &Workload, b: &Workload) -> bool {
    (&a.script, &a.protocol) == (&b.script, &b.protocol)
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
        let found = levels(&runs, &["old", "new"], 0.02).list;
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
            ("a", 2, 0, 10.0),
            ("c", 2, 0, 0.0),
            ("b", 2, 0, 20.0),
            ("a", 2, 1, 10.0),
        ]);
        let found = levels(&runs, &["a", "b", "c"], 0.02).list;
        let percent = |effect: f64| (effect * 100.0).round();
        let rows: Vec<_> = found
            .iter()
            .map(|of| (of.clients, of.subject.as_str(), of.blocks, of.effect.map(percent)))
            .collect();
        let (half, double) = (Some(-50.0), Some(100.0));
        assert_eq!(rows, [(1, "b", 1, Some(0.0)), (1, "c", 1, half), (2, "b", 1, double), (2, "c", 0, None)]);
        assert!(found.iter().all(|of| of.result.is_none() && !of.among_all), "one block has no interval");
        let why: Vec<_> = found.iter().filter_map(|of| of.unjudged).collect();
        let few = Unjudged::TooFewBlocks;
        assert_eq!(why, [few, few, few, Unjudged::NothingCommitted]);
        assert_eq!(levels(&runs, &[], 0.02), Levels::default());
    }

    /// Two subjects in four blocks, the second 10 % faster: a clear case for tests to modify.
    fn faster() -> Vec<CellRun> {
        let of_block = |block| [("old", 4, block, 100.0), ("new", 4, block, 110.0)];
        runs(&(0..4).flat_map(of_block).collect::<Vec<_>>())
    }

    fn only(runs: &[CellRun]) -> LevelResult {
        let mut found = levels(runs, &["old", "new"], 0.02).list;
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
        let (fewest, last) = (fewest_commits(runs[0].workload.clients), runs.len() - 1);
        runs[last].counts.committed = fewest;
        assert!(only(&runs).is_decided());
        runs[last].counts.committed = fewest - 1;
        let level = only(&runs);
        assert_eq!((level.result, level.unjudged), (None, Some(Unjudged::FewCommits)));
        assert!(level.effect.is_some_and(|effect| effect > 0.09));
    }

    /// A plan of two subjects with these levels and blocks: `effect_ln` is the second's, `noise` the standard deviation
    /// of a run by level.
    fn plan(levels: u32, blocks: u32, effect_ln: f64, noise: fn(u32) -> f64, normal: &mut Normal) -> Levels {
        let mut of = Vec::new();
        for clients in 1..=levels {
            for block in 0..blocks {
                for (subject, effect_ln) in [("a", 0.0), ("b", effect_ln)] {
                    let ln = effect_ln + noise(clients) * normal.draw();
                    of.push((subject, clients, block, 1_000.0 * ln.exp()));
                }
            }
        }
        super::levels(&runs(&of), &["a", "b"], 0.001)
    }

    fn has_alarm(found: &Levels) -> bool {
        found.list.iter().any(|level| level.among_all) || found.scripts.iter().any(|script| script.among_all)
    }

    /// Share of plans of 54 equal levels in four blocks with any difference among all.
    fn alarms(noise: fn(u32) -> f64, times: u32, seed: u64) -> f64 {
        let mut normal = Normal::seeded(seed);
        let found = (0..times).filter(|_| has_alarm(&plan(54, 4, 0.0, noise, &mut normal))).count();
        found as f64 / f64::from(times)
    }

    #[test]
    fn of_54_equal_levels_a_plan_in_twenty_has_a_difference() {
        let found = alarms(|_| 0.03, 400, 5);
        assert!((0.01..=0.065).contains(&found), "{found}");
    }

    /// Levels whose scatter differs eightfold.
    #[test]
    fn levels_of_unlike_scatter_raise_few_alarms() {
        let found = alarms(|clients| if clients % 2 == 0 { 0.01 } else { 0.08 }, 1_000, 6);
        assert!(found <= 0.08, "{found}");
    }

    #[test]
    fn a_true_tenth_is_found_among_54_levels() {
        let mut normal = Normal::seeded(7);
        let plans = (0..40).map(|_| plan(54, 4, 0.1_f64.ln_1p(), |_| 0.03, &mut normal)).collect::<Vec<_>>();
        let found = plans.iter().flat_map(|plan| &plan.list).filter(|level| level.among_all).count();
        assert!(found as f64 >= 0.9 * 54.0 * 40.0, "{found} of {}", 54 * 40);
        assert!(plans.iter().all(|plan| plan.scripts.len() == 1 && plan.scripts[0].among_all));
    }

    #[test]
    fn a_script_is_the_mean_of_its_levels() {
        let noise = |at: u32| [0.01, -0.01, 0.02, -0.02][at as usize % 4];
        let mut of = Vec::new();
        for clients in [1, 4] {
            for block in 0..3 {
                let effect = if clients == 1 { 0.1 } else { 0.2 };
                of.push(("a", clients, block, 1_000.0));
                of.push(("b", clients, block, 1_000.0 * f64::exp(effect + noise(block + clients))));
            }
        }
        let found = levels(&runs(&of), &["a", "b"], 0.02);
        let [script] = &found.scripts[..] else { panic!("one subject in one script: {found:?}") };
        assert_eq!((script.levels, script.result.blocks), (2, 3));
        let mean = (0..3).map(|block| 0.15 + (noise(block + 1) + noise(block + 4)) / 2.0).sum::<f64>() / 3.0;
        assert!((script.result.effect - mean.exp_m1()).abs() < 1e-9, "{script:?}");
    }
}
