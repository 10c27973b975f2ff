//! Backslash commands: their words, and what they make of them.

use super::{
    Action, Names, Place, Store,
    error::Fault,
    expr::{self, Site},
    names::valid_name,
    setrandom, shell, sleep,
};

/// Most words of a command, as in pgbench.
const MAX_WORDS: usize = 256;

/// What a line with a backslash is.
#[derive(Debug)]
pub(super) enum Meta {
    /// A command of its own.
    Action(Action),
    /// A command of its own, with a word to its author.
    Old(Action, &'static str),
    /// What belongs to the SQL command before.
    Store(Store),
}

/// A word of a command, with the byte of the script where it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Word<'a> {
    pub text: &'a [u8],
    pub at: usize,
}

/// A backslash command as it is read.
#[derive(Debug)]
pub(super) struct Line<'a> {
    pub text: &'a [u8],
    /// The backslash.
    pub start: usize,
    /// First byte that has not been read.
    pub at: usize,
    /// The command as written.
    pub word: String,
}

impl<'a> Line<'a> {
    /// The line whose backslash stands before `at`; `None` where nothing follows it. Then `at` is behind the line.
    pub fn read(text: &'a [u8], at: &mut usize) -> Option<Self> {
        let start = *at - 1;
        let word = next_word(text, at)?;
        Some(Self { text, start, at: *at, word: String::from_utf8_lossy(word.text).into_owned() })
    }

    /// Whether it is the command of PostgreSQL 9.5 and before.
    pub fn is_setrandom(&self) -> bool {
        self.word.eq_ignore_ascii_case("setrandom")
    }

    /// The fault of a command that nobody knows; the line is read.
    pub fn unknown(&mut self) -> Fault {
        self.words().err().unwrap_or_else(|| self.shown("invalid command", None))
    }

    /// What it is, once the whole line has been read.
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
        let Some(name) = next_word(self.text, &mut self.at) else {
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

    /// The words behind the command.
    fn words(&mut self) -> Result<Vec<Word<'a>>, Fault> {
        let mut words = Vec::new();
        while let Some(word) = next_word(self.text, &mut self.at) {
            if words.len() + 1 >= MAX_WORDS {
                return Err(self.fault("too many arguments"));
            }
            words.push(word);
        }
        Ok(words)
    }

    /// A command of words; the line has been read.
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

    /// A command without arguments.
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

    /// A fault of the command before its line has been read.
    pub fn fault(&self, what: &str) -> Fault {
        Fault::at(self.start, format!("{what} in command \"{}\"", self.word))
    }

    /// A fault of the command, whose line is shown, with a caret where it is known where.
    pub fn shown(&self, what: &str, caret: Option<usize>) -> Fault {
        self.fault(what).show(self.start, self.at, caret)
    }
}

pub(super) fn place(name: &[u8], names: &mut Names) -> Place {
    if valid_name(name) { Place::Slot(names.slot(name)) } else { Place::Invalid(name.into()) }
}

/// The next word of a line, which a backslash at its end continues; `None` at the end of the line, which is left.
fn next_word<'a>(text: &'a [u8], at: &mut usize) -> Option<Word<'a>> {
    loop {
        match &text[*at..] {
            [] => return None,
            [b'\n', ..] => {
                *at += 1;
                return None;
            }
            [b' ' | b'\t' | b'\r' | 0x0b | 0x0c, ..] => *at += 1,
            [b'\\', b'\n', ..] => *at += 2,
            [b'\\', b'\r', b'\n', ..] => *at += 3,
            rest => {
                let run = rest.iter().position(|b| matches!(b, b' ' | b'\t' | b'\r' | 0x0b | 0x0c | b'\n'));
                let run = run.unwrap_or(rest.len());
                let len = if continues(&rest[run - 1..]) { run - 1 } else { run };
                let word = Word { text: &rest[..len], at: *at };
                *at += len;
                return Some(word);
            }
        }
    }
}

/// Whether a backslash that ends a word joins the next line.
fn continues(text: &[u8]) -> bool {
    text.starts_with(b"\\\n") || text.starts_with(b"\\\r\n")
}
