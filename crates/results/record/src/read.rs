//! Reading run directories.

use std::{
    fs,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use pgdyno_core::{
    measure::{Interval, SlowInterval},
    observe::Observed,
    problem::Problem,
};
use serde_json::Value;

use crate::{
    EventLine, FORMAT, Lines, LoggedInterval, RunLatencies, RunRecord, VERSION,
    files::reason,
    hlog, latencies,
    names::{
        EVENTS, LATENCY_LOG, OBSERVATIONS, RUN_JSON, RUN_LATENCIES, SECOND_LEN, SLOWEST_ATTEMPTS, TIMELINE,
        is_id, profile_of,
    },
    sealing, stream,
};

/// Size limit for reading `run.json`.
const MAX_RECORD_BYTES: u64 = 256 << 20;
/// Size limit for reading the stacks of a profile.
const LARGEST_STACKS_BYTES: u64 = 64 << 20;

/// A recorded run.
#[derive(Debug, Clone)]
pub struct Run {
    /// Path of the run directory.
    pub path: PathBuf,
    /// The content of `run.json`.
    pub record: RunRecord,
    /// The content of `run.json` as JSON, including fields that this version does not know.
    pub json: Value,
}

impl Run {
    /// The intervals, from `timeline.ndjson`, whether partial, complete or compressed.
    ///
    /// # Errors
    /// A line that cannot be read, other than an incomplete last line.
    pub fn timeline(&self) -> Result<Lines<Interval>, Problem> {
        stream::read(&self.path, TIMELINE, json_line)
    }

    /// The observations, from `observations.ndjson`, whether partial, complete or compressed.
    ///
    /// # Errors
    /// A line that cannot be read, other than an incomplete last line.
    pub fn observations(&self) -> Result<Lines<Observed>, Problem> {
        stream::read(&self.path, OBSERVATIONS, json_line)
    }

    /// The observations one by one, for long runs.
    ///
    /// # Errors
    /// As [`Run::observations`].
    pub fn each_observation(&self, take: impl FnMut(Observed)) -> Result<(), Problem> {
        stream::each(&self.path, OBSERVATIONS, json_line, take).map(|_| ())
    }

    /// The slowest attempts of every interval, from `slowest.ndjson`, whether partial, complete or compressed.
    ///
    /// # Errors
    /// A line that cannot be read, other than an incomplete last line.
    pub fn slowest(&self) -> Result<Lines<SlowInterval>, Problem> {
        stream::read(&self.path, SLOWEST_ATTEMPTS, json_line)
    }

    /// The slowest attempts interval by interval, for long runs.
    ///
    /// # Errors
    /// As [`Run::slowest`].
    pub fn each_slowest(&self, take: impl FnMut(SlowInterval)) -> Result<(), Problem> {
        stream::each(&self.path, SLOWEST_ATTEMPTS, json_line, take).map(|_| ())
    }

    /// The latencies of whole runs, from `runs.hlog`, whether partial, complete or compressed.
    ///
    /// # Errors
    /// A line that cannot be read, other than an incomplete last line.
    pub fn run_latencies(&self) -> Result<Vec<RunLatencies>, Problem> {
        Ok(latencies::by_run(stream::read(&self.path, RUN_LATENCIES, hlog::parse)?.items))
    }

    /// The stacks of the profile at this place of the record; `None` if there are none, or they cannot be read.
    pub fn stacks_of(&self, profile: usize) -> Option<String> {
        let name = profile_of(profile + 1);
        let file = self.record.profiles.get(profile)?.profile.as_ref()?.file.as_ref()?;
        // The record is a file that may have been edited: it names no other file than its own.
        let path = (*file == name).then(|| self.path.join(name))?;
        let is_read = fs::metadata(&path).is_ok_and(|of| of.is_file() && of.len() <= LARGEST_STACKS_BYTES);
        is_read.then(|| fs::read_to_string(&path).ok())?
    }

    /// The events, from `events.ndjson`, whether partial, complete or compressed.
    ///
    /// # Errors
    /// A line that cannot be read, other than an incomplete last line.
    pub fn events(&self) -> Result<Lines<EventLine>, Problem> {
        stream::read(&self.path, EVENTS, json_line)
    }

    /// The histograms of `latency.hlog`, whether partial, complete or compressed.
    ///
    /// # Errors
    /// A line that cannot be read, other than an incomplete last line.
    pub fn latency_log(&self) -> Result<Lines<LoggedInterval>, Problem> {
        stream::read(&self.path, LATENCY_LOG, hlog::parse)
    }

    /// The histograms of `latency.hlog` one by one, for long runs.
    ///
    /// # Errors
    /// As [`Run::latency_log`].
    pub fn each_latency(&self, take: impl FnMut(LoggedInterval)) -> Result<(), Problem> {
        stream::each(&self.path, LATENCY_LOG, hlog::parse, take).map(|_| ())
    }
}

fn json_line<T: serde::de::DeserializeOwned>(line: &str) -> Result<Option<T>, String> {
    serde_json::from_slice(line.as_bytes()).map(Some).map_err(|e| e.to_string())
}

/// Reads the run in a directory. If it was edited after it was written, the record and its JSON have a
/// [`DoubtKind::Edited`].
///
/// [`DoubtKind::Edited`]: pgdyno_core::results::DoubtKind::Edited
///
/// # Errors
/// A [`Problem`] naming the file: it does not exist, is not a record of pgdyno, or has an unsupported format version.
pub fn open(path: &Path) -> Result<Run, Problem> {
    let file = path.join(RUN_JSON);
    let (mut record, mut json) = read_record(&file).map_err(|why| {
        Problem::could_not(format!("could not read {}: {why}", file.display()))
            .hint("`pgdyno list` shows the runs that can be read")
    })?;
    let broken: Vec<_> =
        sealing::broken(&json, &record).into_iter().chain(sealing::broken_files(path, &record)).collect();
    sealing::doubt(&broken, &mut record, &mut json);
    Ok(Run { path: path.to_path_buf(), record, json })
}

fn read_record(file: &Path) -> Result<(RunRecord, Value), String> {
    let size = fs::metadata(file).map_err(|e| reason(&e))?;
    if !size.is_file() || size.len() > MAX_RECORD_BYTES {
        return Err("it is not a regular file, or larger than any record that pgdyno writes".to_owned());
    }
    let text = fs::read_to_string(file).map_err(|e| reason(&e))?;
    let json: Value =
        serde_json::from_slice(text.as_bytes()).map_err(|e| format!("it is not complete JSON ({e})"))?;
    if json["format"] != FORMAT {
        return Err("it is not the record of a pgdyno run".to_owned());
    }
    match json["version"].as_u64() {
        Some(version) if version == u64::from(VERSION) => {}
        Some(version) => return Err(format!("it has format version {version}; this pgdyno reads {VERSION}")),
        None => return Err("it has no format version".to_owned()),
    }
    // From the text and not from the value, so that errors include the line number.
    serde_json::from_slice(text.as_bytes())
        .map(|record| (record, json))
        .map_err(|e| format!("its content is invalid ({e})"))
}

/// An entry of a listing.
#[derive(Debug, Clone)]
pub struct Listed {
    /// The run directory.
    pub path: PathBuf,
    /// Name of the run directory.
    pub id: String,
    /// The record, or the reason why it cannot be read.
    pub record: Result<Box<RunRecord>, String>,
}

/// Lists the runs in a directory, oldest first, reading only their `run.json`. Unreadable runs are listed with the
/// reason; other directories are ignored. If the directory does not exist, the list is empty.
///
/// # Errors
/// The directory exists and cannot be read.
pub fn list(runs: &Path) -> Result<Vec<Listed>, Problem> {
    let entries = match fs::read_dir(runs) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => {
            return Err(Problem::could_not(format!("could not list {}: {}", runs.display(), reason(&e)))
                .hint("specify the directory of the runs with --runs"));
        }
    };
    let mut listed: Vec<_> = entries.flatten().filter_map(|entry| list_one(entry.path())).collect();
    listed.sort_by(|a, b| a.age().cmp(&b.age()));
    Ok(listed)
}

impl Listed {
    /// Sort key. Ids have a resolution of one second, in which several short runs may begin; the record has the exact
    /// time. Unreadable runs come before the other runs of the same second.
    fn age(&self) -> (&str, Option<Timestamp>, &str) {
        let instant = self.record.as_ref().ok().and_then(|record| record.started_at.parse().ok());
        (self.id.get(..SECOND_LEN).unwrap_or(&self.id), instant, &self.id)
    }
}

fn list_one(path: PathBuf) -> Option<Listed> {
    let id = path.file_name()?.to_str()?.to_owned();
    let is_run = !id.starts_with('.') && path.is_dir() && (is_id(&id) || path.join(RUN_JSON).exists());
    is_run.then(|| {
        let record = read_record(&path.join(RUN_JSON)).map(|(mut record, mut json)| {
            let broken: Vec<_> = sealing::broken(&json, &record).into_iter().collect();
            sealing::doubt(&broken, &mut record, &mut json);
            Box::new(record)
        });
        Listed { path, id, record: record.map_err(|why| format!("{RUN_JSON}: {why}")) }
    })
}

/// Finds a run by `last`, a path, an id, or a unique prefix or suffix of an id.
///
/// # Errors
/// No run or several runs match; the hint lists similar ids.
pub fn find(runs: &Path, wanted: &str) -> Result<PathBuf, Problem> {
    let as_path = Path::new(wanted);
    if wanted.contains('/') || as_path.join(RUN_JSON).is_file() {
        let file = as_path.file_name().is_some_and(|name| name == RUN_JSON);
        return Ok(if file {
            as_path.parent().unwrap_or(as_path).to_path_buf()
        } else {
            as_path.to_path_buf()
        });
    }
    let listed = list(runs)?;
    if wanted == "last" {
        let last = listed.iter().rev().find(|run| run.record.is_ok()).map(|run| run.path.clone());
        return last.ok_or_else(|| no_runs(runs));
    }
    let matching: Vec<_> = match listed.iter().find(|run| run.id == wanted) {
        Some(exact) => vec![exact],
        None => listed.iter().filter(|run| matches(&run.id, wanted)).collect(),
    };
    match matching[..] {
        [one] => Ok(one.path.clone()),
        [] if listed.is_empty() => Err(no_runs(runs)),
        [] => Err(Problem::wrong_request(format!("there is no run `{wanted}` in {}", runs.display())).hint(
            match nearest(&listed, wanted) {
                near if near.is_empty() => "`pgdyno list` shows all".to_owned(),
                near => format!("did you mean {near}? `pgdyno list` shows all"),
            },
        )),
        _ => Err(Problem::wrong_request(format!("`{wanted}` matches {} runs", matching.len()))
            .detail(ids(matching.iter().rev().take(5).map(|run| run.id.as_str())))
            .hint("give a longer part of the id, or `last`")),
    }
}

fn matches(id: &str, wanted: &str) -> bool {
    !wanted.is_empty() && (id.starts_with(wanted) || id.ends_with(wanted))
}

fn no_runs(runs: &Path) -> Problem {
    Problem::wrong_request(format!("there is no run in {}", runs.display()))
        .hint("measure one with `pgdyno bench`, or specify the directory of the runs with --runs")
}

/// Least similarity of an id that may have been meant.
const SIMILAR: f64 = 0.5;

/// The three most similar ids, none if all are unlike; compares with the id and with its prefix and suffix of the same
/// length.
fn nearest(listed: &[Listed], wanted: &str) -> String {
    let similarity = |id: &str| {
        let part = |text: Option<&str>| text.map_or(0.0, |text| strsim::normalized_levenshtein(text, wanted));
        let length = wanted.len().min(id.len());
        part(Some(id)).max(part(id.get(..length))).max(part(id.get(id.len() - length..)))
    };
    let mut by_similarity: Vec<_> = listed.iter().map(|run| (similarity(&run.id), run.id.as_str())).collect();
    by_similarity.retain(|(similarity, _)| *similarity >= SIMILAR);
    by_similarity.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(a.1)));
    ids(by_similarity.iter().take(3).map(|(_, id)| *id))
}

fn ids<'a>(ids: impl Iterator<Item = &'a str>) -> String {
    ids.collect::<Vec<_>>().join(", ")
}
