//! What a machine can tell apart: the scatter between blocks of the same cell.

use pgdyno_core::measure::{CellRun, Workload};

use super::{estimate::sum_of_squares, student};

/// The noise floor of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// Standard deviation of ln(TPS) between blocks of the same cell, pooled over all cells; for small
    /// values a share of the mean.
    pub between_blocks: f64,
    /// Degrees of freedom of that figure: runs less cells.
    pub degrees_of_freedom: u32,
    /// The smallest difference between two cells of as many blocks that would stand out at 95 %, as a share.
    pub smallest_difference: f64,
}

impl Noise {
    /// Pools the scatter of all cells with at least two runs; `None` where no cell has two, as without
    /// repetition nothing is known about noise. Runs without a commit are left out.
    ///
    /// Logarithms make cells of different speed comparable and a difference a ratio. The difference of two
    /// means of k blocks stands out where it exceeds t(95 %) · s · √(2/k); k is that of the cell with the
    /// fewest runs.
    pub fn of(runs: &[CellRun]) -> Option<Self> {
        let cells: Vec<Vec<f64>> = cells(runs)
            .into_iter()
            .map(|(_, runs)| runs.iter().filter(|run| run.tps > 0.0).map(|run| run.tps.ln()).collect())
            .filter(|logs: &Vec<f64>| logs.len() >= 2)
            .collect();
        let fewest = cells.iter().map(Vec::len).min()?;
        let degrees: usize = cells.iter().map(|logs| logs.len() - 1).sum();
        let squares: f64 = cells.iter().map(|logs| sum_of_squares(logs)).sum();
        let between_blocks = (squares / degrees as f64).sqrt();
        let degrees_of_freedom = degrees as u32;
        let t = student::two_sided(0.95, degrees_of_freedom);
        let smallest_difference = (t * between_blocks * (2.0 / fewest as f64).sqrt()).exp_m1();
        Some(Self { between_blocks, degrees_of_freedom, smallest_difference })
    }
}

/// The noise floor of each script's cells by themselves, in the order of their first runs: reads and writes scatter
/// differently. Scripts without a repetition have none. Subjects and protocols are told apart.
pub fn by_script(runs: &[CellRun]) -> Vec<(&Workload, Noise)> {
    let same = |a: &Workload, b: &Workload| {
        (&a.subject, &a.script, &a.protocol) == (&b.subject, &b.script, &b.protocol)
    };
    let mut first: Vec<&Workload> = Vec::new();
    for run in runs {
        if !first.iter().any(|of| same(of, &run.workload)) {
            first.push(&run.workload);
        }
    }
    let of = |workload: &&Workload| -> Vec<CellRun> {
        runs.iter().filter(|run| same(workload, &run.workload)).cloned().collect()
    };
    first.into_iter().filter_map(|workload| Some((workload, Noise::of(&of(&workload))?))).collect()
}

/// The runs of each cell, cells in the order of their first run.
pub(super) fn cells(runs: &[CellRun]) -> Vec<(&Workload, Vec<&CellRun>)> {
    let mut cells: Vec<(&Workload, Vec<&CellRun>)> = Vec::new();
    for run in runs {
        match cells.iter_mut().find(|(workload, _)| **workload == run.workload) {
            Some((_, runs)) => runs.push(run),
            None => cells.push((&run.workload, vec![run])),
        }
    }
    cells
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
        let noise = Noise::of(&runs).expect("two cells have two runs");
        let expected = 1.1f64.ln() / 2f64.sqrt();
        assert!((noise.between_blocks - expected).abs() < 1e-12);
        assert_eq!(noise.degrees_of_freedom, 2);
        assert!((noise.smallest_difference - (4.3027 * expected).exp_m1()).abs() < 1e-4);
    }

    #[test]
    fn each_script_has_its_own_scatter() {
        let runs = [("a", 100.0), ("b", 50.0), ("a", 110.0), ("c", 1.0), ("b", 50.0)];
        let runs: Vec<_> = runs.into_iter().map(|(script, tps)| run(script, 4, tps)).collect();
        let found: Vec<_> = by_script(&runs)
            .into_iter()
            .map(|(of, noise)| (of.script.as_str(), noise.between_blocks))
            .collect();
        assert_eq!(found.iter().map(|(script, _)| *script).collect::<Vec<_>>(), ["a", "b"]);
        assert!((found[0].1 - 1.1f64.ln() / 2f64.sqrt()).abs() < 1e-12 && found[1].1 == 0.0);
    }

    #[test]
    fn without_repetition_nothing_is_known() {
        assert_eq!(Noise::of(&[run("select-only", 1, 5.0), run("select-only", 8, 9.0)]), None);
    }

    /// The figure does what it says: of pairs of cells without a difference about 5 % differ by more.
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
                let noise = Noise::of(&[a, b].concat()).expect("there are repetitions");
                difference > noise.smallest_difference
            })
            .count();
        assert!((70..=130).contains(&exceeded), "{exceeded} of 2000");
    }
}
