//! SQL commands of scripts.

use super::{Names, Part, Slot, Variables, names::name_len, scan::Collected};

/// Most uses of variables in one command sent with parameters, as in pgbench.
pub const MAX_PARAMETERS: usize = 255;
/// Longest text that represents a command in lists, in bytes.
const LINE_BYTES: usize = 127;

/// SQL sent to the server at once: one statement, or several joined by `\;`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sql {
    /// Text for the extended protocol: every use of a variable becomes a separate parameter, `$1`, `$2` and so
    /// on. As in pgbench this also applies within literals and comments.
    pub text: Vec<u8>,
    /// Variable of each parameter. One without a value is sent as NULL.
    pub parameters: Vec<Slot>,
    /// Pieces of the text for the simple protocol.
    pub pieces: Vec<Piece>,
    /// Statements of the command.
    pub parts: Box<[Part]>,
    /// Variables that get values of the result.
    pub store: Option<Store>,
    /// Number among the SQL commands of all scripts of the run, from 0; part of the name of the prepared statement.
    pub number: usize,
    /// The command in one line without its semicolon, for reports.
    pub label: String,
}

/// A `\gset` or `\aset` after a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Store {
    /// Whether this is `\aset`, which stores the last row of every result; `\gset` expects one row in the last result.
    pub all: bool,
    /// Prefix of the variables' names; column names follow.
    pub prefix: Box<[u8]>,
}

impl Store {
    /// Name of the command in messages: `gset` or `aset`.
    pub fn word(&self) -> &'static str {
        if self.all { "aset" } else { "gset" }
    }
}

/// A piece of a command's text for the simple protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Literal text.
    Text(Box<[u8]>),
    /// A variable, replaced by its text. As in pgbench the substitution is textual: `1 -:x` with a negative `x`
    /// becomes a comment.
    Variable {
        /// Slot of the variable.
        slot: Slot,
        /// Text sent if the variable has no value: its name with the colon.
        name: Box<[u8]>,
    },
}

impl Sql {
    /// Makes a command from the scanner's output.
    pub(super) fn new(collected: Collected, number: usize, names: &mut Names) -> Self {
        let label = label(&collected.text);
        let mut sql = Self {
            text: Vec::with_capacity(collected.text.len()),
            parameters: Vec::new(),
            pieces: Vec::new(),
            parts: collected.parts.into(),
            store: None,
            number,
            label,
        };
        sql.substitute_names(&collected.text, names);
        sql
    }

    /// Fills text, parameters and pieces.
    fn substitute_names(&mut self, text: &[u8], names: &mut Names) {
        let (mut plain, mut at) = (0, 0);
        while let Some(found) = text[at..].iter().position(|&b| b == b':') {
            let colon = at + found;
            let len = name_len(&text[colon + 1..]);
            at = colon + 1 + len;
            if len == 0 {
                // A cast: skip all colons.
                at = colon + text[colon..].iter().take_while(|&&b| b == b':').count();
                continue;
            }
            self.push_text(&text[plain..colon]);
            self.push_variable(names.slot(&text[colon + 1..at]), &text[colon..at]);
            plain = at;
        }
        self.push_text(&text[plain..]);
    }

    pub(super) fn push_text(&mut self, text: &[u8]) {
        if !text.is_empty() {
            self.text.extend_from_slice(text);
            self.pieces.push(Piece::Text(text.into()));
        }
    }

    pub(super) fn push_variable(&mut self, slot: Slot, name: &[u8]) {
        self.parameters.push(slot);
        self.text.extend_from_slice(format!("${}", self.parameters.len()).as_bytes());
        self.pieces.push(Piece::Variable { slot, name: name.into() });
    }

    /// Appends the text for the simple protocol with the values of variables.
    pub fn substitute(&self, variables: &Variables, out: &mut Vec<u8>) {
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text),
                Piece::Variable { slot, name } => {
                    if !variables.write(*slot, out) {
                        out.extend_from_slice(name);
                    }
                }
            }
        }
    }

    /// The name of a variable after a minus, if any: in the simple protocol a negative value makes `--` of it, which
    /// begins a comment. Quotes are counted rather than parsed: within a literal nothing becomes a comment.
    pub(super) fn may_become_comment(&self) -> Option<String> {
        let mut quotes = 0;
        self.pieces.windows(2).find_map(|pair| {
            let (Piece::Text(text), next) = (&pair[0], &pair[1]) else { return None };
            quotes += text.iter().filter(|&&byte| byte == b'\'').count();
            let minus = text.ends_with(b"-") && !text.ends_with(b"--") && quotes.is_multiple_of(2);
            match next {
                Piece::Variable { name, .. } if minus => Some(String::from_utf8_lossy(name).into_owned()),
                _ => None,
            }
        })
    }

    /// The command as written in the script.
    pub(super) fn source(&self) -> Vec<u8> {
        let mut source = Vec::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) | Piece::Variable { name: text, .. } => source.extend_from_slice(text),
            }
        }
        source
    }
}

/// The command in one line, without a trailing semicolon.
fn label(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let words: Vec<_> = text.split_whitespace().collect();
    let line = words.join(" ");
    line.strip_suffix(';').map_or(line.as_str(), str::trim_end).to_owned()
}

/// The first line of a command, truncated if long.
pub(super) fn first_line(text: &[u8]) -> String {
    let end = text.iter().position(|&b| b == b'\n' || b == b'\r').unwrap_or(text.len());
    String::from_utf8_lossy(&text[..end.min(LINE_BYTES)]).into_owned()
}
