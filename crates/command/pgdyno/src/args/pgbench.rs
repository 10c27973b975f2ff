//! `pgdyno pgbench`, which passes its arguments on unchanged.

use std::{ffi::OsString, path::Path, process::ExitCode};

use pgdyno_core::problem::Problem;
use pgdyno_pgbench::Home;

use crate::{
    conclude::keep_report,
    context::{Context, PROGRAM},
};

/// Arguments of `pgdyno pgbench`.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub struct Args {
    /// pgbench's options and the database: `pgdyno pgbench --help` lists them
    #[arg(value_name = "OPTION", trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

/// Runs `pgdyno pgbench`.
///
/// # Errors
/// None: pgbench prints its errors in its own form.
pub fn run(args: &Args, context: &Context) -> Result<ExitCode, Problem> {
    let home = home(Some(context.runs.as_path()));
    Ok(pgdyno_pgbench::main("pgdyno pgbench", pgdyno_pgbench::NAME, args.args.clone(), home))
}

/// What pgbench takes from this program.
pub fn home(runs: Option<&Path>) -> Home<'_> {
    Home { runs, program: PROGRAM, write_report: keep_report }
}
