//! Several subjects against the first of them, level by level.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    looks::{FALSE_ALARMS, Look},
    verdict::{Comparison, Verdict, judge},
};
use crate::measure::{CellRun, Workload};

/// What one subject came to beside the reference in one script at one number of clients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LevelResult {
    /// Name of the script.
    pub script: String,
    /// How its statements were sent.
    pub protocol: String,
    /// Number of clients.
    pub clients: u32,
    /// Name of the subject.
    pub subject: String,
    /// Blocks in which both committed something.
    pub blocks: u32,
    /// TPS over the reference's, less 1: exp of the mean of the logarithms of the blocks' ratios. Absent without a
    /// block.
    pub effect: Option<f64>,
    /// Interval and verdict of this level by itself, where B is the subject and A the reference; absent below two
    /// blocks.
    pub result: Option<Comparison>,
    /// Whether it is faster or slower also by the interval that may miss the truth at any of all levels together at
    /// most one time in twenty (Bonferroni).
    pub among_all: bool,
}

/// Judges every subject but the first against the first, at every level of every workload that both ran, in the order
/// of their first runs. The observation is ln of the ratio within a block. `margin` is a share above 0.
pub fn levels(runs: &[CellRun], subjects: &[&str], margin: f64) -> Vec<LevelResult> {
    let Some((reference, others)) = subjects.split_first() else { return Vec::new() };
    let mut seen: Vec<&Workload> = Vec::new();
    for run in runs {
        if !seen.iter().any(|known| same_level(known, &run.workload)) {
            seen.push(&run.workload);
        }
    }
    let pairs = seen.iter().flat_map(|level| others.iter().map(move |subject| (*level, *subject)));
    let found: Vec<_> =
        pairs.map(|(level, subject)| (level, subject, ln_ratios(runs, level, subject, reference))).collect();
    let judged = found.iter().filter(|(.., ratios)| ratios.len() >= 2).count().max(1);
    let one = |(level, subject, ratios): (&Workload, &str, Vec<f64>)| {
        let at = |alpha| judge(&ratios, &[Look { blocks: ratios.len() as u32, alpha }], margin);
        let strict = at(FALSE_ALARMS / judged as f64);
        LevelResult {
            script: level.script.clone(),
            protocol: level.protocol.clone(),
            clients: level.clients,
            subject: subject.to_owned(),
            blocks: ratios.len() as u32,
            effect: (!ratios.is_empty()).then(|| (ratios.iter().sum::<f64>() / ratios.len() as f64).exp_m1()),
            result: at(FALSE_ALARMS),
            among_all: strict.is_some_and(|found| found.low > 0.0 || found.high < 0.0),
        }
    };
    let results = found.into_iter().map(one);
    results
        .map(|result| LevelResult { among_all: result.among_all && result.is_decided(), ..result })
        .collect()
}

impl LevelResult {
    /// Whether the subject is faster or slower by the interval of this level.
    pub fn is_decided(&self) -> bool {
        let verdict = self.result.as_ref().map(|result| result.verdict);
        matches!(verdict, Some(Verdict::Faster | Verdict::Slower))
    }
}

fn same_level(a: &Workload, b: &Workload) -> bool {
    let level = |of: &Workload| (of.clients, of.rate_per_s);
    (&a.script, &a.protocol, level(a)) == (&b.script, &b.protocol, level(b))
}

/// ln of subject over reference, block by block; a block in which one of them committed nothing has no ratio.
fn ln_ratios(runs: &[CellRun], level: &Workload, subject: &str, reference: &str) -> Vec<f64> {
    let of = |name: &str| -> Vec<&CellRun> {
        let own = |run: &&CellRun| {
            run.workload.subject.as_deref() == Some(name) && same_level(&run.workload, level) && run.tps > 0.0
        };
        runs.iter().filter(own).collect()
    };
    let base = of(reference);
    let pair = |run: &CellRun| {
        let beside = base.iter().find(|other| other.block == run.block)?;
        Some(run.tps.ln() - beside.tps.ln())
    };
    of(subject).into_iter().filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{doubts::samples::run, steady::tests::Normal};

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
        // The machine gets twice as fast from block to block, and the second is always 10 % faster.
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
        assert_eq!(levels(&runs, &[], 0.02), []);
    }

    /// Of equal subjects about one level in twenty is called faster or slower, and hardly ever one among all.
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
