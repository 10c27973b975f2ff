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
/// What the user should read.
pub fn run(args: &Args, context: &Context) -> Result<ExitCode, Problem> {
    let runs = pgdyno_record::list(&context.runs)?;
    if args.json {
        output::print(&printable_json(&format!("{:#}\n", pgdyno_report::listing_json(&runs))))?;
    } else if runs.is_empty() {
        eprintln!("There is no run in {} yet: measure one with `pgdyno bench`.", context.runs.display());
    } else {
        output::print(&pgdyno_report::listing(&runs, output::paint()))?;
    }
    Ok(ExitCode::SUCCESS)
}
