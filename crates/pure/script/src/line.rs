//! The words of a backslash command's line.

use super::{Names, Place, error::Fault, names::valid_name};

/// Most words of a command, as in pgbench.
const MAX_WORDS: usize = 256;

/// A word of a command, with its first byte in the script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Word<'a> {
    pub text: &'a [u8],
    pub at: usize,
}

/// A backslash command that is being read.
#[derive(Debug)]
pub(super) struct Line<'a> {
    pub text: &'a [u8],
    /// Byte of the backslash.
    pub start: usize,
    /// First byte not yet read.
    pub at: usize,
    /// Name of the command as written.
    pub word: String,
}

impl<'a> Line<'a> {
    /// Reads the command whose backslash precedes `at`; `None` if nothing follows the backslash, and then `at`
    /// is the next line.
    pub fn read(text: &'a [u8], at: &mut usize) -> Option<Self> {
        let start = *at - 1;
        let word = next_word(text, at)?;
        Some(Self { text, start, at: *at, word: String::from_utf8_lossy(word.text).into_owned() })
    }

    /// Whether this is `\setrandom`, the command of PostgreSQL 9.5 and before.
    pub fn is_setrandom(&self) -> bool {
        self.word.eq_ignore_ascii_case("setrandom")
    }

    /// The error for an unknown command; reads the rest of the line.
    pub fn unknown(&mut self) -> Fault {
        self.words().err().unwrap_or_else(|| self.shown("invalid command", None))
    }

    /// The next word; `None` at the end of the line.
    pub fn next(&mut self) -> Option<Word<'a>> {
        next_word(self.text, &mut self.at)
    }

    /// The remaining words of the command.
    pub fn words(&mut self) -> Result<Vec<Word<'a>>, Fault> {
        let mut words = Vec::new();
        while let Some(word) = self.next() {
            if words.len() + 1 >= MAX_WORDS {
                return Err(self.fault("too many arguments"));
            }
            words.push(word);
        }
        Ok(words)
    }

    /// An error of the command before its line has been read.
    pub fn fault(&self, what: &str) -> Fault {
        Fault::at(self.start, format!("{what} in command \"{}\"", self.word))
    }

    /// An error of the command that shows its line, with a caret if the place is known.
    pub fn shown(&self, what: &str, caret: Option<usize>) -> Fault {
        self.fault(what).show(self.start, self.at, caret)
    }
}

/// Location of the variable with this name.
pub(super) fn place(name: &[u8], names: &mut Names) -> Place {
    if valid_name(name) { Place::Slot(names.slot(name)) } else { Place::Invalid(name.into()) }
}

/// The next word of a line, which a trailing backslash continues; `None` at the end of the line, which is then left.
fn next_word<'a>(text: &'a [u8], at: &mut usize) -> Option<Word<'a>> {
    *at += blank_len(&text[*at..]);
    match &text[*at..] {
        [] => None,
        [b'\n', ..] => {
            *at += 1;
            None
        }
        rest => {
            let run = rest.iter().position(|b| matches!(b, b' ' | b'\t' | b'\r' | 0x0b | 0x0c | b'\n'));
            let run = run.unwrap_or(rest.len());
            // A backslash at the end joins the word to the next line.
            let len = if blank_len(&rest[run - 1..]) > 0 { run - 1 } else { run };
            let word = Word { text: &rest[..len], at: *at };
            *at += len;
            Some(word)
        }
    }
}

/// Length of white space and line continuations.
pub(super) fn blank_len(text: &[u8]) -> usize {
    let mut at = 0;
    loop {
        match &text[at..] {
            [b' ' | b'\t' | b'\r' | 0x0b | 0x0c, ..] => at += 1,
            [b'\\', b'\n', ..] => at += 2,
            [b'\\', b'\r', b'\n', ..] => at += 3,
            _ => return at,
        }
    }
}
