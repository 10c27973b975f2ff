//! Parses scripts.

use std::sync::Arc;

use super::{
    Action, Command, MAX_PARAMETERS, Names, Script, ScriptError, Scripts, Sql, Store, conditions,
    error::{Fault, chomp, line_of},
    line::Line,
    meta::Meta,
    scan::{Collected, Scanner, Stop},
    sql::first_line,
};
use crate::Protocol;

impl Scripts {
    /// Parses a single script.
    ///
    /// # Errors
    /// As [`Scripts::add`].
    pub fn one(name: &str, text: impl AsRef<[u8]>) -> Result<Self, ScriptError> {
        let mut scripts = Self::default();
        scripts.add(name, text)?;
        Ok(scripts)
    }

    /// Refuses `\setrandom` in scripts added from now on, as pgbench does since 9.6.
    pub fn refuse_setrandom(&mut self) {
        self.without_setrandom = true;
    }

    /// Parses another script; `name` is its name in messages and reports. A leading byte order mark is skipped.
    ///
    /// # Errors
    /// The first error, with line and caret if known. What only running the script can reveal, such as a
    /// variable without a value, is not an error.
    pub fn add(&mut self, name: &str, text: impl AsRef<[u8]>) -> Result<&Script, ScriptError> {
        let text = text.as_ref();
        // Editors on Windows write one; the server would refuse it as SQL.
        let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
        let names = Arc::make_mut(&mut self.names);
        let (statements, without_setrandom) = (self.statements, self.without_setrandom);
        let (commands, notices) = (Vec::new(), Vec::new());
        let mut reader = Reader { text, names, statements, without_setrandom, commands, notices };
        match reader.read(name) {
            Ok(()) => {
                self.statements = reader.statements;
                let commands = reader.commands.into_iter().map(|(command, _)| command).collect();
                self.list.push(Script { name: name.to_owned(), commands, notices: reader.notices });
                Ok(self.list.last().expect("it was just put there"))
            }
            Err(fault) => Err(fault.locate(name, text)),
        }
    }

    /// Reserves a slot for a variable that only the caller reads; otherwise `\gset` and `\set` drop values of
    /// names that no script reads.
    pub fn reserve(&mut self, name: &str) {
        Arc::make_mut(&mut self.names).slot(name.as_bytes());
    }

    /// Checks whether the scripts can use a protocol: with parameters, at most [`MAX_PARAMETERS`] per command.
    ///
    /// # Errors
    /// The first command with too many.
    pub fn check_protocol(&self, protocol: Protocol) -> Result<(), ScriptError> {
        if protocol == Protocol::Simple {
            return Ok(());
        }
        for script in &self.list {
            if let Some(sql) = script.statements().find(|sql| sql.parameters.len() > MAX_PARAMETERS) {
                let source = sql.source();
                let text = String::from_utf8_lossy(&source);
                let what = format!("statement has too many arguments (maximum is {MAX_PARAMETERS}): {text}");
                return Err(Fault::of_script(what).locate(&script.name, b""));
            }
        }
        Ok(())
    }
}

/// State of parsing a script.
struct Reader<'a> {
    text: &'a [u8],
    names: &'a mut Names,
    statements: usize,
    without_setrandom: bool,
    /// Commands, each with its first byte.
    commands: Vec<(Command, usize)>,
    notices: Vec<String>,
}

impl Reader<'_> {
    fn read(&mut self, name: &str) -> Result<(), Fault> {
        if let Some(at) = self.text.iter().position(|&b| b == 0) {
            return Err(Fault::at(at, "the script holds a NUL byte").show_line(self.text, at));
        }
        let mut scanner = Scanner::new(self.text);
        loop {
            let (collected, stop) = scanner.command()?;
            if !collected.text.is_empty() {
                self.sql(collected);
            }
            match stop {
                Stop::Semicolon => {}
                Stop::Backslash => self.meta(&mut scanner.at)?,
                Stop::End => break,
            }
        }
        if self.commands.is_empty() {
            return Err(Fault::of_script(format!("empty command list for script \"{name}\""))
                .hint("write at least one SQL statement"));
        }
        conditions::check(name, &self.commands, self.text)
    }

    fn sql(&mut self, collected: Collected) {
        let (line, at) = (first_line(&collected.text), collected.start);
        let sql = Sql::new(collected, self.statements, self.names);
        self.statements += 1;
        if let Some(name) = sql.may_become_comment() {
            let notice =
                "becomes a comment if it is negative and the protocol is simple: put a blank before it";
            self.notices.push(format!("line {}: -{name} {notice}", line_of(self.text, at)));
        }
        self.push(line, String::new(), at, Action::Sql(sql));
    }

    fn push(&mut self, line: String, word: String, at: usize, action: Action) {
        let line_number = line_of(self.text, at);
        self.commands.push((Command { line, word, line_number, action }, at));
    }

    /// Parses the backslash command whose backslash precedes `at`, and sets `at` to the next line.
    fn meta(&mut self, at: &mut usize) -> Result<(), Fault> {
        let Some(mut line) = Line::read(self.text, at) else { return Ok(()) };
        if self.without_setrandom && line.is_setrandom() {
            return Err(line.unknown());
        }
        let meta = line.parse(self.names)?;
        *at = line.at;
        let (start, end) = (line.start, line.at);
        let (action, notice) = match meta {
            Meta::Store(store) => return self.store(store, start),
            Meta::Action(action) => (action, None),
            Meta::Old(action, notice) => (action, Some(notice)),
        };
        if let Some(notice) = notice {
            self.notices.push(format!("line {}: {notice}", line_of(self.text, start)));
        }
        let shown = String::from_utf8_lossy(chomp(&self.text[start..end])).into_owned();
        self.push(shown, line.word, start, action);
        Ok(())
    }

    /// Attaches `\gset` or `\aset` to the preceding SQL command.
    fn store(&mut self, store: Store, start: usize) -> Result<(), Fault> {
        const WHAT: &str = "\\gset must follow an SQL command";
        match self.commands.last_mut() {
            Some((Command { action: Action::Sql(sql), .. }, _)) if sql.store.is_none() => {
                sql.store = Some(store);
                Ok(())
            }
            Some((Command { action: Action::Sql(_), .. }, _)) | None => Err(Fault::at(start, WHAT)),
            Some((command, _)) => Err(Fault::at(start, format!("{WHAT} ({})", command.line))),
        }
    }
}
