//! Helpers to build doubts.

use pgdyno_core::measure::{CellRun, Workload, runs_by_cell};
use pgdyno_record::RunRecord;
use pgdyno_script::Builtin;

use crate::{Doubt, DoubtKind};

pub(super) fn doubt(kind: DoubtKind, detail: String, advice: &str, cells: Vec<String>) -> Option<Doubt> {
    Some(Doubt { kind, detail, advice: advice.to_owned(), cells })
}

pub(super) fn cell_name(workload: &Workload) -> String {
    workload.cell()
}

/// Whether a workload writes; a script that is not built in is assumed to.
pub(super) fn writes(workload: &Workload) -> bool {
    Builtin::by_name(workload.script_name()).is_none_or(Builtin::writes)
}

pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// The names of cells, with the largest of their figures; `None` without a cell.
pub(super) fn worst(found: impl Iterator<Item = (String, f64)>) -> Option<(Vec<String>, f64)> {
    let found: Vec<_> = found.collect();
    let worst = found.iter().map(|(_, figure)| *figure).max_by(f64::total_cmp)?;
    Some((found.into_iter().map(|(name, _)| name).collect(), worst))
}

/// The cells whose figure exceeds a limit, with the largest of the figures.
pub(super) fn above(
    record: &RunRecord,
    limit: f64,
    figure: fn(&[&CellRun]) -> f64,
) -> Option<(Vec<String>, f64)> {
    let figures =
        runs_by_cell(&record.runs).into_iter().map(|(workload, runs)| (cell_name(workload), figure(&runs)));
    worst(figures.filter(|(_, figure)| *figure > limit))
}
