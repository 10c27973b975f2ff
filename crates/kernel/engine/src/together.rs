//! Several runs that begin at one instant, as one for each of several sets of tables, and whose results are added up.
//!
//! Each is a run of its own, on threads of this process or in another process of this machine: they share the
//! monotonic clock, hence the edges of all intervals. Added up are counts and histograms, never averages.

use pgdyno_core::stop::Stop;

use crate::{EngineError, MergedInterval, Report, Timeline, collector::Collector, report::IntervalReport};

/// Adds up the intervals and the reports of runs that begin together and have the same settings.
pub struct Merger {
    collector: Collector,
    runs: Vec<Part>,
}

#[derive(Default)]
struct Part {
    /// Number of intervals so far.
    intervals: u32,
    report: Option<Report>,
}

impl Merger {
    /// For this many runs.
    pub fn new(runs: usize) -> Self {
        // Only workers need the instants: the intervals of a run have theirs.
        let timeline = Timeline { start_ns: 0, measure_ns: 0, end_ns: 0, interval_ns: 0 };
        let collector = Collector::new(timeline, runs, &[]);
        Self { collector, runs: (0..runs).map(|_| Part::default()).collect() }
    }

    /// Adds the next interval of a run.
    ///
    /// # Errors
    /// [`EngineError::Miscounted`] if its counts do not add up.
    pub fn interval(&mut self, run: usize, interval: MergedInterval) -> Result<(), EngineError> {
        let index = self.runs[run].intervals;
        self.runs[run].intervals += 1;
        self.collector.take(run, IntervalReport { index, last: false, interval }).map(drop)
    }

    /// Adds the report of a run after its last interval; `None` if the run was lost, with what it had measured.
    pub fn ended(&mut self, run: usize, report: Option<Report>) {
        self.collector.ended(run, self.runs[run].intervals);
        self.runs[run].report = report;
    }

    /// The oldest interval that all runs have closed and that was not returned yet.
    pub fn next_complete(&mut self) -> Option<MergedInterval> {
        self.collector.next_complete()
    }

    /// The results of all runs together, and of each; a run without a report is missing from both.
    pub fn finish(self, stop: &Stop) -> (Report, Vec<Option<Report>>) {
        let reports: Vec<_> = self.runs.into_iter().map(|part| part.report).collect();
        let there: Vec<&Report> = reports.iter().flatten().collect();
        let statements = there.first().map_or(0, |report| report.statements.len());
        let (mut whole, _) = self.collector.totals(statements, stop);
        whole.add_runs(&there);
        (whole, reports)
    }
}
