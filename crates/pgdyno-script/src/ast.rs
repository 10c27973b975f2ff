//! What scripts are once they are read.

use std::{slice, sync::Arc};

use super::{Expr, Names, Part, Place, Shell, Sleep, Sql, SqlKind};

/// The scripts of a run, ready to run, with the names of their variables.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scripts {
    pub(super) names: Arc<Names>,
    pub(super) list: Vec<Script>,
    /// SQL commands of all of them.
    pub(super) statements: usize,
    /// Whether `\setrandom` is a command that nobody knows, as in pgbench since 9.6.
    pub(super) without_setrandom: bool,
}

impl Scripts {
    /// The scripts in the order in which they were added.
    pub fn iter(&self) -> slice::Iter<'_, Script> {
        self.list.iter()
    }

    /// How many scripts there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The script of this index, from 0.
    #[inline]
    pub fn get(&self, index: usize) -> &Script {
        &self.list[index]
    }

    /// The names of the variables.
    pub fn names(&self) -> &Arc<Names> {
        &self.names
    }

    /// The SQL commands of all scripts in order; [`Sql::number`] counts them.
    pub fn statements(&self) -> impl Iterator<Item = &Sql> {
        self.list.iter().flat_map(Script::statements)
    }
}

/// A script.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// Name, for example `tpcb-like` or the file's.
    pub name: String,
    /// Commands in order; at least one.
    pub commands: Vec<Command>,
    /// What its author should know although it runs, each a line without a full stop.
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

    /// SQL statements of a transaction without BEGIN and END: what QPS counts. Those of all branches are counted.
    pub fn statements_per_transaction(&self) -> u32 {
        let parts = self.statements().flat_map(|sql| sql.parts.iter());
        parts.filter(|part| part.kind == SqlKind::Statement).count() as u32
    }

    /// Whether an `\if` may leave some of its commands out.
    pub fn has_branches(&self) -> bool {
        self.commands.iter().any(|command| matches!(command.action, Action::If(_)))
    }

    /// The commands that run programs on the driver's host, by their first lines.
    pub fn programs(&self) -> impl Iterator<Item = &str> {
        let runs = |command: &&Command| matches!(command.action, Action::Shell(_) | Action::SetShell { .. });
        self.commands.iter().filter(runs).map(|command| command.line.as_str())
    }
}

/// One command of a script.
#[derive(Debug, Clone, PartialEq)]
pub struct Command {
    /// How lists show it: of SQL the first line, at most 127 bytes; of a backslash command all its lines.
    pub line: String,
    /// The word behind the backslash as written; empty for SQL.
    pub word: String,
    /// Line of the script from 1.
    pub line_number: usize,
    /// What it does.
    pub action: Action,
}

/// What a command does.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Statements for the server.
    Sql(Sql),
    /// `\set variable expression`.
    Set {
        /// Where the value goes.
        variable: Place,
        /// What it is.
        value: Expr,
    },
    /// `\if expression`: up to its `\elif`, `\else` or `\endif`.
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
        /// Where the number goes that the program prints.
        variable: Place,
        /// What is run.
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
    /// Its only part; `None` where it is several statements or none.
    pub fn part(&self) -> Option<Part> {
        match *self.parts {
            [part] => Some(part),
            _ => None,
        }
    }
}
