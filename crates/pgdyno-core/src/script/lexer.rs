//! Tokens of an expression.

use std::ops::Range;

use super::error::Fault;

/// One token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// An integer without a sign, up to 2^63: the last of them may only follow a minus.
    Integer(u64),
    /// `:name`, without the colon.
    Variable(&'a str),
    /// The name of a function.
    Name(&'a str),
    /// One of `+ - * / % ( ) ,`.
    Symbol(char),
}

/// A token and its place in the script.
pub(super) type Spanned<'a> = (Token<'a>, Range<usize>);

/// The tokens of `text`, which starts at byte `offset` of the script.
pub(super) fn tokens(text: &str, offset: usize) -> Result<Vec<Spanned<'_>>, Fault> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let len = match first {
            c if c.is_whitespace() => c.len_utf8(),
            '\\' => continuation(rest).ok_or_else(|| unexpected(first, offset + at))?,
            _ => {
                let (token, len) = token(rest, first, offset + at)?;
                found.push((token, offset + at..offset + at + len));
                len
            }
        };
        at += len;
    }
    Ok(found)
}

/// The length of a backslash that joins two lines, with the line's end.
fn continuation(rest: &str) -> Option<usize> {
    ["\\\n", "\\\r\n"].into_iter().find(|end| rest.starts_with(end)).map(str::len)
}

fn token<'a>(rest: &'a str, first: char, at: usize) -> Result<(Token<'a>, usize), Fault> {
    match first {
        '+' | '-' | '*' | '/' | '%' | '(' | ')' | ',' => Ok((Token::Symbol(first), 1)),
        ':' => {
            let name = &rest[1..1 + variable_len(&rest[1..])];
            if name.is_empty() {
                return Err(unexpected(first, at));
            }
            Ok((Token::Variable(name), 1 + name.len()))
        }
        c if c.is_ascii_digit() => integer(rest, at),
        c if c.is_ascii_alphabetic() || c == '_' => {
            let len = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            Ok((Token::Name(&rest[..len]), len))
        }
        _ => Err(unexpected(first, at)),
    }
}

fn integer(rest: &str, at: usize) -> Result<(Token<'_>, usize), Fault> {
    let len = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    if rest[len..].starts_with(['.', 'e', 'E']) {
        return Err(Fault::new(at..at + len + 1, "fractional numbers are not part of this language yet"));
    }
    let limit = i64::MAX as u64 + 1;
    match rest[..len].parse::<u64>() {
        Ok(value) if value <= limit => Ok((Token::Integer(value), len)),
        _ => Err(Fault::new(at..at + len, "bigint constant overflow")),
    }
}

fn unexpected(c: char, at: usize) -> Fault {
    Fault::new(at..at + c.len_utf8(), format!("unexpected character `{}`", c.escape_default()))
}

/// The length in bytes of the variable name that `text` starts with; 0 where it starts with none. Letters
/// (also those beyond ASCII), digits and underscores make names, and a digit cannot come first (pgbench
/// manual, "Custom Scripts").
pub(super) fn variable_len(text: &str) -> usize {
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return 0;
    }
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii();
    text.find(|c: char| !part(c)).unwrap_or(text.len())
}
