//! All exit statuses; docs/errors.md says how a script should react to each.

pub mod of_run;

use std::process::{ExitCode, ExitStatus};

use pgdyno_core::problem::ProblemKind;

use crate::detached::inside;

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
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Done, Self::Failed, Self::WrongRequest, Self::NotCompleted];

    /// The status of an exit code.
    pub fn of(code: ExitCode) -> Self {
        Self::ALL.into_iter().find(|exit| ExitCode::from(*exit) == code).unwrap_or(Self::NotCompleted)
    }

    /// The status of a process of pgdyno that has ended; one that a signal ended did not complete.
    pub fn of_process(status: ExitStatus) -> Self {
        let code = status.code().and_then(|code| u8::try_from(code).ok());
        code.map_or(Self::NotCompleted, |code| Self::of(ExitCode::from(code)))
    }

    /// Exit status of a check.
    pub fn of_check(passed: bool) -> Self {
        if passed { Self::Done } else { Self::Failed }
    }

    /// Exits the program immediately.
    pub fn now(self) -> ! {
        inside::ended(self as u8);
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
        let errors = include_str!("../../../../../docs/errors.md");
        let rows =
            errors.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next()?.parse::<u8>().ok());
        assert_eq!(rows.collect::<Vec<_>>(), Exit::ALL.map(|exit| exit as u8));
    }

    #[test]
    fn a_code_says_which_status_it_is() {
        for exit in Exit::ALL {
            assert_eq!(Exit::of(exit.into()), exit);
        }
        assert_eq!(
            (Exit::of(ExitCode::SUCCESS), Exit::of(ExitCode::from(9))),
            (Exit::Done, Exit::NotCompleted)
        );
    }
}
