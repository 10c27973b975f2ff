//! How a [`Problem`] is printed, and its exit status.

use std::process::ExitCode;

use pgdyno_core::problem::{Problem, ProblemKind};

/// Prints a problem on stderr and gives the exit status it stands for.
pub fn print(problem: &Problem) -> ExitCode {
    eprintln!("error: {}", problem.what);
    if let Some(detail) = &problem.detail {
        // A caret in the second line points into the first: both begin at the margin.
        let margin = if detail.contains('\n') { "\n" } else { " " };
        eprintln!("detail:{margin}{detail}");
    }
    if let Some(hint) = &problem.hint {
        eprintln!("hint: {hint}");
    }
    match problem.kind {
        ProblemKind::WrongRequest => ExitCode::from(2),
        ProblemKind::CouldNotComplete => ExitCode::from(3),
    }
}
