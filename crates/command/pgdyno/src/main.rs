//! pgdyno: a dynamometer for PostgreSQL.

/// Like the standard macro, but a closed stderr (terminal closed, reader ended) causes no panic: the work continues,
/// and its result is in the record.
macro_rules! eprintln {
    ($($text:tt)*) => { $crate::output::message(format_args!("{}\n", format_args!($($text)*))) };
}

/// Like `eprintln!`, without the newline.
macro_rules! eprint {
    ($($text:tt)*) => { $crate::output::message(format_args!($($text)*)) };
}

/// Like the standard macro, but if stdout cannot be written, the program exits with an error instead of a panic.
macro_rules! println {
    ($($text:tt)*) => { $crate::output::result(format_args!("{}\n", format_args!($($text)*))) };
}

/// Like `println!`, without the newline.
macro_rules! print {
    ($($text:tt)*) => { $crate::output::result(format_args!($($text)*)) };
}

mod advice;
mod args;
mod conclude;
mod context;
mod detach;
mod detached;
mod exit;
mod follow;
mod interrupt;
mod measure;
mod operate;
mod output;
mod problem;
mod progress;
mod servers;
mod tails;

use std::{
    ffi::OsString,
    io::{self, BufReader},
    process::ExitCode,
};

use crate::detached::inside;
use exit::Exit;
use pgdyno_core::problem::Problem;
use pgdyno_pgbench as pgbench;
use pgdyno_postgres::driving::driver;

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    match &args[..] {
        // pgbench's arguments must not reach clap, which would take some of them as its own flags.
        [called, rest @ ..] if pgbench::is_name(called) => {
            let argv0 = called.to_string_lossy();
            pgbench::main(pgbench::NAME, &argv0, rest.to_vec(), args::pgbench::home(None))
        }
        [_, command, rest @ ..] if command == pgbench::NAME => {
            pgbench::main("pgdyno pgbench", pgbench::NAME, rest.to_vec(), args::pgbench::home(None))
        }
        [_, command, name] if command == inside::COMMAND => detached(&name.to_string_lossy()),
        [_, command] if command == driver::COMMAND => drive(),
        _ => execute(args).unwrap_or_else(|problem| problem::print(&problem)),
    }
}

/// Makes this process a driver process of a run, which orders it through its standard input. A problem is reported to
/// that run, not printed.
fn drive() -> ExitCode {
    let done = driver::drive(BufReader::new(io::stdin()), io::stdout());
    done.map_or(Exit::NotCompleted.into(), |()| ExitCode::SUCCESS)
}

/// Executes the command line of a detached run in this process.
fn detached(name: &str) -> ExitCode {
    let code = inside::enter(name).and_then(execute).unwrap_or_else(|problem| problem::print(&problem));
    inside::ended(Exit::of(code) as u8);
    code
}

fn execute(args: Vec<OsString>) -> Result<ExitCode, Problem> {
    let cli = args::Cli::read(args.iter().cloned())?;
    let context = context::Context { runs: cli.runs };
    match cli.command.detachment(&context)? {
        Some(detachment) => detach::launch(&detachment, args),
        None => cli.command.run(&context),
    }
}
