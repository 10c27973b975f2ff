//! `pgdyno pgbench`: pgbench's own command line, which this one passes on as it is.

use std::{ffi::OsString, process::ExitCode};

use pgdyno_core::problem::Problem;

use crate::context::{Context, PROGRAM};

/// Words of `pgdyno pgbench`.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub struct Args {
    /// pgbench's options and the database: `pgdyno pgbench --help` lists them
    #[arg(value_name = "OPTION", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// Runs `pgdyno pgbench`.
///
/// # Errors
/// None: what pgbench has to say it says in its own way.
pub fn run(args: &Args, context: &Context) -> Result<ExitCode, Problem> {
    let runs = Some(context.runs.as_path());
    Ok(pgdyno_pgbench::main("pgdyno pgbench", pgdyno_pgbench::NAME, args.words.clone(), runs, PROGRAM))
}
