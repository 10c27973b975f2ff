//! Finds the ends of SQL commands by the rules of psql's scanner (`psqlscan.l`), which pgbench uses.

use super::{
    error::Fault,
    number::is_space,
    statement::{Part, Words},
};

/// Reason why the scanner stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// A semicolon, which belongs to the command.
    Semicolon,
    /// Just after a backslash that begins a command.
    Backslash,
    /// End of the script.
    End,
}

/// A command as it is sent, before variables are substituted.
#[derive(Debug, Default)]
pub(super) struct Collected {
    /// Text of the command; empty if there is none.
    pub text: Vec<u8>,
    /// First byte of the command in the script.
    pub start: usize,
    /// Statements of the command, separated by `\;`.
    pub parts: Vec<Part>,
}

/// Reads a script's SQL. Open parentheses and function bodies persist across backslash commands.
#[derive(Debug)]
pub(super) struct Scanner<'a> {
    text: &'a [u8],
    /// First byte not yet read.
    pub at: usize,
    parentheses: usize,
    /// Number of open `BEGIN` and `CASE` within the body of `CREATE FUNCTION` or `CREATE PROCEDURE`.
    bodies: usize,
    words: Words,
}

impl<'a> Scanner<'a> {
    pub fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0, parentheses: 0, bodies: 0, words: Words::default() }
    }

    /// Collects the next command without leading white space and `--` comments.
    pub fn command(&mut self) -> Result<(Collected, Stop), Fault> {
        let mut found = Collected::default();
        let stop = loop {
            let Some(&byte) = self.text.get(self.at) else { break Stop::End };
            if is_space(byte) || self.rest().starts_with(b"--") {
                let len = blank_len(self.rest());
                self.keep(&mut found, len, false);
                continue;
            }
            if found.text.is_empty() {
                found.start = self.at;
            }
            match byte {
                b'(' => self.parentheses += 1,
                b')' => self.parentheses = self.parentheses.saturating_sub(1),
                b';' => {
                    self.keep(&mut found, 1, true);
                    if self.is_outside() {
                        self.end_part(&mut found);
                        self.words.forget();
                        break Stop::Semicolon;
                    }
                    continue;
                }
                b'\\' => match self.text.get(self.at + 1) {
                    Some(&sign @ (b';' | b':')) => {
                        self.forced(&mut found, sign);
                        continue;
                    }
                    _ => {
                        self.at += 1;
                        break Stop::Backslash;
                    }
                },
                _ => {
                    self.token(&mut found)?;
                    continue;
                }
            }
            self.keep(&mut found, 1, true);
        };
        if stop != Stop::Semicolon {
            self.end_part(&mut found);
        }
        Ok((found, stop))
    }

    fn rest(&self) -> &'a [u8] {
        &self.text[self.at..]
    }

    fn is_outside(&self) -> bool {
        self.parentheses == 0 && self.bodies == 0
    }

    /// Keeps bytes of the command; white space and comments only after a token.
    fn keep(&mut self, found: &mut Collected, len: usize, token: bool) {
        if token || !found.text.is_empty() {
            found.text.extend_from_slice(&self.rest()[..len]);
        }
        self.at += len;
    }

    /// Replaces `\;` and `\:` by a semicolon and a colon.
    fn forced(&mut self, found: &mut Collected, sign: u8) {
        found.text.push(sign);
        self.at += 2;
        if sign == b';' && self.is_outside() {
            self.end_part(found);
            self.words.forget();
        }
    }

    fn end_part(&mut self, found: &mut Collected) {
        found.parts.extend(self.words.part());
    }

    /// Reads a token that may be longer than a byte.
    fn token(&mut self, found: &mut Collected) -> Result<(), Fault> {
        let rest = self.rest();
        let len = match rest[0] {
            b'\'' => self.string(0, false)?,
            b'"' => self.name(0)?,
            b'$' => self.dollar()?,
            b'/' if rest.starts_with(b"/*") => comment_len(rest).ok_or_else(|| self.open(0, "/* comment"))?,
            b'0'..=b'9' => number_len(rest),
            b':' => match test_len(rest) {
                0 => 1,
                len => {
                    // psql's test for a variable, which pgbench does not offer to its scanner.
                    found.text.extend_from_slice(b"FALSE");
                    self.at += len;
                    return Ok(());
                }
            },
            byte if is_word_start(byte) => self.word()?,
            _ => {
                self.words.other();
                1
            }
        };
        self.keep(found, len, true);
        Ok(())
    }

    /// Reads a word, or a literal with a letter before its quote.
    fn word(&mut self) -> Result<usize, Fault> {
        match self.rest() {
            [b'e' | b'E', b'\'', ..] => return self.string(1, true),
            [b'b' | b'B' | b'x' | b'X' | b'n' | b'N', b'\'', ..] => return self.string(1, false),
            [b'u' | b'U', b'&', b'\'', ..] => return self.string(2, false),
            [b'u' | b'U', b'&', b'"', ..] => return self.name(2),
            _ => {}
        }
        let len = word_len(self.rest());
        let word = self.rest()[..len].to_ascii_uppercase();
        self.words.add(&word, self.parentheses > 0);
        if self.parentheses == 0 && self.words.creates_routine() {
            match word.as_slice() {
                b"BEGIN" => self.bodies += 1,
                b"CASE" if self.bodies > 0 => self.bodies += 1,
                b"END" => self.bodies = self.bodies.saturating_sub(1),
                _ => {}
            }
        }
        Ok(len)
    }

    /// Length of a literal whose quote is `prefix` bytes ahead, including pieces that continue it on further
    /// lines. A doubled quote ends one piece and begins the next.
    fn string(&mut self, prefix: usize, escapes: bool) -> Result<usize, Fault> {
        self.words.other();
        let rest = self.rest();
        let mut at = prefix + 1;
        loop {
            match rest.get(at) {
                None => return Err(self.open(prefix, "quoted string")),
                Some(b'\\') if escapes => at += 2,
                Some(b'\'') => {
                    at += 1;
                    match continued(&rest[at..]) {
                        Some(more) => at += more,
                        None => return Ok(at),
                    }
                }
                Some(_) => at += 1,
            }
        }
    }

    /// Length of a quoted identifier whose quote is `prefix` bytes ahead.
    fn name(&mut self, prefix: usize) -> Result<usize, Fault> {
        self.words.other();
        let body = &self.rest()[prefix + 1..];
        let end =
            body.iter().position(|&b| b == b'"').ok_or_else(|| self.open(prefix, "quoted identifier"))?;
        Ok(prefix + end + 2)
    }

    /// Reads a dollar-quoted literal, a parameter, or a dollar sign.
    fn dollar(&mut self) -> Result<usize, Fault> {
        self.words.other();
        let rest = self.rest();
        let tag = match rest.get(1) {
            Some(b'0'..=b'9') => {
                let digits = rest[1..].iter().take_while(|b| b.is_ascii_digit()).count();
                return Ok(1 + digits + word_len(&rest[1 + digits..]));
            }
            Some(&byte) if is_word_start(byte) => {
                1 + rest[1..].iter().take_while(|&&b| is_word_byte(b) && b != b'$').count()
            }
            _ => 1,
        };
        if rest.get(tag) != Some(&b'$') {
            return Ok(1);
        }
        let delimiter = &rest[..=tag];
        let body = &rest[delimiter.len()..];
        let end = body.windows(delimiter.len()).position(|window| window == delimiter);
        let end = end.ok_or_else(|| self.open(0, "dollar-quoted string"))?;
        Ok(end + 2 * delimiter.len())
    }

    /// An error for an unterminated token, located at its start; the server would report the end of the script.
    fn open(&self, prefix: usize, what: &str) -> Fault {
        let at = self.at + prefix;
        Fault::at(at, format!("unterminated {what}")).show_line(self.text, at)
    }
}

fn is_word_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || !byte.is_ascii()
}

fn is_word_byte(byte: u8) -> bool {
    is_word_start(byte) || byte.is_ascii_digit() || byte == b'$'
}

/// Length of the word at the start; 0 if there is none.
fn word_len(text: &[u8]) -> usize {
    match text.first() {
        Some(&first) if is_word_start(first) => text.iter().take_while(|&&b| is_word_byte(b)).count(),
        _ => 0,
    }
}

/// Length of white space, or else of a `--` comment without its line end.
fn blank_len(text: &[u8]) -> usize {
    match text.iter().take_while(|&&b| is_space(b)).count() {
        0 => text.iter().take_while(|&&b| b != b'\n' && b != b'\r').count(),
        len => len,
    }
}

/// Length from a closing quote to just after the quote that continues the literal: white space including a line end.
fn continued(text: &[u8]) -> Option<usize> {
    let (mut at, mut line_ended) = (0, false);
    loop {
        match text.get(at)? {
            b'\'' if line_ended => return Some(at + 1),
            &byte if is_space(byte) => {
                line_ended |= matches!(byte, b'\n' | b'\r');
                at += 1;
            }
            b'-' if text[at..].starts_with(b"--") => at += blank_len(&text[at..]),
            _ => return None,
        }
    }
}

/// Length of a block comment with nested comments.
fn comment_len(text: &[u8]) -> Option<usize> {
    let (mut depth, mut at) = (0usize, 0);
    while at < text.len() {
        if text[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return Some(at);
            }
        } else {
            at += 1;
        }
    }
    None
}

/// Length of a number and any word attached to it, which cannot begin a literal.
fn number_len(text: &[u8]) -> usize {
    let run = |at: usize| text[at..].iter().take_while(|&&b| b.is_ascii_digit() || b == b'_').count();
    let whole = run(0);
    let decimal = match text.get(whole) {
        Some(b'.') if text.get(whole + 1) != Some(&b'.') => whole + 1 + run(whole + 1),
        _ => whole,
    };
    let exponent = match &text[decimal..] {
        [b'e' | b'E', b'+' | b'-', b'0'..=b'9', ..] => decimal + 2 + run(decimal + 2),
        [b'e' | b'E', b'0'..=b'9', ..] => decimal + 1 + run(decimal + 1),
        _ => decimal,
    };
    let ends = [whole, decimal, exponent];
    ends.into_iter().map(|end| end + word_len(&text[end..])).max().unwrap_or(whole)
}

/// Length of `:{?name}`; 0 if it is something else.
fn test_len(text: &[u8]) -> usize {
    let Some(name) = text.strip_prefix(b":{?") else { return 0 };
    let len = name.iter().take_while(|&&b| super::names::is_name_byte(b)).count();
    if len > 0 && name.get(len) == Some(&b'}') { len + 4 } else { 0 }
}
