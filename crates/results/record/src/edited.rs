//! Detects records that were edited: the reader verifies the seal, this file checks that the figures agree with each
//! other.

use pgdyno_core::{
    measure::{CellRun, CellSummary, runs_by_cell},
    results::{Doubt, DoubtKind},
};

/// Relative difference allowed between two computations of one figure, for sums added in another order.
const ROUNDING: f64 = 1e-9;

/// Returns a doubt if the record was edited. `broken` lists violations of the seal; blocks and cells are checked in any
/// case, because a seal can be recomputed. `counted` are the runs that the cells summarise: all runs, or those that the
/// result of a comparison is computed from.
pub fn judge(
    broken: &[String],
    runs: &[CellRun],
    counted: &[CellRun],
    cells: &[CellSummary],
) -> Option<Doubt> {
    let of_runs = runs.iter().filter_map(tps_mismatch);
    let of_cells = cells.iter().filter_map(|cell| summary_mismatch(cell, counted));
    let seen: Vec<String> = broken.iter().cloned().chain(of_cells).chain(of_runs).collect();
    let advice = "Do not use its numbers: measure again, or obtain the original record.";
    (!seen.is_empty()).then(|| Doubt {
        kind: DoubtKind::Edited,
        detail: seen.join("; "),
        advice: advice.to_owned(),
        cells: Vec::new(),
    })
}

/// Describes a block whose TPS does not equal its transactions over its time.
fn tps_mismatch(run: &CellRun) -> Option<String> {
    let tps = run.counts.committed as f64 * 1e9 / run.duration_ns as f64;
    (run.duration_ns > 0 && !agree(run.tps, tps)).then(|| {
        let (cell, block) = (run.workload.cell(), run.block + 1);
        format!("block {block} of {cell} has {:.1} TPS, but its transactions and time give {tps:.1}", run.tps)
    })
}

/// Describes a cell whose TPS is not the mean of its blocks, or whose latency count is not the sum of theirs.
fn summary_mismatch(cell: &CellSummary, runs: &[CellRun]) -> Option<String> {
    let name = cell.workload.cell();
    let blocks = runs_by_cell(runs).into_iter().find(|(workload, _)| **workload == cell.workload);
    let Some((_, blocks)) = blocks else { return Some(format!("{name} has no block")) };
    let tps = blocks.iter().map(|run| run.tps).sum::<f64>() / blocks.len() as f64;
    if !agree(cell.tps.value, tps) || cell.tps.count != blocks.len() as u64 {
        let (said, count) = (cell.tps.value, cell.tps.count);
        let given = blocks.len();
        return Some(format!(
            "{name} has {said:.1} TPS from {count} blocks, but its {given} blocks give {tps:.1}"
        ));
    }
    let samples: u64 = blocks.iter().filter_map(|run| Some(run.latency.as_ref()?.count)).sum();
    let said = cell.latency.as_ref().map(|latency| latency.count)?;
    (said != samples).then(|| format!("{name} has {said} latencies, but its blocks have {samples}"))
}

fn agree(one: f64, other: f64) -> bool {
    one == other || (one - other).abs() <= ROUNDING * one.abs().max(other.abs())
}
