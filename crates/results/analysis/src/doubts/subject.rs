//! Input of the rules that judge each subject's server and data.

use pgdyno_core::measure::CellRun;
use pgdyno_record::SubjectRecord;

use super::keys::Measuring;

/// A subject with its runs.
pub(super) struct SubjectRuns<'a> {
    pub subject: &'a SubjectRecord,
    pub runs: &'a [CellRun],
    /// The command that measured.
    pub by: Measuring,
}
