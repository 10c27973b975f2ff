//! Whether a record says what was measured: its seal is checked by who reads it, its figures against each other here.

use pgdyno_core::measure::{CellRun, CellSummary};

use super::{Doubt, DoubtKind, noise::cells};

/// Share by which two ways to compute one figure may differ: that of a sum in another order.
const ROUNDING: f64 = 1e-9;

/// The doubt about a record that is not as it was written. `broken` says what of its seal does not hold; blocks and
/// cells are checked whatever the seal says, since it can be made anew. `counted` are the runs that the cells sum up:
/// all of them, or those that the result of a comparison rests on.
pub fn judge(
    broken: &[String],
    runs: &[CellRun],
    counted: &[CellRun],
    cells: &[CellSummary],
) -> Option<Doubt> {
    let of_runs = runs.iter().filter_map(against_its_counts);
    let of_cells = cells.iter().filter_map(|cell| against_its_blocks(cell, counted));
    let seen: Vec<String> = broken.iter().cloned().chain(of_cells).chain(of_runs).collect();
    let advice = "Do not use its numbers: measure again, or get the record as it was written.";
    (!seen.is_empty()).then(|| Doubt {
        kind: DoubtKind::Edited,
        detail: seen.join("; "),
        advice: advice.to_owned(),
        cells: Vec::new(),
    })
}

/// Whether TPS of a block is what its transactions and its time give.
fn against_its_counts(run: &CellRun) -> Option<String> {
    let tps = run.counts.committed as f64 * 1e9 / run.duration_ns as f64;
    (run.duration_ns > 0 && !agree(run.tps, tps)).then(|| {
        let (cell, block) = (run.workload.cell(), run.block + 1);
        format!("block {block} of {cell} says {:.1} TPS, its transactions and time give {tps:.1}", run.tps)
    })
}

/// Whether TPS of a cell is the mean of its blocks, and its latency that of as many transactions as theirs.
fn against_its_blocks(cell: &CellSummary, runs: &[CellRun]) -> Option<String> {
    let name = cell.workload.cell();
    let blocks = cells(runs).into_iter().find(|(workload, _)| **workload == cell.workload);
    let Some((_, blocks)) = blocks else { return Some(format!("{name} has no block")) };
    let tps = blocks.iter().map(|run| run.tps).sum::<f64>() / blocks.len() as f64;
    if !agree(cell.tps.value, tps) || cell.tps.count != blocks.len() as u64 {
        let (said, count) = (cell.tps.value, cell.tps.count);
        let given = blocks.len();
        return Some(format!("{name} says {said:.1} TPS of {count} blocks, its {given} give {tps:.1}"));
    }
    let samples: u64 = blocks.iter().filter_map(|run| Some(run.latency.as_ref()?.count)).sum();
    let said = cell.latency.as_ref().map(|latency| latency.count)?;
    (said != samples).then(|| format!("{name} says {said} latencies, its blocks have {samples}"))
}

fn agree(one: f64, other: f64) -> bool {
    one == other || (one - other).abs() <= ROUNDING * one.abs().max(other.abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{cells::summarise, doubts::samples::run};

    fn blocks() -> Vec<CellRun> {
        [1_000.0, 1_100.0, 1_030.0].map(|tps| run("tpcb-like", 8, tps)).into()
    }

    #[test]
    fn what_was_measured_is_not_doubted() {
        let runs = blocks();
        assert_eq!(judge(&[], &runs, &runs, &summarise(&runs, &[])), None);
        assert_eq!(judge(&[], &[], &[], &[]), None);
        let counted = &runs[..2];
        assert_eq!(
            judge(&[], &runs, counted, &summarise(counted, &[])),
            None,
            "the rest was measured for nothing"
        );
    }

    #[test]
    fn a_cell_that_says_more_than_its_blocks_is_doubted() {
        let runs = blocks();
        let mut cells = summarise(&runs, &[]);
        cells[0].tps.value = 9_999.0;
        let doubt = judge(&[], &runs, &runs, &cells).expect("the mean is another");
        let told = "tpcb-like/8 says 9999.0 TPS of 3 blocks, its 3 give 1043.3";
        assert_eq!((doubt.kind, doubt.detail.as_str()), (DoubtKind::Edited, told));
        let fewer = judge(&[], &runs, &runs[..2], &summarise(&runs, &[])).expect("a block is missing");
        assert!(fewer.detail.contains("its 2 give 1050.0"), "{}", fewer.detail);
    }

    #[test]
    fn a_block_that_says_more_than_its_counts_is_doubted() {
        let mut runs = blocks();
        runs[1].tps = 2_000.0;
        let doubt =
            judge(&["x".into()], &runs, &runs, &summarise(&runs, &[])).expect("the counts are others");
        let told = "x; block 1 of tpcb-like/8 says 2000.0 TPS, its transactions and time give 1100.0";
        assert_eq!(doubt.detail, told);
    }
}
