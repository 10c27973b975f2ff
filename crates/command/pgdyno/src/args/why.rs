//! `pgdyno why`.

use std::process::ExitCode;

use pgdyno_core::{
    measure::runs_by_cell,
    observe::ObserveLevel,
    problem::Problem,
    results::{Tail, Tails},
    units::{plural, printable},
};
use pgdyno_record::{Run, RunRecord};

use crate::{conclude, context::Context, output, tails};

/// Flags of `pgdyno why`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Joins the slowest 1 % of the transactions of each cell with the samples that observers took of their \
    sessions, the locks that blocked them, checkpoints, autovacuum, and stalls of devices and CPUs. It needs no server \
    and does not change the record. Without CELL it shows the cell whose slowest transactions are the largest multiple \
    of its median."
)]
pub struct Args {
    /// The run: `last`, its ID, the beginning or end of its ID, or its directory
    #[arg(default_value = "last")]
    run: String,
    /// The cell, as reports name it, such as `tpcb-like/16`, or a part of its name
    cell: Option<String>,
    /// Print everything about every cell instead of the 50-line summary
    #[arg(long)]
    full: bool,
    /// Print JSON
    #[arg(long, conflicts_with = "full")]
    json: bool,
    /// Print Markdown, for issues and wikis
    #[arg(long, conflicts_with_all = ["full", "json"])]
    markdown: bool,
}

/// Runs `pgdyno why`.
///
/// # Errors
/// The problem to print.
pub fn run(args: &Args, context: &Context) -> Result<ExitCode, Problem> {
    let run = pgdyno_record::open(&pgdyno_record::find(&context.runs, &args.run)?)?;
    let cell = args.cell.as_deref().map(|wanted| cell(&run.record, wanted)).transpose()?;
    observed(&run.record)?;
    let mut tails = tails::of(&run)?;
    if let Some(cell) = &cell {
        tails.tails.retain(|tail| tail.cell == *cell);
    }
    if tails.tails.is_empty() {
        return Err(nothing_recorded(&run));
    }
    if args.json {
        output::print(&output::json(&tails))?;
        return Ok(ExitCode::SUCCESS);
    }
    let kept = conclude::kept(&run.path, &run.record);
    let document = pgdyno_report::why(&kept, &run.record, &tails, &in_detail(&tails));
    output::print(&match args.markdown {
        true => pgdyno_document::markdown(&document),
        false => conclude::for_a_terminal(&document, args.full),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The name of a cell, found by it or by a part of it.
fn cell(record: &RunRecord, wanted: &str) -> Result<String, Problem> {
    let cells: Vec<String> = runs_by_cell(&record.runs).iter().map(|(workload, _)| workload.cell()).collect();
    let matching: Vec<&String> = match cells.iter().find(|cell| *cell == wanted) {
        Some(exact) => vec![exact],
        None => cells.iter().filter(|cell| !wanted.is_empty() && cell.contains(wanted)).collect(),
    };
    let found = match matching[..] {
        [one] => return Ok(one.clone()),
        [] => format!("the run has no cell `{}`", printable(wanted)),
        _ => format!("`{}` is in the names of {}", printable(wanted), plural(matching.len() as u64, "cell")),
    };
    let named = if matching.is_empty() { cells.iter().collect() } else { matching };
    let names: Vec<_> = named.iter().take(MOST_NAMED).map(|cell| printable(cell)).collect();
    let more = named.len().saturating_sub(MOST_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let problem = Problem::wrong_request(found).hint("give the whole name of one, or leave it out");
    Err(if names.is_empty() { problem } else { problem.detail(format!("{}{more}", names.join(", "))) })
}

/// Most cells that an error names.
const MOST_NAMED: usize = 12;

/// Refuses a run during which no session was observed, and one that drove nothing.
fn observed(record: &RunRecord) -> Result<(), Problem> {
    if record.runs.is_empty() {
        let what = format!("the run {} drove no transactions", printable(&record.id));
        return Err(Problem::wrong_request(what).hint("`pgdyno list` shows what each run did"));
    }
    let level = record.observers.as_ref().map(|of| of.level);
    let why = match level {
        Some(ObserveLevel::All) => return Ok(()),
        Some(ObserveLevel::Host) => "`--observe host` watches the machine, and has no session at the server",
        Some(ObserveLevel::None) | None => "it was recorded without observers: `--observe none`",
    };
    let what = "could not say what the slowest transactions waited for: no session was observed in this run";
    let again = printable(&record.command).replace(" --observe none", "").replace(" --observe host", "");
    let hint = match again.is_empty() {
        true => "measure it again without --observe".to_owned(),
        false => format!("measure it again with all observers: `{again}`"),
    };
    Err(Problem::could_not(what).detail(why).hint(hint))
}

fn nothing_recorded(run: &Run) -> Problem {
    Problem::could_not("no slow transaction is recorded one by one for this run")
        .detail(format!(
            "{} has none of its measured transactions",
            run.path.join("slowest.ndjson").display()
        ))
        .hint("it may have been stopped in its warm-up; measure it again")
}

/// The cell that needs an explanation most.
fn in_detail(tails: &Tails) -> Vec<String> {
    let times = |tail: &Tail| tail.over_ns as f64 / tail.p50_ns.map_or(f64::MAX, |p50| p50.max(1) as f64);
    let worst = tails.tails.iter().max_by(|a, b| times(a).total_cmp(&times(b)));
    worst.map(|tail| tail.cell.clone()).into_iter().collect()
}
