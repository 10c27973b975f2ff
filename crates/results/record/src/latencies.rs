//! `runs.hlog`: the latency histograms of every run, drain included, in the precision of the record. Percentiles can be
//! recomputed from them.

use std::time::Duration;

use pgdyno_core::measure::{CellRun, Histograms};

use crate::hlog::{self, LoggedInterval};

/// Prefix of the tags of a run's histograms.
const RUN: &str = "run-";
/// Separator before the index of a script, if a run has several.
const SCRIPT: &str = "/script-";
/// Separator before the index of a set of tables, if a run drove several.
const SET: &str = "/set-";

/// The latencies of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunLatencies {
    /// Index of the run in `runs`.
    pub run: u32,
    /// Latencies of the run.
    pub histograms: Histograms,
}

/// The lines of a run: a histogram of all attempts, then one per script and per set of tables if there are several.
pub(crate) fn lines(index: u32, run: &CellRun, of: &Histograms) -> Vec<u8> {
    let start = Duration::from_secs_f64(run.start_s.max(0.0));
    let line = |tag: &str, latency| hlog::line(tag, start, Duration::from_nanos(run.duration_ns), latency);
    let mut lines = line(&format!("{RUN}{index}"), &of.whole);
    for (script, latency) in of.scripts.iter().enumerate() {
        lines.extend(line(&format!("{RUN}{index}{SCRIPT}{script}"), latency));
    }
    for (set, latency) in of.sets.iter().enumerate() {
        lines.extend(line(&format!("{RUN}{index}{SET}{set}"), latency));
    }
    lines
}

/// The index of the run in a tag.
pub(crate) fn run_of(tag: &str) -> Option<u32> {
    tag.strip_prefix(RUN)?.split('/').next()?.parse().ok()
}

/// Groups lines by run. Lines of scripts and sets without a line of their run are ignored.
pub(crate) fn by_run(lines: Vec<LoggedInterval>) -> Vec<RunLatencies> {
    let mut runs: Vec<RunLatencies> = Vec::new();
    for LoggedInterval { tag, latency, .. } in lines {
        let Some(run) = run_of(&tag) else { continue };
        let (of_script, of_set) = (tag.contains(SCRIPT), tag.contains(SET));
        match runs.last_mut().filter(|last| last.run == run && (of_script || of_set)) {
            Some(last) if of_script => last.histograms.scripts.push(latency),
            Some(last) => last.histograms.sets.push(latency),
            None if of_script || of_set => {}
            None => runs.push(RunLatencies { run, histograms: latency.into() }),
        }
    }
    runs
}
