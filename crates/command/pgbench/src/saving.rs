//! How runs are saved.

use std::path::Path;

use pgdyno_core::problem::Problem;
use pgdyno_lab::Lab;
use pgdyno_record::RunRecord;

/// Writes the report of a run into its directory, without printing anything.
pub type WriteReport = fn(&RunRecord, &Path) -> Result<(), Problem>;

/// Where runs are saved, and by what their reports are written.
#[derive(Debug)]
pub struct Saving {
    /// The laboratory that they are runs of.
    pub lab: Lab,
    /// Writes the report.
    pub write_report: WriteReport,
}
