//! Tokens of expressions.

use crate::{
    error::Fault,
    line::blank_len,
    names::is_name_byte,
    number::{self, NotInteger, digits},
};

/// A token of an expression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Token<'a> {
    Integer(i64),
    /// 2^63, which is valid only after a minus.
    BeyondIntegers,
    Double(f64),
    /// `:name`, given without the colon. Any run of letters, digits and underscores; whether such a variable
    /// can exist is checked at evaluation.
    Variable(&'a [u8]),
    /// Name of a function.
    Name(&'a [u8]),
    /// An operator or other sign as written; `!=` becomes `<>`.
    Sign(&'static str),
    /// A reserved word.
    Word(Word),
    /// End of the line or of the text.
    End,
}

/// Reserved words, which cannot name a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    And,
    Or,
    Not,
    Is,
    IsNull,
    NotNull,
    Case,
    When,
    Then,
    Else,
    End,
    True,
    False,
    Null,
}

const WORDS: [(&str, Word); 14] = [
    ("and", Word::And),
    ("or", Word::Or),
    ("not", Word::Not),
    ("is", Word::Is),
    ("isnull", Word::IsNull),
    ("notnull", Word::NotNull),
    ("case", Word::Case),
    ("when", Word::When),
    ("then", Word::Then),
    ("else", Word::Else),
    ("end", Word::End),
    ("true", Word::True),
    ("false", Word::False),
    ("null", Word::Null),
];

/// Signs of two characters come first, so that the longest one matches.
const SIGNS: [(&str, &str); 21] = [
    ("<>", "<>"),
    ("!=", "<>"),
    ("<=", "<="),
    (">=", ">="),
    ("<<", "<<"),
    (">>", ">>"),
    ("+", "+"),
    ("-", "-"),
    ("*", "*"),
    ("/", "/"),
    ("%", "%"),
    ("=", "="),
    ("<", "<"),
    (">", ">"),
    ("|", "|"),
    ("&", "&"),
    ("#", "#"),
    ("~", "~"),
    ("(", "("),
    (")", ")"),
    (",", ","),
];

/// Reads tokens from the script's text.
#[derive(Debug, Clone)]
pub(super) struct Lexer<'a> {
    text: &'a [u8],
    /// First byte after the last token.
    pub at: usize,
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a [u8], at: usize) -> Self {
        Self { text, at }
    }

    /// Reads the next token. After [`Token::End`], `at` is the start of the next line.
    pub fn next(&mut self) -> Result<Token<'a>, Fault> {
        self.at += blank_len(&self.text[self.at..]);
        let rest = &self.text[self.at..];
        let Some(&first) = rest.first() else { return Ok(Token::End) };
        let (token, len) = match first {
            b'\n' => (Token::End, 1),
            b':' if rest.len() > 1 && is_name_byte(rest[1]) => {
                let len = name_run(&rest[1..]);
                (Token::Variable(&rest[1..=len]), len + 1)
            }
            b'0'..=b'9' => return self.number(rest),
            b'.' if rest.len() > 1 && rest[1].is_ascii_digit() => return self.number(rest),
            byte if is_name_byte(byte) => {
                let name = &rest[..name_run(rest)];
                (word(name).map_or(Token::Name(name), Token::Word), name.len())
            }
            _ => match SIGNS.iter().find(|(sign, _)| rest.starts_with(sign.as_bytes())) {
                Some((sign, meaning)) => (Token::Sign(meaning), sign.len()),
                None => return Err(self.fault(1, &format!("unexpected character ({})", first as char))),
            },
        };
        self.at += len;
        Ok(token)
    }

    fn number(&mut self, rest: &[u8]) -> Result<Token<'a>, Fault> {
        let whole = digits(rest);
        let mut len = whole;
        if rest.get(len) == Some(&b'.') {
            len += 1 + digits(&rest[len + 1..]);
        }
        len += exponent_len(&rest[len..]);
        let text = &rest[..len];
        let overflow = |kind| format!("{kind} constant overflow ({})", String::from_utf8_lossy(text));
        let token = if len > whole {
            number::decimal(text).map(Token::Double).ok_or_else(|| self.fault(len, &overflow("double")))?
        } else if text == b"9223372036854775808" {
            Token::BeyondIntegers
        } else {
            let wrong = |_: NotInteger| self.fault(len, &overflow("bigint"));
            number::integer(text).map(Token::Integer).map_err(wrong)?
        };
        self.at += len;
        Ok(token)
    }

    /// An error at the token of this length that begins here; reading may continue after it.
    fn fault(&self, len: usize, what: &str) -> Fault {
        Fault::at(self.at + len, what)
    }
}

fn name_run(text: &[u8]) -> usize {
    text.iter().position(|&b| !is_name_byte(b)).unwrap_or(text.len())
}

/// Length of an exponent; 0 if there is none, as in `1end`.
fn exponent_len(text: &[u8]) -> usize {
    let sign = match text {
        [b'e' | b'E', b'+' | b'-', ..] => 2,
        [b'e' | b'E', ..] => 1,
        _ => return 0,
    };
    match digits(&text[sign..]) {
        0 => 0,
        count => sign + count,
    }
}

fn word(name: &[u8]) -> Option<Word> {
    WORDS.iter().find(|(word, _)| name.eq_ignore_ascii_case(word.as_bytes())).map(|(_, word)| *word)
}
