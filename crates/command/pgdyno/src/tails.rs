//! Reads from a run directory what its slowest transactions waited for.

use pgdyno_analysis::diagnosis::{Slowest, TailSamples};
use pgdyno_core::{observe::ObserveLevel, problem::Problem, results::Tails};
use pgdyno_record::{Run, RunRecord};

/// What the slowest transactions of a run waited for, cell by cell.
///
/// # Errors
/// A file that cannot be read.
pub fn of(run: &Run) -> Result<Tails, Problem> {
    let mut slowest = Slowest::new(&run.record, &run.run_latencies()?);
    run.each_slowest(|line| slowest.slow(&line))?;
    if slowest.wants_counts() {
        run.each_latency(|line| slowest.counted(&line))?;
    }
    let mut samples = TailSamples::new(slowest);
    run.each_observation(|line| samples.observed(&line))?;
    Ok(Tails { run: run.record.id.clone(), tails: samples.tails() })
}

/// The same for a report: nothing if no session was observed, or if a file cannot be read.
pub fn for_a_report(run: &Run) -> Option<Tails> {
    let tails = is_observed(&run.record).then(|| of(run).ok()).flatten()?;
    tails.tails.iter().any(|tail| tail.seen > 0).then_some(tails)
}

/// Whether sessions were observed during a run.
pub fn is_observed(record: &RunRecord) -> bool {
    record.observers.as_ref().is_some_and(|of| of.level == ObserveLevel::All)
}
