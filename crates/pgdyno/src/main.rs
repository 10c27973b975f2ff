//! pgdyno: a dynamometer for PostgreSQL.

mod args;
mod context;
mod interrupt;
mod output;
mod problem;
mod progress;
mod servers;
mod stages;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = args::Cli::parse();
    let context = context::Context { runs: cli.runs };
    cli.command.run(&context).unwrap_or_else(|problem| problem::print(&problem))
}
