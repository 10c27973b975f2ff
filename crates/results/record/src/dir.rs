//! Writing a run directory.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use jiff::Timestamp;
use pgdyno_core::{
    facts::{Choice, ServerFacts},
    measure::{
        CellRun, Coarsener, Histograms, Interval, Latency, MAX_INTERVALS, Merger, Part, Slice, SlowAttempt,
        SlowInterval, Workload,
    },
    problem::Problem,
    redact::{redact, redact_setting},
    results::Difference,
};

use crate::{
    RunRecord,
    files::{could_not_write, lock, reason, sync_dir, write_atomically},
    hlog, latencies,
    names::{
        EVENTS, LATENCY_LOG, OBSERVATIONS, RUN_JSON, RUN_LATENCIES, SERVER_LOG, SLOWEST_ATTEMPTS, TIMELINE,
    },
    sealing,
    stream::{self, COMPRESS_OVER_BYTES, Stream},
};

mod reopen;

/// A run directory being written.
///
/// Until the first [`RunDir::save`] the directory is hidden under a name with a leading dot, and dropping the value
/// removes it: a visible run always has a readable `run.json`. Streams are appended as `*.partial` with one write per
/// interval, so a killed process loses at most the current interval.
#[derive(Debug)]
pub struct RunDir {
    id: String,
    /// Path from the first save on.
    path: PathBuf,
    /// Path before the first save; `None` afterwards.
    hidden: Option<PathBuf>,
    /// Lock on the directory, kept until the value is dropped.
    _lock: File,
    started: SystemTime,
    timeline: Stream,
    latency: Stream,
    slowest: Stream,
    run_latencies: Stream,
    observations: Stream,
    events: Stream,
    current: Option<CurrentRun>,
    /// Digests of the other files, once they are complete.
    digests: BTreeMap<String, String>,
    max_intervals: usize,
    compress_over: u64,
}

/// The run of a cell that is being recorded.
#[derive(Debug)]
struct CurrentRun {
    index: u32,
    tag: String,
    start_s: f64,
    coarsener: Coarsener,
    /// The slowest attempts of the drain, written as the last line.
    drain: Option<SlowInterval>,
    /// Offset of the run's first line in each stream, in bytes.
    timeline_from: u64,
    latency_from: u64,
    slowest_from: u64,
}

impl RunDir {
    /// Creates `RUNS/<YYYYMMDDThhmmssZ>-<name>-<4 hex>` and verifies that it is writable. Call it before the first
    /// measurement.
    ///
    /// # Errors
    /// A [`Problem`] naming the path and the reason: `runs` is a symbolic link, not a directory, or not writable.
    pub fn create(runs: &Path, name: &str, started: Timestamp) -> Result<Self, Problem> {
        make_runs_dir(runs)?;
        remove_leftovers(runs);
        loop {
            let id = new_id(name, started);
            let (path, hidden) = (runs.join(&id), runs.join(format!(".{id}.new")));
            match fs::create_dir(&hidden) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(e) => return Err(could_not_write(&path, &e)),
                Ok(()) if fs::symlink_metadata(&path).is_ok() => drop(fs::remove_dir(&hidden)),
                Ok(()) => return Self::writable(id, path, hidden, started),
            }
        }
    }

    /// Opens a new hidden directory and writes a test file there.
    fn writable(id: String, path: PathBuf, hidden: PathBuf, started: Timestamp) -> Result<Self, Problem> {
        let run_dir = Self {
            id,
            path,
            _lock: lock(&hidden)?,
            hidden: Some(hidden),
            started: SystemTime::from(started),
            timeline: Stream::new(TIMELINE),
            latency: Stream::new(LATENCY_LOG),
            slowest: Stream::new(SLOWEST_ATTEMPTS),
            run_latencies: Stream::new(RUN_LATENCIES),
            observations: Stream::new(OBSERVATIONS),
            events: Stream::new(EVENTS),
            current: None,
            digests: BTreeMap::new(),
            max_intervals: MAX_INTERVALS,
            compress_over: COMPRESS_OVER_BYTES,
        };
        let test_file = run_dir.dir().join("probe");
        // A page, because an empty file can be created on a full disk, too.
        let written = write_atomically(&test_file, &[b'\n'; 8192]).and_then(|()| fs::remove_file(&test_file));
        written.map_err(|e| could_not_write(&run_dir.path, &e))?;
        Ok(run_dir)
    }

    /// Sets the most intervals recorded for a run, at least 2 ([`MAX_INTERVALS`] by default), and the size in bytes
    /// above which a stream is compressed at the end ([`COMPRESS_OVER_BYTES`] by default).
    pub fn limit_streams(&mut self, max_intervals: usize, compress_over_bytes: u64) {
        (self.max_intervals, self.compress_over) = (max_intervals, compress_over_bytes);
    }

    /// Name of the run directory: the `id` of its record.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Path of the run directory from the first [`RunDir::save`] on.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn dir(&self) -> &Path {
        self.hidden.as_deref().unwrap_or(&self.path)
    }

    /// Writes `run.json` atomically. The first save makes the run visible. Secrets in the command, in error messages
    /// and in settings are redacted here as well, in case a caller forgot to.
    ///
    /// # Errors
    /// A [`Problem`] naming the path and the reason. A record that could not be read back, for example because a number
    /// is not finite, is not written.
    pub fn save(&mut self, record: &RunRecord) -> Result<(), Problem> {
        let record = without_secrets(record);
        let json = sealing::sealed(record, self.digests.clone()).map_err(|e| self.unreadable(&e))?;
        serde_json::from_slice::<RunRecord>(&json).map_err(|e| self.unreadable(&e))?;
        let path = self.dir().join(RUN_JSON);
        write_atomically(&path, &json).map_err(|e| could_not_write(&self.path.join(RUN_JSON), &e))?;
        self.show().map_err(|e| could_not_write(&self.path, &e))
    }

    fn unreadable(&self, error: &serde_json::Error) -> Problem {
        Problem::could_not(format!(
            "could not write {}: the record could not be read back",
            self.path.display()
        ))
        .detail(error.to_string())
        .hint("this is a bug of pgdyno: please report it")
    }

    /// Renames the hidden directory to its final name.
    fn show(&mut self) -> io::Result<()> {
        let Some(hidden) = &self.hidden else { return Ok(()) };
        fs::rename(hidden, &self.path)?;
        self.hidden = None;
        sync_dir(self.path.parent().unwrap_or(Path::new(".")))
    }

    /// Starts recording a run: `index` is its index in `runs` of `run.json`, `start_s` the due time of its first
    /// attempt in seconds since the start of pgdyno's run. Ends the previous run.
    ///
    /// # Errors
    /// A stream that could not be written.
    pub fn begin_run(
        &mut self,
        index: u32,
        workload: &Workload,
        block: u32,
        start_s: f64,
    ) -> Result<(), Problem> {
        self.end_run()?;
        if self.latency.bytes() == 0 {
            self.latency.append(self.hidden.as_deref().unwrap_or(&self.path), &hlog::header(self.started))?;
        }
        self.current = Some(CurrentRun {
            index,
            tag: hlog::tag(workload, block),
            start_s,
            coarsener: Coarsener::new(self.max_intervals),
            drain: None,
            timeline_from: self.timeline.bytes(),
            latency_from: self.latency.bytes(),
            slowest_from: self.slowest.bytes(),
        });
        Ok(())
    }

    /// Appends one interval of the current run with its slowest attempts. The index of the run and the latency figures
    /// are set here, the latter from the histogram, so that the files agree.
    ///
    /// # Errors
    /// A stream that could not be written.
    ///
    /// # Panics
    /// If [`RunDir::begin_run`] was not called.
    pub fn interval(
        &mut self,
        mut interval: Interval,
        latency: &Latency,
        slowest: Vec<SlowAttempt>,
    ) -> Result<(), Problem> {
        let run = self.current.as_mut().expect("begin_run comes first");
        interval.run = run.index;
        let finished = run.coarsener.push(Slice::new(interval, latency.clone(), slowest));
        let full = run.coarsener.is_full();
        finished.iter().try_for_each(|slice| self.append(slice))?;
        if full { self.halve() } else { Ok(()) }
    }

    /// Records the slowest attempts that ended in the drain of the current run; the drain is in no other stream.
    /// `start_ns` counts from the due time of the run's first attempt.
    pub fn drain(&mut self, start_ns: u64, duration_ns: u64, attempts: Vec<SlowAttempt>) {
        if let Some(current) = self.current.as_mut().filter(|_| !attempts.is_empty()) {
            let (run, part) = (current.index, Part::Drain);
            current.drain = Some(SlowInterval { run, start_ns, duration_ns, part, attempts });
        }
    }

    fn append(&mut self, slice: &Slice) -> Result<(), Problem> {
        let Some(run) = &self.current else { return Ok(()) };
        let Lines { timeline, latency, slowest } = run.lines(slice);
        let dir = self.hidden.as_deref().unwrap_or(&self.path);
        self.timeline.append(dir, &timeline)?;
        self.latency.append(dir, &latency)?;
        self.slowest.append(dir, &slowest)
    }

    /// Rewrites the lines of the current run with every two neighbouring intervals merged.
    fn halve(&mut self) -> Result<(), Problem> {
        let Some(mut run) = self.current.take() else { return Ok(()) };
        let dir = self.hidden.clone().unwrap_or_else(|| self.path.clone());
        let timeline = self.timeline.partial_path(&dir);
        let latency = self.latency.partial_path(&dir);
        let slowest = self.slowest.partial_path(&dir);
        let rewritten =
            run.rewrite(&timeline, &latency, &slowest).map_err(|e| could_not_write(&timeline, &e))?;
        self.timeline.replace(&dir, &new_version(&timeline))?;
        self.latency.replace(&dir, &new_version(&latency))?;
        self.slowest.replace(&dir, &new_version(&slowest))?;
        run.coarsener.halved(rewritten);
        self.current = Some(run);
        Ok(())
    }

    /// Ends the current run, if any, and writes its last merged interval.
    ///
    /// # Errors
    /// A stream that could not be written.
    pub fn end_run(&mut self) -> Result<(), Problem> {
        let rest = self.current.as_mut().and_then(|run| run.coarsener.finish());
        rest.iter().try_for_each(|slice| self.append(slice))?;
        let drain = self.current.take().and_then(|run| run.drain);
        let dir = self.hidden.as_deref().unwrap_or(&self.path);
        drain.iter().try_for_each(|drain| self.slowest.append(dir, &json_line(drain)))
    }

    /// The stream of observations, to be appended line by line while the run lasts.
    ///
    /// # Errors
    /// The file could not be opened.
    pub fn observation_log(&mut self) -> Result<File, Problem> {
        let dir = self.hidden.as_deref().unwrap_or(&self.path);
        self.observations.shared(dir)
    }

    /// Appends the latency histograms of a finished run to `runs.hlog`.
    ///
    /// # Errors
    /// A stream that could not be written.
    pub fn latencies_of_run(&mut self, index: u32, run: &CellRun, of: &Histograms) -> Result<(), Problem> {
        let dir = self.hidden.as_deref().unwrap_or(&self.path);
        let mut lines = if self.run_latencies.bytes() == 0 { hlog::header(self.started) } else { Vec::new() };
        lines.extend(latencies::lines(index, run, of));
        self.run_latencies.append(dir, &lines)
    }

    /// The stream of events, to be appended line by line while the run lasts.
    ///
    /// # Errors
    /// The file could not be opened.
    pub fn event_log(&mut self) -> Result<File, Problem> {
        let dir = self.hidden.as_deref().unwrap_or(&self.path);
        self.events.shared(dir)
    }

    /// The directory as it is called now: until the first [`RunDir::save`] by its hidden name.
    pub fn place(&self) -> &Path {
        self.dir()
    }

    /// Writes the stacks of a profile to a file of this name, which replaces an older one.
    ///
    /// # Errors
    /// The file could not be written.
    pub fn keep_profile(&self, name: &str, stacks: &str) -> Result<(), Problem> {
        write_atomically(&self.dir().join(name), stacks.as_bytes())
            .map_err(|e| could_not_write(&self.path.join(name), &e))
    }

    /// Copies the server's log in its current state, without secrets.
    ///
    /// # Errors
    /// The log could not be read, or the copy could not be written.
    pub fn keep_server_log(&self, log: &Path) -> Result<(), Problem> {
        self.keep_log(log, SERVER_LOG)
    }

    /// Copies the log of one of several servers to a file of this name, without secrets.
    ///
    /// # Errors
    /// The log could not be read, or the copy could not be written.
    pub fn keep_log(&self, log: &Path, name: &str) -> Result<(), Problem> {
        stream::keep(self.dir(), name, log, self.compress_over)
            .map_err(|e| could_not_write(&self.path.join(name), &e))
    }

    /// Ends the recording: renames the streams to their final names (compressed with gzip if larger than 10 MB), then
    /// saves the record, so a status other than `partial` means that all streams are complete. Returns the path of the
    /// directory.
    ///
    /// # Errors
    /// A file that could not be written; the directory then stays readable and partial.
    pub fn finish(mut self, record: &RunRecord) -> Result<PathBuf, Problem> {
        self.end_run()?;
        let dir = self.dir().to_path_buf();
        let Self { timeline, latency, slowest, run_latencies, observations, events, compress_over, .. } =
            &mut self;
        for stream in [timeline, latency, slowest, run_latencies, observations, events] {
            stream.finish(&dir, *compress_over)?;
        }
        self.digests = sealing::files(&dir).map_err(|e| {
            Problem::could_not(format!("could not seal {}: {}", self.path.display(), reason(&e)))
        })?;
        self.save(record)?;
        Ok(self.path.clone())
    }
}

impl RunDir {
    /// Whether the directory has a copy of a server's log.
    pub fn keeps_log(&self) -> bool {
        let is_log = |name: &str| name.starts_with("server") && name.contains(".log");
        let entries = fs::read_dir(self.dir()).into_iter().flatten().flatten();
        entries.into_iter().any(|entry| entry.file_name().to_str().is_some_and(is_log))
    }

    /// Removes the directory with its content.
    ///
    /// # Errors
    /// The directory could not be removed.
    pub fn discard(mut self) -> Result<(), Problem> {
        let hidden = self.path.with_file_name(format!(".{}.new", self.id));
        if self.hidden.is_none() {
            fs::rename(&self.path, &hidden).map_err(|e| {
                Problem::could_not(format!("could not remove {}: {}", self.path.display(), reason(&e)))
            })?;
        }
        self.hidden = Some(hidden); // dropping a hidden directory removes it
        Ok(())
    }
}

/// A directory that was never saved is removed.
impl Drop for RunDir {
    fn drop(&mut self) {
        if let Some(hidden) = &self.hidden {
            let _ = fs::remove_dir_all(hidden);
        }
    }
}

/// One line of each stream for a slice.
struct Lines {
    timeline: Vec<u8>,
    latency: Vec<u8>,
    slowest: Vec<u8>,
}

impl CurrentRun {
    /// Formats the lines of the streams for a slice.
    fn lines(&self, slice: &Slice) -> Lines {
        let interval = &slice.interval;
        let start = Duration::from_secs_f64(self.start_s.max(0.0)) + Duration::from_nanos(interval.start_ns);
        let tag = if interval.warm_up { format!("{}/warm-up", self.tag) } else { self.tag.clone() };
        let latency = hlog::line(&tag, start, Duration::from_nanos(interval.duration_ns), &slice.latency);
        Lines { timeline: json_line(interval), latency, slowest: json_line(&slow_interval(slice)) }
    }

    /// Writes coarsened copies of the streams next to them and returns the remaining lines of this run. Works slice by
    /// slice, so memory does not grow with the run.
    fn rewrite(&self, timeline: &Path, latency: &Path, slowest: &Path) -> io::Result<usize> {
        let mut old = [
            tail(timeline, self.timeline_from)?,
            tail(latency, self.latency_from)?,
            tail(slowest, self.slowest_from)?,
        ];
        let mut new = [
            head(timeline, self.timeline_from)?,
            head(latency, self.latency_from)?,
            head(slowest, self.slowest_from)?,
        ];
        let mut merger = Merger::new(2);
        let mut left = 0;
        loop {
            let slice = read_slice(&mut old)?;
            let last = slice.is_none();
            let finished = match slice {
                Some(slice) => merger.push(slice),
                None => Vec::from_iter(merger.finish()),
            };
            for slice in &finished {
                let lines = self.lines(slice);
                let lines = [lines.timeline, lines.latency, lines.slowest];
                new.iter_mut().zip(lines).try_for_each(|(file, line)| file.write_all(&line))?;
                left += 1;
            }
            if last {
                break;
            }
        }
        new.iter_mut().try_for_each(Write::flush)?;
        Ok(left)
    }
}

/// The slowest attempts of a slice as a line of `slowest.ndjson`.
fn slow_interval(slice: &Slice) -> SlowInterval {
    let Interval { run, start_ns, duration_ns, warm_up, .. } = slice.interval;
    let part = if warm_up { Part::WarmUp } else { Part::Measured };
    SlowInterval { run, start_ns, duration_ns, part, attempts: slice.slowest.clone() }
}

/// The record as it is written, without secrets in texts and settings: the last safeguard for invariant 2.
pub fn without_secrets(record: &RunRecord) -> RunRecord {
    let mut clean = record.clone();
    clean.command = redact(&clean.command);
    clean.error = clean.error.as_deref().map(redact);
    for error in clean.runs.iter_mut().flat_map(|run| &mut run.errors) {
        error.message = redact(&error.message);
    }
    without_secret_settings(&mut clean.choices, None, &mut []);
    for subject in &mut clean.subjects {
        subject.said = redact(&subject.said);
        subject.command = subject.command.as_deref().map(redact);
        without_secret_settings(&mut subject.choices, subject.server.as_mut(), &mut subject.differences);
    }
    clean
}

fn without_secret_settings(
    choices: &mut [Choice],
    server: Option<&mut ServerFacts>,
    differences: &mut [Difference],
) {
    for Choice { name, value, .. } in choices {
        *value = redact_setting(name, value);
    }
    if let Some(ServerFacts { settings, defaults, .. }) = server {
        let set = settings.iter_mut().map(|setting| (&setting.name, &mut setting.value));
        for (name, value) in set.chain(defaults.iter_mut().flatten()) {
            *value = redact_setting(name, value);
        }
    }
    for Difference { what, a, b, .. } in differences {
        for value in [a, b].into_iter().flatten() {
            *value = redact_setting(what, value);
        }
    }
}

fn json_line(value: &impl serde::Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(value).expect("plain data serialises");
    line.push(b'\n');
    line
}

/// Path of the new version of a file.
fn new_version(path: &Path) -> PathBuf {
    path.with_extension("new")
}

/// A reader that starts at the offset `from`.
fn tail(path: &Path, from: u64) -> io::Result<BufReader<File>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(from))?;
    Ok(BufReader::new(file))
}

/// A writer of the file's new version, which already has the first `to` bytes.
fn head(path: &Path, to: u64) -> io::Result<BufWriter<File>> {
    let new = new_version(path);
    let _ = fs::remove_file(&new);
    let mut writer = BufWriter::new(File::create_new(new)?);
    io::copy(&mut File::open(path)?.take(to), &mut writer)?;
    Ok(writer)
}

/// The next line of the streams: timeline, histograms, slowest attempts; `None` at their end.
fn read_slice(from: &mut [impl BufRead; 3]) -> io::Result<Option<Slice>> {
    let mut lines = [String::new(), String::new(), String::new()];
    for (from, line) in from.iter_mut().zip(&mut lines) {
        if from.read_line(line)? == 0 {
            return Ok(None);
        }
    }
    let interval = serde_json::from_slice(lines[0].as_bytes()).map_err(io::Error::other)?;
    let logged = hlog::parse(lines[1].trim_end()).map_err(io::Error::other)?;
    let logged = logged.ok_or_else(|| io::Error::other("an interval is missing from the histogram log"))?;
    let slow: SlowInterval = serde_json::from_slice(lines[2].as_bytes()).map_err(io::Error::other)?;
    Ok(Some(Slice { interval, latency: logged.latency, slowest: slow.attempts }))
}

fn make_runs_dir(runs: &Path) -> Result<(), Problem> {
    let problem =
        |why: &str| Problem::could_not(format!("could not create runs in {}: {why}", runs.display()));
    match fs::symlink_metadata(runs) {
        Ok(meta) if meta.is_dir() => Ok(()),
        Ok(meta) if meta.is_symlink() => Err(problem("it is a symbolic link, which pgdyno does not follow")
            .hint("give the path of the directory itself with --runs")),
        Ok(_) => Err(problem("it is not a directory").hint("choose another with --runs")),
        Err(e) if e.kind() == io::ErrorKind::NotFound => fs::create_dir_all(runs)
            .map_err(|e| problem(&reason(&e)).hint("choose a writable directory with --runs")),
        Err(e) => Err(problem(&reason(&e)).hint("choose a writable directory with --runs")),
    }
}

/// Removes hidden directories of killed processes that never saved, if they are older than an hour.
fn remove_leftovers(runs: &Path) {
    let old = |path: &Path| {
        let modified = fs::symlink_metadata(path).and_then(|meta| meta.modified());
        modified.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > Duration::from_secs(3600)))
    };
    let ours = |name: &str| {
        let id = name.strip_prefix('.').and_then(|rest| rest.strip_suffix(".new"));
        id.is_some_and(crate::names::is_id)
    };
    for entry in fs::read_dir(runs).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(ours) && old(&entry.path()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn new_id(name: &str, started: Timestamp) -> String {
    let plain: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
        .take(40)
        .collect();
    let plain = match plain.trim_matches('-') {
        "" => "run",
        some => some,
    };
    format!("{}-{plain}-{:04x}", started.strftime("%Y%m%dT%H%M%SZ"), random_u16())
}

/// Two bytes that differ from process to process and from call to call.
fn random_u16() -> u16 {
    use std::hash::{BuildHasher, RandomState};
    (RandomState::new().hash_one(SystemTime::now()) >> 48) as u16
}
