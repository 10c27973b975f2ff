//! All exit statuses; docs/errors.md says how a script should react to each.

use std::process::ExitCode;

use pgdyno_core::problem::ProblemKind;

/// Exit status of a sub-command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done; a report may still have doubts.
    Done = 0,
    /// Completed with a negative answer: a check failed, B is slower, rows differ, pages are missing.
    Failed = 1,
    /// Invalid request: a flag, a value, a plan, a path, a name.
    WrongRequest = 2,
    /// Valid request that could not be completed.
    NotCompleted = 3,
}

impl Exit {
    /// Exit status of a check.
    pub fn of_check(passed: bool) -> Self {
        if passed { Self::Done } else { Self::Failed }
    }

    /// Exits the program immediately.
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
