//! pgdyno: a dynamometer for PostgreSQL.

/// As that of the standard library, but that a stderr which takes nothing any more (its terminal was closed, its reader
/// has ended) is no reason to panic: the work goes on, and its result is in the record.
macro_rules! eprintln {
    ($($words:tt)*) => { $crate::output::tell(format_args!("{}\n", format_args!($($words)*))) };
}

/// The same without the end of the line.
macro_rules! eprint {
    ($($words:tt)*) => { $crate::output::tell(format_args!($($words)*)) };
}

/// As that of the standard library, but that a stdout which cannot be written ends the program as [`output::print`]
/// says, instead of by a panic.
macro_rules! println {
    ($($words:tt)*) => { $crate::output::result(format_args!("{}\n", format_args!($($words)*))) };
}

/// The same without the end of the line.
macro_rules! print {
    ($($words:tt)*) => { $crate::output::result(format_args!($($words)*)) };
}

mod args;
mod conclude;
mod context;
mod exit;
mod interrupt;
mod measure;
mod output;
mod problem;
mod progress;
mod servers;

use std::{ffi::OsString, process::ExitCode};

use context::PROGRAM;
use pgdyno_pgbench as pgbench;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    // Words of pgbench's are not for our own parser, which would take some of them for its own.
    match &words[..] {
        [called, rest @ ..] if pgbench::is_name(called) => {
            let argv0 = called.to_string_lossy();
            return pgbench::main(pgbench::NAME, &argv0, rest.to_vec(), None, PROGRAM);
        }
        [_, command, rest @ ..] if command == pgbench::NAME => {
            return pgbench::main("pgdyno pgbench", pgbench::NAME, rest.to_vec(), None, PROGRAM);
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
