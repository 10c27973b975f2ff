//! The end of a run: judged, saved, printed.

use std::{
    fs::{self, OpenOptions},
    path::Path,
    process::ExitCode,
};

use jiff::Timestamp;
use pgdyno_analysis::compare::Verdict;
use pgdyno_core::{measure::Workload, problem::Problem, units};
use pgdyno_record::{BalanceRecord, ConsistencyRecord, RunRecord, Status};
use pgdyno_report::{Document, Paint};

use super::{Job, Output, cell::cell_words, recording::Recording};
use crate::{output, problem};

/// Checks, before anything is measured, that the report can be written where it is wanted.
///
/// # Errors
/// A file that exists, an ending that names no form, a directory that cannot be written.
pub fn check_output(wanted: &Output) -> Result<(), Problem> {
    let Some(path) = &wanted.out else { return Ok(()) };
    let what = |why: &str| {
        Problem::wrong_request(format!("could not write {}: {why}", path.display()))
            .hint("choose another file with --out")
    };
    Form::of(path).ok_or_else(|| {
        what("its ending names no form of report").hint("one of .html, .md, .txt, .csv, .json")
    })?;
    if fs::symlink_metadata(path).is_ok() {
        return Err(what("it exists already").hint("choose another file with --out. Nothing was changed."));
    }
    let probe = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .map_err(|error| what(&error.to_string()))?;
    drop(probe);
    fs::remove_file(path).map_err(|error| what(&error.to_string()))
}

/// Ends the recording, prints the report, and says how it went: 0 done, 1 a check failed, 3 not completed.
///
/// # Errors
/// What could not be written.
pub fn conclude(
    job: &Job,
    mut recording: Recording,
    result: Result<(), Problem>,
) -> Result<ExitCode, Problem> {
    if let Err(problem) = &result
        && recorded_nothing(&recording.record)
        && !(points_to_log(problem) && recording.dir.keeps_log())
    {
        recording.dir.discard()?;
        return Ok(problem::print(problem));
    }
    let record = &mut recording.record;
    let result = result.and_then(|()| all_measured(record));
    record.status = if result.is_ok() { Status::Complete } else { Status::Stopped };
    record.error = result.as_ref().err().map(|problem| problem.what.clone());
    record.finished_at = Some(Timestamp::now().to_string());
    let path = recording.dir.path().to_path_buf();
    let shown = recording.show();
    let record = recording.record.clone();
    let kept = shown.and(recording.dir.finish(&record).map(drop));
    let whole = if result.is_ok() && kept.is_ok() { "record" } else { "partial record" };
    let unwritten: Vec<_> = kept.err().into_iter().chain(report(job, &record, &path)).collect();
    if result.is_err() || !unwritten.is_empty() {
        match path.is_dir() {
            true => eprintln!("{whole}: {}", path.display()),
            false => eprintln!("no record: nothing could be written to {}", path.display()),
        }
    }
    Ok(told(job, &record, result, unwritten))
}

/// A load that took so many seconds is worth keeping, whatever became of the run.
const LONG_LOAD_S: f64 = 60.0;

/// Whether a run that did not come to its end has nothing to keep: no result, and no long load that was done.
fn recorded_nothing(record: &RunRecord) -> bool {
    let mut loads = record.stages.iter().filter(|stage| ["load", "setup"].contains(&stage.name.as_str()));
    !measured_anything(record) && !loads.any(|stage| stage.duration_s >= LONG_LOAD_S)
}

/// Whether the server itself was in trouble: then its log in the record is worth keeping.
fn points_to_log(problem: &Problem) -> bool {
    // Out of resources, errors of the system, corruption; the end of the server.
    const SIGNS: [&str; 5] =
        ["(SQLSTATE 53", "(SQLSTATE 58", "(SQLSTATE XX", "server.log", "the server's log"];
    let texts = [Some(&problem.what), problem.detail.as_ref(), problem.hint.as_ref()];
    texts.into_iter().flatten().any(|text| SIGNS.iter().any(|sign| text.contains(sign)))
}

/// Says how it went and what could not be written. What kept the run from its end is the error, else the first that
/// could not be written: a run whose results did not reach the disk is not completed.
fn told(job: &Job, record: &RunRecord, result: Result<(), Problem>, unwritten: Vec<Problem>) -> ExitCode {
    let verdict = result.is_ok().then(|| verdict(job, record));
    let mut problems = result.err().into_iter().chain(unwritten);
    let first = problems.next();
    problems.for_each(|problem| eprintln!("warning: {}", problem.what));
    match first {
        Some(problem) => problem::print(&problem),
        None => verdict.unwrap_or(ExitCode::SUCCESS),
    }
}

/// Whether every cell measured something: of one that did not there is nothing to report.
fn all_measured(record: &RunRecord) -> Result<(), Problem> {
    let commits = |workload: &Workload| -> u64 {
        let of_cell = record.runs.iter().filter(|run| run.workload == *workload);
        of_cell.map(|run| run.counts.committed).sum()
    };
    let Some(empty) = record.runs.iter().find(|run| commits(&run.workload) == 0) else { return Ok(()) };
    let what = format!("no transaction was committed in {}", cell_words(&empty.workload));
    let problem = Problem::could_not(what);
    Err(match empty.errors.iter().max_by_key(|error| error.count) {
        Some(error) => problem
            .detail(format!("{}: {} ({})", units::plural(error.count, "error"), error.message, error.code))
            .hint("what else was measured is kept"),
        None => problem.hint(
            "a run must be longer than its transactions take (--duration); what else was measured is kept",
        ),
    })
}

/// Exit status of a run that came to its end; says on stderr what failed, since stdout may be read by a program.
fn verdict(job: &Job, record: &RunRecord) -> ExitCode {
    let mut balances = record.subjects.iter().filter_map(|subject| subject.balance.as_ref());
    if let Some(balance) = balances.find(|balance| balance.violations > 0) {
        return violated(balance);
    }
    let mut checked = record.subjects.iter().filter_map(|subject| subject.consistency.as_ref());
    if let Some(broken) = checked.find(|checked| checked.violations > 0) {
        return inconsistent(broken);
    }
    let slower = record.comparison.as_ref().and_then(|comparison| comparison.result.as_ref());
    let slower = slower.is_some_and(|result| result.verdict == Verdict::Slower);
    match job.comparison() {
        Some(compare) if compare.fail_if_slower && slower => {
            eprintln!("B is slower than A: exit status 1 (--fail-if-slower)");
            ExitCode::from(1)
        }
        _ => ExitCode::SUCCESS,
    }
}

fn violated(balance: &BalanceRecord) -> ExitCode {
    let s = if balance.violations == 1 { "" } else { "s" };
    let problem = Problem::could_not(format!("the balance check found {} violation{s}", balance.violations))
        .hint("the server lost or invented data, or somebody else wrote to these tables during the run");
    let _ = problem::print(&match balance.examples.first() {
        Some(example) => problem.detail(example.clone()),
        None => problem,
    });
    ExitCode::from(1)
}

fn inconsistent(broken: &ConsistencyRecord) -> ExitCode {
    let conditions = units::plural(broken.violations, "condition");
    let problem = Problem::could_not(format!("TPC-C's tables are not consistent: {conditions} not met"))
        .hint("the server lost or invented data, or somebody else wrote to these tables: `pgdyno tpcc check` tells");
    let _ = problem::print(&match broken.examples.first() {
        Some(example) => problem.detail(example.clone()),
        None => problem,
    });
    ExitCode::from(1)
}

/// Writes the reports and prints one, whatever cannot be written; gives what could not. A run that measured nothing has
/// none to print. What is reported is in memory: the file may not be up to it.
fn report(job: &Job, record: &RunRecord, path: &Path) -> Vec<Problem> {
    let run = pgdyno_record::open(path).ok();
    let timeline = run.as_ref().and_then(|run| run.timeline().ok()).map(|lines| lines.items);
    let timeline = timeline.unwrap_or_default();
    // As it was written it has its seal, and no secret.
    let written = run.map(|run| run.record).filter(|written| written.finished_at == record.finished_at);
    let record = &written.unwrap_or_else(|| pgdyno_record::without_secrets(record));
    let document = Document::new(record, &timeline);
    let html = path.join("report.html");
    let made = write(&html, &pgdyno_report::html(&document));
    let wanted = job.output.out.as_deref().and_then(|out| Some((out, Form::of(out)?)));
    let out = wanted.map_or(Ok(()), |(out, form)| write(out, &form.render(&document, record)));
    let printed = if job.output.json {
        output::print(&Form::Json.render(&document, record))
    } else if measured_anything(record) {
        output::print(&match record.status {
            Status::Complete => pgdyno_report::text(&document, output::paint()),
            Status::Partial | Status::Stopped => stopped(record, &document),
        })
    } else {
        Ok(())
    };
    if made.is_ok() {
        eprintln!("report: {}", html.display());
    }
    [made, out, printed].into_iter().filter_map(Result::err).collect()
}

/// The short report of a run that did not come to its end; the whole one is in its directory.
fn stopped(record: &RunRecord, document: &Document) -> String {
    let runs = units::plural(record.runs.len() as u64, "run");
    let why = record.error.as_deref().unwrap_or("it did not come to its end");
    let why = why.strip_prefix("stopped ").map_or_else(|| format!(": {why}"), |why| format!(", {why}"));
    format!("stopped after {runs}{why}\n\n{}", pgdyno_report::paste(document))
}

fn measured_anything(record: &RunRecord) -> bool {
    !record.runs.is_empty() || record.comparison.as_ref().is_some_and(|ab| !ab.blocks.is_empty())
}

fn write(path: &Path, text: &str) -> Result<(), Problem> {
    pgdyno_record::write_atomically(path, text.as_bytes()).map_err(|error| {
        Problem::could_not(format!("could not write {}: {error}", path.display()))
            .hint("`pgdyno report` writes it again, from the record")
    })
}

/// A form of report, by the ending of a file's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Html,
    Markdown,
    Text,
    Csv,
    Json,
}

impl Form {
    fn of(path: &Path) -> Option<Self> {
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
            Self::Html => pgdyno_report::html(document),
            Self::Markdown => pgdyno_report::markdown(document),
            Self::Text => pgdyno_report::text(document, Paint::Plain),
            Self::Csv => pgdyno_report::csv(document),
            Self::Json => {
                let json = serde_json::to_string_pretty(record).map(|json| json + "\n").unwrap_or_default();
                units::printable_json(&json).into_owned()
            }
        }
    }
}
