//! Distinguishes SQL outside literals, quoted identifiers and comments from SQL within them.

/// State of an SQL reader, kept across pieces of text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Within {
    /// Plain SQL.
    #[default]
    Sql,
    /// A literal; whether backslashes escape.
    Literal(bool),
    /// A quoted identifier.
    Name,
    /// A dollar-quoted literal with this delimiter.
    Dollar(Vec<u8>),
    /// A comment up to the end of the line.
    Line,
    /// A block comment of this depth.
    Block(u32),
}

impl Within {
    /// Consumes the bytes at the start of a text that belong together; returns their number and updates the
    /// state. `before` is the byte before the text.
    pub fn step(&mut self, text: &[u8], before: Option<u8>) -> usize {
        match self {
            Self::Sql => self.enter(text, before),
            Self::Literal(true) if text[0] == b'\\' => text.len().min(2),
            Self::Literal(_) => self.leave(text, b"'"),
            Self::Name => self.leave(text, b"\""),
            Self::Line => self.leave(text, b"\n"),
            Self::Dollar(delimiter) => {
                let delimiter = delimiter.clone();
                self.leave(text, &delimiter)
            }
            Self::Block(depth) => match text {
                [b'/', b'*', ..] => {
                    *depth += 1;
                    2
                }
                [b'*', b'/', ..] => {
                    *self = if *depth > 1 { Self::Block(*depth - 1) } else { Self::Sql };
                    2
                }
                _ => 1,
            },
        }
    }

    fn leave(&mut self, text: &[u8], end: &[u8]) -> usize {
        if text.starts_with(end) {
            *self = Self::Sql;
            return end.len();
        }
        1
    }

    fn enter(&mut self, text: &[u8], before: Option<u8>) -> usize {
        let (within, len) = match text {
            [b'\'', ..] => (Self::Literal(matches!(before, Some(b'e' | b'E'))), 1),
            [b'"', ..] => (Self::Name, 1),
            [b'-', b'-', ..] => (Self::Line, 2),
            [b'/', b'*', ..] => (Self::Block(1), 2),
            [b'$', ..] if !before.is_some_and(is_word) => match delimiter(text) {
                Some(delimiter) => (Self::Dollar(delimiter.to_vec()), delimiter.len()),
                None => (Self::Sql, 1),
            },
            _ => (Self::Sql, 1),
        };
        *self = within;
        len
    }
}

/// Reads `$$` or `$tag$`.
fn delimiter(text: &[u8]) -> Option<&[u8]> {
    let tag = text[1..].iter().take_while(|&&b| is_word(b) && b != b'$').count();
    let digit_first = text.get(1).is_some_and(u8::is_ascii_digit);
    (text.get(tag + 1) == Some(&b'$') && !digit_first).then(|| &text[..tag + 2])
}

/// Whether a byte may be part of an SQL identifier.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || !byte.is_ascii()
}
