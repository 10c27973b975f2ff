//! The end of a run: writes and prints the report.

use std::{
    borrow::Cow,
    fs::{self, OpenOptions},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use pgdyno_core::{problem::Problem, units};
use pgdyno_document::{Document, Paint, SHORT_LINES, flame::Flame};
use pgdyno_lab::{Job, Outcome};
use pgdyno_record::{Run, RunRecord, Status};
use pgdyno_report::{Details, Kept, OverTime};

use crate::{context::USUAL_RUNS, exit::of_run::exit_code, output, problem, tails};

/// File of the report in the directory of a run.
const PAGE: &str = "report.html";

/// Requested output of a run.
#[derive(Debug, Clone, Default)]
pub struct Output {
    /// Print `run.json` instead of the report.
    pub json: bool,
    /// Print the whole report, not only what says most.
    pub full: bool,
    /// File to write the report to as well; its extension selects the format.
    pub out: Option<PathBuf>,
}

/// Checks before the measurement that the requested report file can be written.
///
/// # Errors
/// The file exists, its extension is no report format, or its directory cannot be written.
pub fn check_output(output: &Output) -> Result<(), Problem> {
    let Some(path) = &output.out else { return Ok(()) };
    let what = |why: &str| {
        Problem::wrong_request(format!("could not write {}: {why}", path.display()))
            .hint("choose another file with --out")
    };
    Format::from_path(path).ok_or_else(|| {
        what("its extension is no report format").hint("use one of .html, .md, .txt, .csv, .json")
    })?;
    if fs::symlink_metadata(path).is_ok() {
        return Err(what("it already exists").hint("choose another file with --out. Nothing was changed."));
    }
    let probe = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .map_err(|error| what(&error.to_string()))?;
    drop(probe);
    fs::remove_file(path).map_err(|error| what(&error.to_string()))
}

/// Prints the report and returns the exit status: 0 done, 1 a check failed, 3 not completed.
pub fn conclude(job: &Job, output: &Output, outcome: Outcome) -> ExitCode {
    let Outcome { result, recorded } = outcome;
    let Some(recorded) = recorded else {
        return result.err().map_or(ExitCode::SUCCESS, |problem| problem::print(&problem));
    };
    let label = if result.is_ok() && recorded.unwritten.is_none() { "record" } else { "partial record" };
    let reported = report(output, &recorded.record, &recorded.path);
    let unwritten: Vec<_> = recorded.unwritten.into_iter().chain(reported).collect();
    if result.is_err() || !unwritten.is_empty() {
        match recorded.path.is_dir() {
            true => eprintln!("{label}: {}", recorded.path.display()),
            false => eprintln!("no record: nothing could be written to {}", recorded.path.display()),
        }
    }
    exit_code(job, &recorded.record, result, unwritten)
}

/// Writes the report files and prints the report; returns what could not be written. Nothing is printed for a run that
/// measured nothing.
fn report(output: &Output, record: &RunRecord, path: &Path) -> Vec<Problem> {
    let finished = Finished::of(record, path);
    let Finished { document, record, .. } = &finished;
    let html_written = finished.write_html();
    let out = output.out.as_deref().and_then(|out| Some((out, Format::from_path(out)?)));
    let out_written = out.map_or(Ok(()), |(out, format)| write(out, &format.render(document, record)));
    let printed = if output.json {
        finished.print_json()
    } else if record.measured_anything() {
        output::print(&match record.status {
            Status::Complete => for_a_terminal(document, output.full),
            Status::Partial | Status::Stopped => stopped(record, document, output.full),
        })
    } else {
        Ok(())
    };
    [html_written, out_written, printed].into_iter().filter_map(Result::err).collect()
}

/// Writes the report of a run into its directory, and says nothing.
///
/// # Errors
/// The report cannot be written.
pub fn keep_report(record: &RunRecord, path: &Path) -> Result<(), Problem> {
    Finished::of(record, path).keep_html()
}

/// A run that has ended, with its report: the directory is read, and the report built, once for all its forms.
#[derive(Debug)]
pub struct Finished {
    document: Document,
    /// The record with its seal and without secrets.
    record: RunRecord,
    /// The run directory.
    path: PathBuf,
}

impl Finished {
    /// The run with its report, which has all charts. The record is that of the directory, with its seal, or the given
    /// one if the directory has an older one.
    pub fn of(record: &RunRecord, path: &Path) -> Self {
        let run = pgdyno_record::open(path).ok();
        let timeline = run.as_ref().and_then(|run| run.timeline().ok()).map(|lines| lines.items);
        let written = run.as_ref().map(|run| &run.record);
        let written = written.filter(|written| written.finished_at == record.finished_at).cloned();
        let record = written.unwrap_or_else(|| pgdyno_record::without_secrets(record));
        let over_time = run.as_ref().map(over_time);
        let tails = run.as_ref().and_then(tails::for_a_report);
        let flames = run.as_ref().map(flames).unwrap_or_default();
        let details = Details { over_time: over_time.as_ref(), tails: tails.as_ref(), flames: &flames };
        let (kept, timeline) = (kept(path, &record), timeline.unwrap_or_default());
        let document = pgdyno_report::report(Some(&kept), &record, &timeline, details);
        Self { document, record, path: path.to_owned() }
    }

    /// Writes the report into the run directory, and says on stderr where it is.
    ///
    /// # Errors
    /// The report cannot be written.
    pub fn write_html(&self) -> Result<(), Problem> {
        self.keep_html()?;
        eprintln!("report: {}", self.path.join(PAGE).display());
        Ok(())
    }

    fn keep_html(&self) -> Result<(), Problem> {
        write(&self.path.join(PAGE), &pgdyno_document::html(&self.document))
    }

    /// Prints the whole report.
    ///
    /// # Errors
    /// Stdout cannot be written.
    pub fn print_whole(&self) -> Result<(), Problem> {
        output::print(&for_a_terminal(&self.document, true))
    }

    /// Prints `run.json`.
    ///
    /// # Errors
    /// Stdout cannot be written.
    pub fn print_json(&self) -> Result<(), Problem> {
        output::print(&Format::Json.render(&self.document, &self.record))
    }

    /// The next commands, as they are at the end of the short report.
    pub fn next(&self) -> String {
        pgdyno_document::next(&self.document, output::paint())
    }
}

/// Observations and events of a run, for charts over time. Those that cannot be read are missing there.
pub fn over_time(run: &Run) -> OverTime {
    let mut all = OverTime::new(&run.record);
    let observed = run.each_observation(|line| all.add(&line));
    let events = run.events();
    for problem in observed.err().iter().chain(events.as_ref().err()) {
        eprintln!("warning: some charts over time are not complete: {}", problem.what);
    }
    events.iter().flat_map(|lines| &lines.items).for_each(|line| all.add_event(line));
    all
}

/// The flame graphs of a run.
pub fn flames(run: &Run) -> Vec<Arc<Flame>> {
    let all = run.record.profiles.len();
    let flame = |at: usize| run.stacks_of(at).map(|text| Arc::new(Flame::parse(at, &text, all)));
    (0..all).filter_map(flame).collect()
}

/// The report as a command prints it.
pub fn for_a_terminal(document: &Document, full: bool) -> String {
    match full {
        true => pgdyno_document::text(document, output::paint()),
        false => pgdyno_document::short(document, output::paint(), SHORT_LINES),
    }
}

/// Where a run is kept. Commands find it by its ID in the usual directory of the runs, and by its path elsewhere.
pub fn kept(path: &Path, record: &RunRecord) -> Kept {
    let usual = std::env::var_os("PGDYNO_RUNS").map_or_else(|| PathBuf::from(USUAL_RUNS), PathBuf::from);
    let plain = |path: &Path| path.strip_prefix(".").unwrap_or(path).to_owned();
    let is_usual = path.parent().is_some_and(|parent| plain(parent) == plain(&usual));
    let directory = path.display().to_string();
    let quoted = || shlex::try_quote(&directory).map_or_else(|_| directory.clone(), Cow::into_owned);
    let called = if is_usual { record.id.clone() } else { quoted() };
    Kept { called, directory }
}

/// Report of an incomplete run.
fn stopped(record: &RunRecord, document: &Document, full: bool) -> String {
    let runs = units::plural(record.measured_runs().len() as u64, "run");
    let why = record.error.as_deref().unwrap_or("it did not complete");
    let why = why.strip_prefix("stopped ").map_or_else(|| format!(": {why}"), |why| format!(", {why}"));
    let report = match full {
        true => for_a_terminal(document, full),
        false => pgdyno_document::short(document, output::paint(), SHORT_LINES - 2),
    };
    format!("stopped after {runs}{why}\n\n{report}")
}

fn write(path: &Path, text: &str) -> Result<(), Problem> {
    pgdyno_record::write_atomically(path, text.as_bytes()).map_err(|error| {
        Problem::could_not(format!("could not write {}: {error}", path.display()))
            .hint("`pgdyno report` writes it from the record")
    })
}

/// Report format, selected by the extension of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Html,
    Markdown,
    Text,
    Csv,
    Json,
}

impl Format {
    fn from_path(path: &Path) -> Option<Self> {
        Some(match path.extension()?.to_str()? {
            "html" | "htm" => Self::Html,
            "md" => Self::Markdown,
            "txt" => Self::Text,
            "csv" => Self::Csv,
            "json" => Self::Json,
            _ => return None,
        })
    }

    fn render(self, document: &Document, record: &RunRecord) -> String {
        match self {
            Self::Html => pgdyno_document::html(document),
            Self::Markdown => pgdyno_document::markdown(document),
            Self::Text => pgdyno_document::text(document, Paint::Plain),
            Self::Csv => pgdyno_document::csv(document),
            Self::Json => output::json(record),
        }
    }
}
