//! All that is known of a run when it is judged.

use pgdyno_core::{
    facts::{Instrument, ServerFacts},
    measure::{CellRun, CellSummary},
};

use crate::compare::{Comparison, Floor};

/// All that is known of a run when it is judged.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// The run was meant for publication.
    pub thorough: bool,
    /// The command that runs it thoroughly and how long that takes, for the advice: `--thorough (24 min)`.
    pub thorough_hint: Option<&'a str>,
    /// The run reached its end.
    pub complete: bool,
    /// Index of the first run after each time that the run was resumed.
    pub resumed_at: &'a [u32],
    /// Driver and server may have run on the same processors.
    pub cores_shared: bool,
    /// What the driver can do at most on this machine; `None` where it was never measured.
    pub ceiling: Option<CeilingEvidence<'a>>,
    /// Scale of the TPC-B tables, which is the number of their branches; `None` where there are none.
    pub scale: Option<u64>,
    /// What was measured: one, or several beside the first.
    pub subjects: &'a [SubjectEvidence<'a>],
    /// The comparison of two subjects in blocks, where that was the question.
    pub comparison: Option<ComparisonEvidence<'a>>,
    /// Every run of every cell that pgdyno's own driver made.
    pub runs: &'a [CellRun],
    /// Every cell over its blocks.
    pub cells: &'a [CellSummary],
}

/// All that is known of one subject.
#[derive(Debug, Clone, Copy, Default)]
pub struct SubjectEvidence<'a> {
    /// Its name: that of its runs, where there are several.
    pub name: &'a str,
    /// Its server, once it is there.
    pub server: Option<&'a ServerFacts>,
    /// Whether its bundle is one of those tested with this version; `None` where it is none.
    pub bundle_pinned: Option<bool>,
    /// The check of its data, where one was made.
    pub balance: Option<CheckEvidence<'a>>,
    /// The check of TPC-C's conditions, where one was made.
    pub consistency: Option<CheckEvidence<'a>>,
}

/// What a comparison of A and B in blocks came to.
#[derive(Debug, Clone, Copy)]
pub struct ComparisonEvidence<'a> {
    /// Results of A and of B, block by block.
    pub rates: [&'a [f64]; 2],
    /// What it came to.
    pub result: Option<&'a Comparison>,
    /// A against A.
    pub floor: Option<&'a Floor>,
}

/// What the driver can do at most, and how it was used.
#[derive(Debug, Clone, Copy)]
pub struct CeilingEvidence<'a> {
    /// What `pgdyno selftest` found on this machine.
    pub instrument: &'a Instrument,
    /// How the driver waited: `io_uring`, `epoll`.
    pub waiting: &'a str,
    /// Threads of the driver.
    pub jobs: u32,
}

/// What a check of the data found after all runs.
#[derive(Debug, Clone, Copy)]
pub struct CheckEvidence<'a> {
    /// Rows examined; a check that examined none has failed.
    pub rows_examined: u64,
    /// Violations; of conditions, those that do not hold.
    pub violations: u64,
    /// The first of them in words.
    pub examples: &'a [String],
}

/// A subject with its runs.
pub(super) struct OfSubject<'a> {
    pub subject: &'a SubjectEvidence<'a>,
    pub runs: &'a [CellRun],
}

/// A comparison with the run that it is of.
pub(super) struct InBlocks<'a> {
    pub whole: &'a Evidence<'a>,
    pub comparison: &'a ComparisonEvidence<'a>,
}
