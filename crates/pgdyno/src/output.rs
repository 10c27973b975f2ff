//! Results on stdout, and what is told meanwhile on stderr.

use std::{
    fmt,
    io::{self, ErrorKind, IsTerminal, Write},
};

use pgdyno_core::problem::Problem;
use pgdyno_host::terminal::obeys_escapes;
use pgdyno_report::Paint;

use crate::exit::Exit;

/// Writes a result to stdout. A reader that went away (`| head`) has seen enough: that is no failure.
///
/// # Errors
/// Stdout cannot be written, for example because the disk of a redirection is full.
pub fn print(text: &str) -> Result<(), Problem> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(Problem::could_not(format!("could not write the result to standard output: {e}")))
        }
        _ => Ok(()),
    }
}

/// Writes a line of a result to stdout, or ends the program where it cannot be written.
pub fn result(words: fmt::Arguments<'_>) {
    if let Err(problem) = print(&words.to_string()) {
        let _ = crate::problem::print(&problem);
        Exit::NotCompleted.now();
    }
}

/// Tells something on stderr, where somebody may listen or not.
pub fn tell(words: fmt::Arguments<'_>) {
    let _ = io::stderr().lock().write_fmt(words);
}

/// Whether stdout takes colours: a terminal, unless `NO_COLOR` is set or `PG_COLOR` is `never`; always with
/// `PG_COLOR=always`.
pub fn paint() -> Paint {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let colour = match (set("NO_COLOR"), set("PG_COLOR").as_deref()) {
        (Some(_), _) | (None, Some("never")) => false,
        (None, Some("always")) => true,
        (None, _) => obeys_escapes(io::stdout().is_terminal()),
    };
    if colour { Paint::Colour } else { Paint::Plain }
}
