//! `pgdyno list`.

use std::process::ExitCode;

use pgdyno_core::{problem::Problem, units::printable_json};

use crate::{context::Context, output};

/// Flags of `pgdyno list`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print a JSON list instead of a table
    #[arg(long)]
    pub json: bool,
}

/// Runs `pgdyno list`.
///
/// # Errors
/// The problem to print.
pub fn run(args: &Args, context: &Context) -> Result<ExitCode, Problem> {
    let runs = pgdyno_record::list(&context.runs)?;
    if args.json {
        output::print(&printable_json(&format!("{:#}\n", pgdyno_report::listing_json(&runs))))?;
    } else if runs.is_empty() {
        eprintln!("There are no runs in {} yet; `pgdyno bench` records one.", context.runs.display());
    } else {
        output::print(&pgdyno_report::listing(&runs, output::paint()))?;
    }
    Ok(ExitCode::SUCCESS)
}
