//! `pgdyno show`.

use std::process::ExitCode;

use pgdyno_core::problem::Problem;
use pgdyno_report::{Details, report};

use crate::{conclude, context::Context, output, tails};

/// Flags of `pgdyno show`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run: `last`, its ID, the beginning or end of its ID, or its directory
    #[arg(default_value = "last")]
    pub run: String,
    /// Print the full report instead of the 50-line summary
    #[arg(long)]
    pub full: bool,
}

/// Runs `pgdyno show`.
///
/// # Errors
/// The problem to print.
pub fn run(args: &Args, context: &Context) -> Result<ExitCode, Problem> {
    let run = pgdyno_record::open(&pgdyno_record::find(&context.runs, &args.run)?)?;
    let tails = args.full.then(|| tails::for_a_report(&run)).flatten();
    let details = Details { tails: tails.as_ref(), ..Details::default() };
    let kept = conclude::kept(&run.path, &run.record);
    let document = report(Some(&kept), &run.record, &[], details);
    output::print(&conclude::for_a_terminal(&document, args.full))?;
    Ok(ExitCode::SUCCESS)
}
