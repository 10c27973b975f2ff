//! The end of a run: the report is written and printed, and its exit status found.

use std::{
    fs::{self, OpenOptions},
    path::{Path, PathBuf},
    process::ExitCode,
};

use pgdyno_analysis::compare::Verdict;
use pgdyno_core::{problem::Problem, units};
use pgdyno_lab::{Job, Outcome};
use pgdyno_record::{BalanceRecord, ConsistencyRecord, RunRecord, Status};
use pgdyno_report::{Document, Paint};

use crate::{exit::Exit, output, problem};

/// What becomes of the result.
#[derive(Debug, Clone, Default)]
pub struct Output {
    /// Print `run.json` instead of the report.
    pub json: bool,
    /// Write the report to this file too; its ending says in which form.
    pub out: Option<PathBuf>,
}

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

/// Prints the report, and says how it went: 0 done, 1 a check failed, 3 not completed.
pub fn conclude(job: &Job, output: &Output, outcome: Outcome) -> ExitCode {
    let Outcome { result, recorded } = outcome;
    let Some(recorded) = recorded else {
        return result.err().map_or(ExitCode::SUCCESS, |problem| problem::print(&problem));
    };
    let whole = if result.is_ok() && recorded.unwritten.is_none() { "record" } else { "partial record" };
    let reported = report(output, &recorded.record, &recorded.path);
    let unwritten: Vec<_> = recorded.unwritten.into_iter().chain(reported).collect();
    if result.is_err() || !unwritten.is_empty() {
        match recorded.path.is_dir() {
            true => eprintln!("{whole}: {}", recorded.path.display()),
            false => eprintln!("no record: nothing could be written to {}", recorded.path.display()),
        }
    }
    told(job, &recorded.record, result, unwritten)
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
            Exit::Failed.into()
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
    Exit::Failed.into()
}

fn inconsistent(broken: &ConsistencyRecord) -> ExitCode {
    let conditions = units::plural(broken.violations, "condition");
    let problem = Problem::could_not(format!("TPC-C's tables are not consistent: {conditions} not met"))
        .hint("the server lost or invented data, or somebody else wrote to these tables: `pgdyno tpcc check` tells");
    let _ = problem::print(&match broken.examples.first() {
        Some(example) => problem.detail(example.clone()),
        None => problem,
    });
    Exit::Failed.into()
}

/// Writes the reports and prints one, whatever cannot be written; gives what could not. A run that measured nothing has
/// none to print. What is reported is in memory: the file may not be up to it.
fn report(output: &Output, record: &RunRecord, path: &Path) -> Vec<Problem> {
    let run = pgdyno_record::open(path).ok();
    let timeline = run.as_ref().and_then(|run| run.timeline().ok()).map(|lines| lines.items);
    let timeline = timeline.unwrap_or_default();
    // As it was written it has its seal, and no secret.
    let written = run.map(|run| run.record).filter(|written| written.finished_at == record.finished_at);
    let record = &written.unwrap_or_else(|| pgdyno_record::without_secrets(record));
    let document = Document::new(record, &timeline);
    let html = path.join("report.html");
    let made = write(&html, &pgdyno_report::html(&document));
    let wanted = output.out.as_deref().and_then(|out| Some((out, Form::of(out)?)));
    let out = wanted.map_or(Ok(()), |(out, form)| write(out, &form.render(&document, record)));
    let printed = if output.json {
        output::print(&Form::Json.render(&document, record))
    } else if record.measured_anything() {
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
