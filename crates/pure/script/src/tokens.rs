//! SQL tokens: words, identifiers, literals and signs, without comments.

use super::quotes::{Within, is_word};

/// An SQL token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// A word or a number, in lower case.
    Word(String),
    /// A quoted identifier as written.
    Name(String),
    /// Contents of a literal, dollar-quoted ones included.
    Text(String),
    /// A literal with escapes, which are not resolved here.
    Escaped,
    /// Any other byte.
    Sign(u8),
}

impl Token {
    pub fn is(&self, word: &str) -> bool {
        matches!(self, Self::Word(own) if own == word)
    }

    pub fn is_sign(&self, sign: u8) -> bool {
        *self == Self::Sign(sign)
    }

    pub fn word(&self) -> Option<&str> {
        match self {
            Self::Word(word) => Some(word),
            _ => None,
        }
    }
}

/// Tokens of a text. An unterminated literal extends to the end of the text.
pub(super) fn tokens(text: &[u8]) -> Vec<Token> {
    let mut reader = Reader::default();
    let mut at = 0;
    while at < text.len() {
        let was = reader.within.clone();
        let before = at.checked_sub(1).map(|before| text[before]);
        let len = reader.within.step(&text[at..], before);
        reader.take(&was, &text[at..at + len], at);
        at += len;
    }
    let within = std::mem::take(&mut reader.within);
    reader.end(&within);
    reader.found
}

#[derive(Debug, Default)]
struct Reader {
    within: Within,
    found: Vec<Token>,
    /// The word, identifier or literal being read.
    open: Vec<u8>,
    /// End of the last literal: a quote there continues it.
    ended_at: Option<usize>,
}

impl Reader {
    fn take(&mut self, was: &Within, bytes: &[u8], at: usize) {
        match (was, self.within.clone()) {
            (Within::Sql, Within::Sql) if is_word(bytes[0]) => self.open.extend_from_slice(bytes),
            (Within::Sql, Within::Sql) => {
                self.end(was);
                if !bytes[0].is_ascii_whitespace() {
                    self.found.push(Token::Sign(bytes[0]));
                }
            }
            (Within::Sql, Within::Literal(escapes)) => self.open_literal(escapes, at),
            (Within::Sql, _) => self.end(was),
            (Within::Line | Within::Block(_), _) => {}
            (_, Within::Sql) => {
                self.end(was);
                self.ended_at = Some(at + bytes.len());
            }
            _ => self.open.extend_from_slice(bytes),
        }
    }

    fn open_literal(&mut self, escapes: bool, at: usize) {
        if escapes {
            self.open.pop(); // the letter before the quote
        }
        self.end(&Within::Sql);
        // A doubled quote ends a literal and begins it again.
        if self.ended_at == Some(at)
            && let Some(Token::Text(text)) = self.found.pop_if(|last| matches!(last, Token::Text(_)))
        {
            self.open = text.into_bytes();
            self.open.push(b'\'');
        }
    }

    /// Ends the token that was read in this state.
    fn end(&mut self, was: &Within) {
        let text = String::from_utf8_lossy(&self.open).into_owned();
        match was {
            Within::Sql if text.is_empty() => {}
            Within::Sql => self.found.push(Token::Word(text.to_lowercase())),
            Within::Name => self.found.push(Token::Name(text)),
            Within::Literal(true) if text.contains('\\') => self.found.push(Token::Escaped),
            Within::Literal(_) | Within::Dollar(_) => self.found.push(Token::Text(text)),
            Within::Line | Within::Block(_) => {}
        }
        self.open.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(sql: &str) -> Vec<String> {
        let show = |token| match token {
            Token::Word(word) => word,
            Token::Name(name) => format!("\"{name}\""),
            Token::Text(text) => format!("'{text}'"),
            Token::Escaped => "E".to_owned(),
            Token::Sign(sign) => char::from(sign).to_string(),
        };
        tokens(sql.as_bytes()).into_iter().map(show).collect()
    }

    #[test]
    fn words_names_literals_and_signs_are_distinguished() {
        assert_eq!(shown("SET Work_Mem=1"), ["set", "work_mem", "=", "1"]);
        assert_eq!(shown("a/* x 'y' */b -- c\n;d"), ["a", "b", ";", "d"]);
        assert_eq!(shown("\"A b\" 'it''s' 'two' E'a\\'b' e'c'"), ["\"A b\"", "'it's'", "'two'", "E", "'c'"]);
        assert_eq!(shown("DO $x$ 'a' $$b$$ $x$;"), ["do", "' 'a' $$b$$ '", ";"]);
        assert_eq!(shown("$1 'open"), ["$1", "'open'"]);
        assert_eq!(shown("f('a','')"), ["f", "(", "'a'", ",", "''", ")"]);
    }
}
