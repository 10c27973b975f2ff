//! `pgdyno history`.

use std::{path::PathBuf, process::ExitCode};

use clap::ValueEnum;
use pgdyno_analysis::{HistoryAsked, analyse, history};
use pgdyno_core::{problem::Problem, units};
use pgdyno_record::{Listed, RunRecord};

use super::report::{Format, check_writable, write};
use crate::{conclude, context::Context, output};

/// Flags of `pgdyno history`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Reads all recorded runs of a plan that ended on the same hardware with the same terms (scale, \
    clients, lengths). Runs that began less than 20 minutes apart are one session. Reports since when the results \
    differ, what else changed then, and the range expected of the next session."
)]
pub struct Args {
    /// Name of the plan, such as bench [default: that of the last run]
    #[arg(value_name = "PLAN")]
    plan: Option<String>,
    /// Axis: time (one build of the server), or build
    #[arg(long, value_enum, default_value_t = Axis::Time)]
    by: Axis,
    /// Format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Print the full history instead of the 50-line summary
    #[arg(long, conflicts_with = "out")]
    full: bool,
    /// Write to this file, which must not exist (`-` is stdout)
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// The axis of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Axis {
    /// Over time
    Time,
    /// Build by build
    Build,
}

/// Runs `pgdyno history`.
///
/// # Errors
/// The problem to print.
pub fn run(args: &Args, context: &Context) -> Result<ExitCode, Problem> {
    let out = args.out.as_deref().filter(|path| path.as_os_str() != "-");
    out.map_or(Ok(()), check_writable)?;
    let mut records = records(pgdyno_record::list(&context.runs)?);
    records.sort_by(|a, b| a.started_at.cmp(&b.started_at));
    let asked = HistoryAsked { plan: args.plan.as_deref(), by_build: args.by == Axis::Build };
    let found = history(&records, &asked).ok_or_else(|| none(args, context, records.len()))?;
    let last = found.sessions.last().and_then(|session| session.runs.last());
    let last = last.and_then(|last| records.iter().find(|record| record.id == *last));
    let again = last.map(|record| units::printable(&record.command)).filter(|command| !command.is_empty());
    let document = pgdyno_report::history(&found, again.as_deref());
    let text = match args.format {
        Format::Text if args.out.is_none() => conclude::for_a_terminal(&document, args.full),
        Format::Text => pgdyno_document::text(&document, pgdyno_document::Paint::Plain),
        Format::Markdown => pgdyno_document::markdown(&document),
        Format::Html => pgdyno_document::html(&document),
        Format::Csv | Format::CsvBlocks => pgdyno_document::csv(&document),
        Format::Json => output::json(&found),
    };
    match out {
        None => output::print(&text)?,
        Some(path) => write(path, &text)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The records that can be read, judged by the rules of this version. A broken one is named.
fn records(listed: Vec<Listed>) -> Vec<RunRecord> {
    let read = |run: Listed| match run.record {
        Ok(record) => Some(*record),
        Err(why) => {
            eprintln!("warning: {} is left out: {}", units::printable(&run.id), units::printable(&why));
            None
        }
    };
    let mut records: Vec<_> = listed.into_iter().filter_map(read).collect();
    // Latencies are not part of a history.
    records.iter_mut().for_each(|record| analyse(record, &[]));
    records
}

fn none(args: &Args, context: &Context, runs: usize) -> Problem {
    let dir = context.runs.display();
    let what = match &args.plan {
        Some(plan) => format!("there is no complete run of `{}` in {dir}", units::printable(plan)),
        None => format!("there is no run in {dir} that can have a history"),
    };
    let seen = format!(
        "{} there; comparisons, several subjects, pgbench, loads and probes have none",
        units::plural(runs as u64, "run")
    );
    Problem::wrong_request(what)
        .detail(seen)
        .hint("record some with `pgdyno bench` or `pgdyno run`, at least 20 minutes apart")
}
