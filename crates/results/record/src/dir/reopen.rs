//! Reopening the run directory of a run that did not complete.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufWriter, Write},
    path::Path,
    time::{Duration, SystemTime},
};

use jiff::Timestamp;
use pgdyno_core::{measure::MAX_INTERVALS, problem::Problem};
use serde::Deserialize;

use super::RunDir;
use crate::{
    RunRecord,
    files::{could_not_write, lock},
    latencies,
    names::{EVENTS, LATENCY_LOG, OBSERVATIONS, RUN_LATENCIES, SLOWEST_ATTEMPTS, TIMELINE},
    stream::{self, COMPRESS_OVER_BYTES, Stream},
};

/// The run that a line of `timeline.ndjson` or `slowest.ndjson` belongs to.
#[derive(Deserialize)]
struct OfRun {
    run: u32,
}

impl RunDir {
    /// Opens the directory of a run for writing and truncates its streams to the runs in `record`; later ones are
    /// measured again. The directory is locked until the value is dropped.
    ///
    /// # Errors
    /// Another process writes to the directory, or a file could not be read or written.
    pub fn reopen(path: &Path, record: &RunRecord) -> Result<Self, Problem> {
        let lock = lock(path)?;
        let runs = record.runs.len() as u32;
        let failed = |e: io::Error| could_not_write(path, &e);
        let of_json = |line: &[u8]| serde_json::from_slice(line).is_ok_and(|of: OfRun| of.run < runs);
        let mut intervals = 0;
        let timeline = truncate(path, TIMELINE, |line| {
            let keep = of_json(line);
            intervals += u64::from(keep);
            keep
        });
        let timeline = timeline.map_err(failed)?;
        // Both streams have one line per interval.
        let mut left = intervals;
        let latency = truncate(path, LATENCY_LOG, |line| {
            is_comment(line) || {
                let keep = left > 0;
                left = left.saturating_sub(1);
                keep
            }
        });
        let of_log = |line: &[u8]| is_comment(line) || run_of_log_line(line).is_some_and(|run| run < runs);
        let started =
            record.started_at.parse::<Timestamp>().map_or_else(|_| SystemTime::now(), SystemTime::from);
        Ok(Self {
            id: record.id.clone(),
            path: path.to_path_buf(),
            hidden: None,
            _lock: lock,
            started,
            timeline,
            latency: latency.map_err(failed)?,
            slowest: truncate(path, SLOWEST_ATTEMPTS, of_json).map_err(failed)?,
            run_latencies: truncate(path, RUN_LATENCIES, of_log).map_err(failed)?,
            observations: truncate(path, OBSERVATIONS, |_| true).map_err(failed)?,
            events: truncate(path, EVENTS, |_| true).map_err(failed)?,
            current: None,
            digests: std::collections::BTreeMap::new(),
            max_intervals: MAX_INTERVALS,
            compress_over: COMPRESS_OVER_BYTES,
        })
    }

    /// Wall-clock time since the start of the run.
    pub fn age(&self) -> Duration {
        SystemTime::now().duration_since(self.started).unwrap_or_default()
    }
}

fn is_comment(line: &[u8]) -> bool {
    line.first().is_none_or(|first| matches!(first, b'#' | b'"'))
}

/// The run that a line of `runs.hlog` belongs to: `Tag=run-3,…`.
fn run_of_log_line(line: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(line).ok()?;
    latencies::run_of(text.strip_prefix("Tag=")?.split(',').next()?)
}

/// Rewrites a stream with the lines to keep and opens it for appending. The new file is complete before the old one is
/// removed, so readers find the lines at any time.
fn truncate(dir: &Path, name: &'static str, mut keep: impl FnMut(&[u8]) -> bool) -> io::Result<Stream> {
    let mut stream = Stream::new(name);
    let Some((from, finals)) = stream::form_of(dir, name) else { return Ok(stream) };
    let partial = stream.partial_path(dir);
    let rewritten = partial.with_extension("new");
    let mut source = stream::open(&from)?;
    let mut target = BufWriter::new(File::create(&rewritten)?);
    let mut line = Vec::new();
    while source.read_until(b'\n', &mut line)? > 0 {
        // An incomplete last line belongs to a run that was not recorded.
        if line.ends_with(b"\n") && keep(&line) {
            target.write_all(&line)?;
        }
        line.clear();
    }
    target.into_inner()?.sync_all()?;
    stream.reopen(dir, &rewritten)?;
    finals.iter().filter(|path| path.exists()).try_for_each(fs::remove_file)?;
    Ok(stream)
}
