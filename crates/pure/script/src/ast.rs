//! Parsed scripts and their commands.

use std::{slice, sync::Arc};

use super::{Expr, Names, Part, Place, Shell, Sleep, Sql, SqlKind};

/// The parsed scripts of a run, with the names of their variables.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scripts {
    pub(super) names: Arc<Names>,
    pub(super) list: Vec<Script>,
    /// Number of SQL commands in all scripts.
    pub(super) statements: usize,
    /// Whether `\setrandom` is refused as unknown, as in pgbench since 9.6.
    pub(super) without_setrandom: bool,
}

impl Scripts {
    /// The scripts, in the order in which they were added.
    pub fn iter(&self) -> slice::Iter<'_, Script> {
        self.list.iter()
    }

    /// Number of scripts.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are no scripts.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The script with this index, from 0.
    #[inline]
    pub fn get(&self, index: usize) -> &Script {
        &self.list[index]
    }

    /// Names of all variables.
    pub fn names(&self) -> &Arc<Names> {
        &self.names
    }

    /// The SQL commands of all scripts in order; [`Sql::number`] counts them.
    pub fn statements(&self) -> impl Iterator<Item = &Sql> {
        self.list.iter().flat_map(Script::statements)
    }
}

/// A parsed script.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// Name of the script: `tpcb-like` or a file, for example.
    pub name: String,
    /// Commands in order; at least one.
    pub commands: Vec<Command>,
    /// Notices to the author about a script that nevertheless runs, each a line without a full stop.
    pub notices: Vec<String>,
}

impl Script {
    /// The SQL commands in order.
    pub fn statements(&self) -> impl Iterator<Item = &Sql> {
        self.commands.iter().filter_map(|command| match &command.action {
            Action::Sql(sql) => Some(sql),
            _ => None,
        })
    }

    /// Number of SQL statements of a transaction without BEGIN and END, for queries per second; statements of
    /// all `\if` branches count.
    pub fn statements_per_transaction(&self) -> u32 {
        let parts = self.statements().flat_map(|sql| sql.parts.iter());
        parts.filter(|part| part.kind == SqlKind::Statement).count() as u32
    }

    /// Whether an `\if` may skip some of the commands.
    pub fn has_branches(&self) -> bool {
        self.commands.iter().any(|command| matches!(command.action, Action::If(_)))
    }

    /// First lines of the commands that run programs on the driver's host.
    pub fn programs(&self) -> impl Iterator<Item = &str> {
        let runs = |command: &&Command| matches!(command.action, Action::Shell(_) | Action::SetShell { .. });
        self.commands.iter().filter(runs).map(|command| command.line.as_str())
    }
}

/// One command of a script.
#[derive(Debug, Clone, PartialEq)]
pub struct Command {
    /// Text for lists: the first line of SQL, at most 127 bytes, or all lines of a backslash command.
    pub line: String,
    /// Word after the backslash as written; empty for SQL.
    pub word: String,
    /// Line number in the script, from 1.
    pub line_number: usize,
    /// Effect of the command.
    pub action: Action,
}

/// Effect of a command.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// SQL statements for the server.
    Sql(Sql),
    /// `\set variable expression`.
    Set {
        /// Variable that gets the value.
        variable: Place,
        /// Expression that gives the value.
        value: Expr,
    },
    /// `\if expression`, up to its `\elif`, `\else` or `\endif`.
    If(Expr),
    /// `\elif expression`.
    Elif(Expr),
    /// `\else`.
    Else,
    /// `\endif`.
    Endif,
    /// `\sleep`.
    Sleep(Sleep),
    /// `\setshell variable program arguments`.
    SetShell {
        /// Variable that gets the number printed by the program.
        variable: Place,
        /// Program to run.
        shell: Shell,
    },
    /// `\shell program arguments`.
    Shell(Shell),
    /// `\startpipeline`.
    StartPipeline,
    /// `\syncpipeline`.
    SyncPipeline,
    /// `\endpipeline`.
    EndPipeline,
}

impl Sql {
    /// The statement of the command; `None` if there are several or none.
    pub fn part(&self) -> Option<Part> {
        match *self.parts {
            [part] => Some(part),
            _ => None,
        }
    }
}
