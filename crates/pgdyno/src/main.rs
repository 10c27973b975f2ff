//! pgdyno: a dynamometer for PostgreSQL.

mod args;
mod context;
mod instrument;
mod interrupt;
mod output;
mod problem;
mod progress;
mod servers;
mod stages;

use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match args::Cli::read(std::env::args_os()) {
        Ok(cli) => cli,
        Err(problem) => return problem::print(&problem),
    };
    let context = context::Context { runs: cli.runs };
    cli.command.run(&context).unwrap_or_else(|problem| problem::print(&problem))
}
