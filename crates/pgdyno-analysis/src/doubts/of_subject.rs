//! One subject of a record, which the rules about servers and data judge by itself.

use pgdyno_core::measure::CellRun;
use pgdyno_record::SubjectRecord;

/// A subject with its runs.
pub(super) struct OfSubject<'a> {
    pub subject: &'a SubjectRecord,
    pub runs: &'a [CellRun],
}
