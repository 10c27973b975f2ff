//! Exit statuses, all of them: docs/errors.md tells what a script should make of each.

use std::process::ExitCode;

use pgdyno_core::problem::ProblemKind;

/// How a sub-command ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done; a report may still have doubts.
    Done = 0,
    /// Done, and the answer is a bad one: a check failed, B is slower, rows are not proved, pages are not there.
    Failed = 1,
    /// A wrong request: a flag, a value, a plan, a place, a name.
    WrongRequest = 2,
    /// A right request that could not be completed.
    NotCompleted = 3,
}

impl Exit {
    /// `Failed` unless `good`.
    pub fn of_check(good: bool) -> Self {
        if good { Self::Done } else { Self::Failed }
    }

    /// Ends the program at once.
    pub fn now(self) -> ! {
        std::process::exit(self as i32)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

impl From<ProblemKind> for Exit {
    fn from(kind: ProblemKind) -> Self {
        match kind {
            ProblemKind::WrongRequest => Self::WrongRequest,
            ProblemKind::CouldNotComplete => Self::NotCompleted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of docs/errors.md has a row for each status, and no other.
    #[test]
    fn the_documented_statuses_are_these() {
        let errors = include_str!("../../../docs/errors.md");
        let rows =
            errors.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next()?.parse::<u8>().ok());
        let all = [Exit::Done, Exit::Failed, Exit::WrongRequest, Exit::NotCompleted];
        assert_eq!(rows.collect::<Vec<_>>(), all.map(|exit| exit as u8));
    }
}
