//! `pgdyno analyse`.

use std::process::ExitCode;

use pgdyno_core::problem::Problem;
use pgdyno_record::{Run, RunRecord};
use pgdyno_report::{Details, report};

use crate::{conclude, context::Context, output};

/// Flags of `pgdyno analyse`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Computes cells, confidence intervals, verdicts, noise and doubts again from the recorded \
    measurements, with the rules of this version. It needs no server and does not change the record. Results that \
    differ from the recorded ones are listed first."
)]
pub struct Args {
    /// The run: `last`, its ID, the beginning or end of its ID, or its directory
    #[arg(default_value = "last")]
    run: String,
    /// Print the record with the new results, as JSON
    #[arg(long)]
    json: bool,
    /// Print the full report instead of the 50-line summary
    #[arg(long, conflicts_with = "json")]
    full: bool,
}

/// Runs `pgdyno analyse`.
///
/// # Errors
/// The problem to print.
pub fn run(args: &Args, context: &Context) -> Result<ExitCode, Problem> {
    let run = pgdyno_record::open(&pgdyno_record::find(&context.runs, &args.run)?)?;
    let record = analysed(&run)?;
    for change in pgdyno_analysis::changes(&run.record, &record) {
        eprintln!("changed: {change}");
    }
    if args.json {
        output::print(&output::json(&record))?;
    } else {
        let timeline = run.timeline().map(|lines| lines.items).unwrap_or_default();
        let kept = conclude::kept(&run.path, &record);
        output::print(&conclude::for_a_terminal(
            &report(Some(&kept), &record, &timeline, Details::default()),
            args.full,
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The record of a run with the results of this version.
fn analysed(run: &Run) -> Result<RunRecord, Problem> {
    let mut record = run.record.clone();
    let latencies = pgdyno_analysis::latencies_of_cells(&record, run.run_latencies()?);
    pgdyno_analysis::analyse(&mut record, &latencies);
    // Whether a record was edited is found by reading it, not by the analysis.
    record.doubts.extend(run.record.doubts.iter().filter(|doubt| doubt.is_of_reader()).cloned());
    Ok(record)
}
