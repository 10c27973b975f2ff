//! Whether a record says what was measured: its seal is checked by who reads it, its figures against each other here.

use pgdyno_core::{
    measure::{CellRun, CellSummary, runs_by_cell},
    results::{Doubt, DoubtKind},
};

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
    let blocks = runs_by_cell(runs).into_iter().find(|(workload, _)| **workload == cell.workload);
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
