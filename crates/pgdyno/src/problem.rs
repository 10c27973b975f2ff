//! How a [`Problem`] is printed, and its exit status.

use std::process::ExitCode;

use pgdyno_core::problem::{Problem, ProblemKind};

/// Prints a problem on stderr and gives the exit status it stands for.
pub fn print(problem: &Problem) -> ExitCode {
    eprintln!("error: {}", problem.what);
    if let Some(detail) = &problem.detail {
        eprintln!("detail: {detail}");
    }
    if let Some(hint) = &problem.hint {
        eprintln!("hint: {hint}");
    }
    match problem.kind {
        ProblemKind::WrongRequest => ExitCode::from(2),
        ProblemKind::CouldNotComplete => ExitCode::from(3),
    }
}
