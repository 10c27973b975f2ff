//! Prints a [`Problem`] and determines its exit status.

use std::process::ExitCode;

use pgdyno_core::{problem::Problem, units::printable_lines};

use crate::{advice::fitted, exit::Exit};

/// Most characters printed of each part of a problem: the output of other programs has no limit.
const LONGEST: usize = 2_000;
/// Characters printed of the end of a longer part: the end often says more than the middle.
const LAST: usize = 500;

/// Prints a problem on stderr and returns its exit status.
pub fn print(problem: &Problem) -> ExitCode {
    eprintln!("error: {}", shown(&problem.what));
    if let Some(detail) = &problem.detail {
        // A caret in the second line points into the first, so both start in the first column.
        let margin = if detail.contains('\n') { "\n" } else { " " };
        eprintln!("detail:{margin}{}", shown(detail));
    }
    if let Some(hint) = &problem.hint {
        eprintln!("hint: {}", shown(&fitted(hint)));
    }
    Exit::from(problem.kind).into()
}

/// A part without escape sequences, shortened to [`LONGEST`].
fn shown(part: &str) -> String {
    let part = printable_lines(part);
    let length = part.chars().count();
    if length <= LONGEST {
        return part.into_owned();
    }
    let begin: String = part.chars().take(LONGEST - LAST).collect();
    let end: String = part.chars().skip(length - LAST).collect();
    format!("{begin} … ({} characters left out) … {end}", length - LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_neither_obeyed_nor_endless() {
        assert_eq!(shown("line 1\n  ^\u{1b}[2J"), "line 1\n  ^\\u{1b}[2J");
        let long = shown(&format!("begin{}end", "ä".repeat(40 << 10)));
        assert!(long.starts_with("begin") && long.ends_with("end"), "{long}");
        assert!(long.contains("(38968 characters left out)") && long.chars().count() < 2_100, "{long}");
    }
}
