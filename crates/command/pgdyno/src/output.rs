//! Results on stdout, messages on stderr.

use std::{
    fmt,
    io::{self, ErrorKind, IsTerminal, Write},
};

use pgdyno_core::{problem::Problem, units::printable_json};
use pgdyno_document::Paint;
use pgdyno_host::terminal::obeys_escapes;
use serde::Serialize;

use crate::exit::Exit;

/// Writes a result to stdout. A closed pipe (`| head`) is no failure.
///
/// # Errors
/// Stdout cannot be written, for example because it is redirected to a full disk.
pub fn print(text: &str) -> Result<(), Problem> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(Problem::could_not(format!("could not write the result to standard output: {e}")))
        }
        _ => Ok(()),
    }
}

/// A value as JSON, indented, that is safe for a terminal.
pub fn json(value: &impl Serialize) -> String {
    // serde's code for writing into a `Value` is there already, for reports; each other writer compiles it again.
    let json = serde_json::to_value(value).unwrap_or_default();
    printable_json(&format!("{json:#}\n")).into_owned()
}

/// Writes part of a result to stdout. If that fails, exits with [`Exit::NotCompleted`].
pub fn result(text: fmt::Arguments<'_>) {
    if let Err(problem) = print(&text.to_string()) {
        let _ = crate::problem::print(&problem);
        Exit::NotCompleted.now();
    }
}

/// Writes a message to stderr. A closed stderr is no failure.
pub fn message(text: fmt::Arguments<'_>) {
    let _ = io::stderr().lock().write_fmt(text);
}

/// Whether to use colours on stdout: on a terminal, unless `NO_COLOR` is set or `PG_COLOR` is `never`; always with
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
