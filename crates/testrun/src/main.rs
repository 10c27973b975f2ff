//! `cargo tests`: see the library.

#![allow(clippy::print_stderr, clippy::print_stdout)]

use std::process::ExitCode;

use testrun::{Kind, Options, run};

fn main() -> ExitCode {
    let mut given = std::env::args().skip(1).peekable();
    let kind = if given.next_if_eq("--long").is_some() { Kind::Long } else { Kind::Usual };
    match run(&Options::new(kind, given)) {
        Ok(sum) if sum.succeeded() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
