//! `pgdyno report`.

use std::{
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::ValueEnum;
use pgdyno_core::{measure::Interval, problem::Problem, units::printable_json};
use pgdyno_document::{HTML_MARK, Paint};
use pgdyno_record::Run;
use pgdyno_report::{Details, report};

use crate::{conclude, context::Context, output, tails};

/// Flags of `pgdyno report`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run: `last`, its ID, the beginning or end of its ID, or its directory
    #[arg(default_value = "last")]
    pub run: String,
    /// Format of the report; `html` is written to report.html in the run directory, the others to stdout
    #[arg(long, value_enum, default_value_t = Format::Html)]
    pub format: Format,
    /// Print a summary of at most 25 lines, for mail or chat
    #[arg(long, conflicts_with = "format")]
    pub paste: bool,
    /// Write to this file, which must not exist (`-` is stdout)
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Formats of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// As `pgdyno show --full` prints it
    Text,
    /// For issues and wikis
    Markdown,
    /// One self-contained file with charts
    Html,
    /// The record, run.json
    Json,
    /// One line per cell, in nanoseconds and bytes
    Csv,
    /// One line per run of a cell, or per block of a comparison
    CsvBlocks,
}

/// Runs `pgdyno report`.
///
/// # Errors
/// The problem to print.
pub fn run(args: &Args, context: &Context) -> Result<ExitCode, Problem> {
    let run = pgdyno_record::open(&pgdyno_record::find(&context.runs, &args.run)?)?;
    let out = target(args, &run);
    // Before rendering, which takes longer.
    out.as_deref().map_or(Ok(()), check_writable)?;
    let text = render(args, &run)?;
    match out {
        None => output::print(&text)?,
        Some(path) => {
            write(&path, &text)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes a report to a file and prints its name.
pub(super) fn write(path: &Path, text: &str) -> Result<(), Problem> {
    pgdyno_record::write_atomically(path, text.as_bytes()).map_err(|e| {
        Problem::could_not(format!("could not write {}: {e}", path.display()))
            .hint("choose another file with --out, or print it: --out -")
    })?;
    output::print(&format!("{}\n", path.display()))
}

/// The file to write; `None` is stdout.
fn target(args: &Args, run: &Run) -> Option<PathBuf> {
    match &args.out {
        Some(path) if path.as_os_str() == "-" => None,
        Some(path) => Some(path.clone()),
        None => (args.format == Format::Html && !args.paste).then(|| run.path.join("report.html")),
    }
}

/// Refuses symbolic links, and existing files except HTML reports of pgdyno.
pub(super) fn check_writable(path: &Path) -> Result<(), Problem> {
    let refused = |why: &str| {
        let what = format!("could not write {}: {why}", path.display());
        Err(Problem::wrong_request(what)
            .hint("choose another file with --out, or remove that one. Nothing was changed."))
    };
    match fs::symlink_metadata(path) {
        Err(_) => Ok(()),
        Ok(meta) if meta.is_symlink() => refused("it is a symbolic link, and pgdyno follows none"),
        Ok(meta) if !meta.is_file() => refused("it is not a file"),
        Ok(_) if is_own_report(path) => Ok(()),
        Ok(_) => refused("it exists and is not an HTML report of pgdyno"),
    }
}

fn is_own_report(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(1024).read_to_end(&mut head));
    read.is_ok() && String::from_utf8_lossy(&head).contains(HTML_MARK)
}

fn render(args: &Args, run: &Run) -> Result<String, Problem> {
    let has_charts = args.format == Format::Html && !args.paste;
    let timeline = if has_charts { timeline(run) } else { Vec::new() };
    let over_time = has_charts.then(|| conclude::over_time(run));
    let is_whole = matches!(args.format, Format::Text | Format::Markdown | Format::Html) && !args.paste;
    let tails = is_whole.then(|| tails::for_a_report(run)).flatten();
    let flames = if has_charts { conclude::flames(run) } else { Vec::new() };
    let details = Details { over_time: over_time.as_ref(), tails: tails.as_ref(), flames: &flames };
    let document = report(None, &run.record, &timeline, details);
    Ok(match args.format {
        _ if args.paste => pgdyno_document::paste(&document),
        Format::Text if args.out.is_none() => pgdyno_document::text(&document, output::paint()),
        Format::Text => pgdyno_document::text(&document, Paint::Plain),
        Format::Markdown => pgdyno_document::markdown(&document),
        Format::Html => pgdyno_document::html(&document),
        Format::Json => printable_json(&format!("{:#}\n", run.json)).into_owned(),
        Format::Csv => pgdyno_document::csv(&document),
        Format::CsvBlocks => pgdyno_document::csv_blocks(&document),
    })
}

/// Intervals of the run. If they cannot be read, the report has no charts over time.
fn timeline(run: &Run) -> Vec<Interval> {
    match run.timeline() {
        Ok(lines) => lines.items,
        Err(problem) => {
            eprintln!("warning: no charts over time: {}", problem.what);
            Vec::new()
        }
    }
}
