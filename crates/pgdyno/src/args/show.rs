//! `pgdyno show`.

use std::process::ExitCode;

use pgdyno_core::problem::Problem;
use pgdyno_report::Document;

use crate::{context::Context, output};

/// Flags of `pgdyno show`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run: `last`, its ID, the beginning or end of its ID, or its directory
    #[arg(default_value = "last")]
    pub run: String,
}

/// Runs `pgdyno show`.
///
/// # Errors
/// The problem to print.
pub fn run(args: &Args, context: &Context) -> Result<ExitCode, Problem> {
    let run = pgdyno_record::open(&pgdyno_record::find(&context.runs, &args.run)?)?;
    let document = Document::new(&run.record, &[]);
    output::print(&pgdyno_report::text(&document, output::paint()))?;
    Ok(ExitCode::SUCCESS)
}
