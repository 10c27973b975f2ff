//! The noise floor: the scatter between blocks of the same cell.

use pgdyno_core::measure::{CellRun, Workload, runs_by_cell};
use pgdyno_record::{NoiseRecord, ScriptNoise};

use crate::statistics::{sum_of_squares, two_sided};

/// The pooled noise floor of all cells with at least two runs; `None` if no cell has two, since noise is unknown
/// without repetition. Cells with a run without a commit are left out: it has no logarithm, and their means count it.
///
/// With logarithms, cells of different speed are comparable and a difference is a ratio. The difference of two means of
/// k blocks is significant if it exceeds t(95 %) · s · √(2/k); k is that of the cell with the fewest runs.
pub fn pooled(runs: &[CellRun]) -> Option<NoiseRecord> {
    let cells: Vec<Vec<f64>> = runs_by_cell(runs)
        .into_iter()
        .filter(|(_, runs)| runs.len() >= 2 && runs.iter().all(|run| run.tps > 0.0))
        .map(|(_, runs)| runs.iter().map(|run| run.tps.ln()).collect())
        .collect();
    let fewest = cells.iter().map(Vec::len).min()?;
    let degrees: usize = cells.iter().map(|logs| logs.len() - 1).sum();
    let squares: f64 = cells.iter().map(|logs| sum_of_squares(logs)).sum();
    let between_blocks = (squares / degrees as f64).sqrt();
    let degrees_of_freedom = degrees as u32;
    let t = two_sided(0.05, degrees as f64);
    let smallest_difference = (t * between_blocks * (2.0 / fewest as f64).sqrt()).exp_m1();
    Some(NoiseRecord { between_blocks, degrees_of_freedom, smallest_difference })
}

/// The noise floor of each script, subject and protocol, in the order of their first runs, because reads and writes
/// scatter differently. Scripts without repetition have none.
pub fn by_script(runs: &[CellRun]) -> Vec<ScriptNoise> {
    let same = |a: &Workload, b: &Workload| {
        (&a.subject, &a.script, &a.protocol) == (&b.subject, &b.script, &b.protocol)
    };
    let mut first: Vec<&Workload> = Vec::new();
    for run in runs {
        if !first.iter().any(|of| same(of, &run.workload)) {
            first.push(&run.workload);
        }
    }
    let of = |workload: &Workload| {
        let own: Vec<_> = runs.iter().filter(|run| same(workload, &run.workload)).cloned().collect();
        let noise = pooled(&own)?;
        Some(ScriptNoise { script: workload.title(), subject: workload.subject.clone(), noise })
    };
    first.into_iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doubts::samples::run;

    #[test]
    fn scatter_is_pooled_over_cells() {
        let runs: Vec<_> = [(1, 100.0), (1, 110.0), (8, 1_000.0), (8, 1_100.0), (32, 5.0)]
            .into_iter()
            .map(|(clients, tps)| run("select-only", clients, tps))
            .collect();
        let noise = pooled(&runs).expect("two cells have two runs");
        let expected = 1.1f64.ln() / 2f64.sqrt();
        assert!((noise.between_blocks - expected).abs() < 1e-12);
        assert_eq!(noise.degrees_of_freedom, 2);
        assert!((noise.smallest_difference - (4.3027 * expected).exp_m1()).abs() < 1e-4);
    }

    #[test]
    fn each_script_has_its_own_scatter() {
        let runs = [("a", 100.0), ("b", 50.0), ("a", 110.0), ("c", 1.0), ("b", 50.0)];
        let runs: Vec<_> = runs.into_iter().map(|(script, tps)| run(script, 4, tps)).collect();
        let found: Vec<_> =
            by_script(&runs).into_iter().map(|of| (of.script, of.noise.between_blocks)).collect();
        assert_eq!(found.iter().map(|(script, _)| script.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert!((found[0].1 - 1.1f64.ln() / 2f64.sqrt()).abs() < 1e-12 && found[1].1 == 0.0);
    }

    /// A run in which the server was gone counts neither in the mean nor as noise; one that merely committed nothing
    /// counts in the mean, so that no noise floor is claimed next to it.
    #[test]
    fn the_mean_and_the_noise_are_of_the_same_runs() {
        let three = |last: f64| [100.0, 110.0, last].map(|tps| run("select-only", 2, tps)).to_vec();
        let mean = |runs: &[CellRun]| crate::cells::summarise(runs, &[])[0].tps.value;
        let mut runs = three(0.0);
        assert_eq!((pooled(&runs), by_script(&runs).len()), (None, 0));
        assert!((mean(&runs) - 70.0).abs() < 1e-9);
        runs[2].ended_by_outage = true;
        assert_eq!(pooled(&runs), pooled(&runs[..2]));
        assert!(pooled(&runs).is_some() && (mean(&runs) - 105.0).abs() < 1e-9);
        assert_eq!(crate::cells::summarise(&runs, &[])[0].tps.count, 2);
        // The only run of a cell is no result either.
        assert!(crate::cells::summarise(&runs[2..], &[]).is_empty());
    }

    #[test]
    fn without_repetition_nothing_is_known() {
        assert_eq!(pooled(&[run("select-only", 1, 5.0), run("select-only", 8, 9.0)]), None);
    }

    /// Of pairs of cells without a difference, about 5 % differ by more than the smallest difference.
    #[test]
    fn equal_cells_exceed_the_smallest_difference_one_time_in_twenty() {
        let mut normal = crate::steady::tests::Normal::seeded(7);
        let exceeded = (0..2_000)
            .filter(|_| {
                let cell = |clients, normal: &mut crate::steady::tests::Normal| {
                    (0..5)
                        .map(|_| run("x", clients, 1_000.0 * (0.02 * normal.draw()).exp()))
                        .collect::<Vec<_>>()
                };
                let (a, b) = (cell(1, &mut normal), cell(2, &mut normal));
                let mean = |runs: &[CellRun]| runs.iter().map(|run| run.tps.ln()).sum::<f64>() / 5.0;
                let difference = (mean(&a) - mean(&b)).abs().exp_m1();
                let noise = pooled(&[a, b].concat()).expect("there are repetitions");
                difference > noise.smallest_difference
            })
            .count();
        assert!((70..=130).contains(&exceeded), "{exceeded} of 2000");
    }
}
