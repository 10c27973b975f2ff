//! `pgdyno pgbench`, which passes its arguments on unchanged.

use std::{ffi::OsString, process::ExitCode};

use pgdyno_core::problem::Problem;

use crate::context::{Context, PROGRAM};

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
    let runs = Some(context.runs.as_path());
    Ok(pgdyno_pgbench::main("pgdyno pgbench", pgdyno_pgbench::NAME, args.args.clone(), runs, PROGRAM))
}
