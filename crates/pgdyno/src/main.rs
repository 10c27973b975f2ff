//! pgdyno: a dynamometer for PostgreSQL.

mod args;
mod context;
mod instrument;
mod interrupt;
mod output;
mod pgbench;
mod problem;
mod progress;
mod servers;
mod stages;

use std::{ffi::OsString, process::ExitCode};

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    // Words of pgbench's are not for our own parser, which would take some of them for its own.
    match &words[..] {
        [called, rest @ ..] if pgbench::is_name(called) => {
            let argv0 = called.to_string_lossy();
            return pgbench::main(pgbench::NAME, &argv0, rest.to_vec(), None);
        }
        [_, command, rest @ ..] if command == pgbench::NAME => {
            return pgbench::main("pgdyno pgbench", pgbench::NAME, rest.to_vec(), None);
        }
        _ => {}
    }
    let cli = match args::Cli::read(std::env::args_os()) {
        Ok(cli) => cli,
        Err(problem) => return problem::print(&problem),
    };
    let context = context::Context { runs: cli.runs };
    cli.command.run(&context).unwrap_or_else(|problem| problem::print(&problem))
}
