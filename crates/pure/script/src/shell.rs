//! `\shell` and `\setshell`: the command they run, and the number they read back.

use super::{
    Names, Slot, Variables,
    line::Word,
    number::{is_space, leading_integer, looks_like_integer},
};

/// Longest command in bytes, as in pgbench.
const MAX_BYTES: usize = 254;

/// A program with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shell {
    words: Box<[Argument]>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Argument {
    Text(Box<[u8]>),
    /// `:name`.
    Variable(Slot),
}

impl Shell {
    /// The command for `/bin/sh -c`: the words joined by spaces.
    ///
    /// # Errors
    /// pgbench's message if a variable has no value or the command is too long.
    pub fn command(&self, variables: &Variables) -> Result<Vec<u8>, String> {
        let mut command = Vec::new();
        for (index, word) in self.words.iter().enumerate() {
            if index > 0 {
                command.push(b' ');
            }
            match word {
                Argument::Text(text) => command.extend_from_slice(text),
                Argument::Variable(slot) if variables.write(*slot, &mut command) => {}
                Argument::Variable(slot) => {
                    let name = variables.name(*slot);
                    return Err(format!("{}: undefined variable \":{name}\"", self.name(variables)));
                }
            }
            if command.len() > MAX_BYTES {
                return Err(format!("{}: shell command is too long", self.name(variables)));
            }
        }
        Ok(command)
    }

    /// The first word, which messages name.
    pub fn name(&self, variables: &Variables) -> String {
        match self.words.first() {
            Some(Argument::Text(text)) => String::from_utf8_lossy(text).into_owned(),
            Some(Argument::Variable(slot)) => format!(":{}", variables.name(*slot)),
            None => String::new(),
        }
    }

    /// The number for `\setshell` in the program's output: the first line must be an integer, truncated to 32 bits.
    ///
    /// # Errors
    /// pgbench's message if the output is not an integer.
    pub fn result(&self, output: &[u8], variables: &Variables) -> Result<i64, String> {
        let line = first_line(output);
        let end = line.iter().rposition(|&b| !is_space(b)).map_or(0, |last| last + 1);
        let text = &line[..end];
        if line.is_empty() {
            return Err(format!("{}: could not read result of shell command", self.name(variables)));
        }
        // White space alone is 0, and larger numbers are clamped to 64 bits, as by C's `strtol`.
        if text.is_empty() || (looks_like_integer(text) && text.iter().any(u8::is_ascii_digit)) {
            return Ok(i64::from(leading_integer(text) as i32));
        }
        let (name, line) = (self.name(variables), String::from_utf8_lossy(line));
        Err(format!("{name}: shell command must return an integer (not \"{line}\")"))
    }
}

/// The first line including its end, as far as pgbench reads it.
fn first_line(output: &[u8]) -> &[u8] {
    let end = output.iter().position(|&b| b == b'\n').map_or(output.len(), |at| at + 1);
    &output[..end.min(63)]
}

/// Parses the words of a command: `:name` is a variable, `::name` the text `:name`.
pub(super) fn parse(words: &[Word<'_>], names: &mut Names) -> Shell {
    let argument = |word: &Word<'_>| match word.text {
        [b':', rest @ ..] if rest.first() == Some(&b':') => Argument::Text(rest.into()),
        [b':', name @ ..] => Argument::Variable(names.slot(name)),
        text => Argument::Text(text.into()),
    };
    Shell { words: words.iter().map(argument).collect() }
}
