//! Parses backslash commands.

use super::{
    Action, Names, Store,
    error::Fault,
    expr::{self, Site},
    line::{Line, Word, place},
    setrandom, shell, sleep,
};

/// Meaning of a backslash line.
#[derive(Debug)]
pub(super) enum Meta {
    /// A command.
    Action(Action),
    /// An outdated command, with a notice to its author.
    Old(Action, &'static str),
    /// `\gset` or `\aset`, which belong to the preceding SQL command.
    Store(Store),
}

impl Line<'_> {
    /// Parses the command and reads its whole line.
    pub fn parse(&mut self, names: &mut Names) -> Result<Meta, Fault> {
        let known = self.word.to_ascii_lowercase();
        match known.as_str() {
            "set" => self.set(names).map(Meta::Action),
            "if" => self.expr(names).map(|value| Meta::Action(Action::If(value))),
            "elif" => self.expr(names).map(|value| Meta::Action(Action::Elif(value))),
            _ => {
                let words = self.words()?;
                self.wordy(&known, &words, names)
            }
        }
    }

    fn set(&mut self, names: &mut Names) -> Result<Action, Fault> {
        let Some(name) = self.next() else {
            return Err(self.fault("missing argument"));
        };
        let variable = place(name.text, names);
        let value = self.expr(names)?;
        Ok(Action::Set { variable, value })
    }

    fn expr(&mut self, names: &mut Names) -> Result<expr::Expr, Fault> {
        let site = Site { text: self.text, start: self.start, command: &self.word };
        let (expr, end) = expr::parse(site, self.at, names)?;
        self.at = end;
        Ok(expr)
    }

    /// Parses a command that consists of words, after its line has been read.
    fn wordy(&self, known: &str, words: &[Word<'_>], names: &mut Names) -> Result<Meta, Fault> {
        let action = match known {
            "gset" | "aset" => return self.store(known == "aset", words),
            "setrandom" => {
                return Ok(Meta::Old(setrandom::parse(self, words, names)?, setrandom::NOTICE));
            }
            "sleep" => Action::Sleep(sleep::parse(self, words, names)?),
            "setshell" => match words {
                [name, command @ ..] if !command.is_empty() => Action::SetShell {
                    variable: place(name.text, names),
                    shell: shell::parse(command, names),
                },
                _ => return Err(self.shown("missing argument", None)),
            },
            "shell" if words.is_empty() => return Err(self.shown("missing command", None)),
            "shell" => Action::Shell(shell::parse(words, names)),
            _ => self.bare(known, words)?,
        };
        Ok(Meta::Action(action))
    }

    /// Parses a command without arguments.
    fn bare(&self, known: &str, words: &[Word<'_>]) -> Result<Action, Fault> {
        let action = match known {
            "else" => Action::Else,
            "endif" => Action::Endif,
            "startpipeline" => Action::StartPipeline,
            "syncpipeline" => Action::SyncPipeline,
            "endpipeline" => Action::EndPipeline,
            _ => return Err(self.shown("invalid command", None)),
        };
        if words.is_empty() { Ok(action) } else { Err(self.shown("unexpected argument", None)) }
    }

    fn store(&self, all: bool, words: &[Word<'_>]) -> Result<Meta, Fault> {
        let prefix = match words {
            [] => &[],
            [prefix] => prefix.text,
            _ => return Err(self.shown("too many arguments", None)),
        };
        Ok(Meta::Store(Store { all, prefix: prefix.into() }))
    }
}
