//! What limited a run, found in its record and nothing else.
//!
//! A doubt says that a number should not be trusted; a bottleneck says what kept it from being larger. The sessions of
//! a closed loop always wait for something: the samples of what they waited for divide the clients' time, and the
//! counters of CPUs, devices and driver confirm or contradict what the samples suggest. Nothing found is an answer,
//! too.

mod cell;
mod rules;
mod sessions;
mod tail;

use pgdyno_core::{measure::runs_by_cell, results::CellLimits};
use pgdyno_record::RunRecord;

use cell::Cell;
pub use tail::{Slowest, TailSamples};

/// What limits each cell of a record, in the order of its cells.
pub fn limits(record: &RunRecord) -> Vec<CellLimits> {
    let cells = runs_by_cell(&record.runs).into_iter();
    let cells: Vec<Cell<'_>> = cells.map(|(workload, runs)| Cell::new(record, workload, runs)).collect();
    cells.iter().map(|cell| rules::limits(cell, &cells)).collect()
}
