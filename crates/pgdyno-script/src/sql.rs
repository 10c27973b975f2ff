//! SQL commands.

use super::{Names, Part, Slot, Variables, names::name_len, scan::Collected};

/// Most uses of variables in one command that is sent with parameters, as in pgbench.
pub const MAX_PARAMETERS: usize = 255;
/// Longest line that stands for a command.
const LINE_BYTES: usize = 127;

/// What is sent to the server at once: one statement, or several that `\;` joins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sql {
    /// The text for the extended protocol: every use of a variable is a parameter of its own, `$1`, `$2` and so on.
    /// As in pgbench a variable counts wherever it stands, within literals and comments too.
    pub text: Vec<u8>,
    /// The variable of each parameter in turn. One without a value is sent as NULL.
    pub parameters: Vec<Slot>,
    /// The text for the simple protocol, to be put together from pieces.
    pub pieces: Vec<Piece>,
    /// What its statements are.
    pub parts: Box<[Part]>,
    /// Where values of the result go.
    pub store: Option<Store>,
    /// Number among the SQL commands of all scripts of the run, from 0: what it is prepared under.
    pub number: usize,
    /// The command on one line without its semicolon, for reports.
    pub label: String,
}

/// `\gset` or `\aset` behind a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Store {
    /// Whether it is `\aset`: the last row of every result counts, while `\gset` wants one row of the last result.
    pub all: bool,
    /// What variables are called before the names of their columns.
    pub prefix: Box<[u8]>,
}

impl Store {
    /// The word of the command, for messages: `gset` or `aset`.
    pub fn word(&self) -> &'static str {
        if self.all { "aset" } else { "gset" }
    }
}

/// A piece of a command's text for the simple protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Sent as it is.
    Text(Box<[u8]>),
    /// Replaced by the variable's text. Substitution is textual as in pgbench: `1 -:x` with a negative `x` becomes a
    /// comment.
    Variable {
        /// The variable.
        slot: Slot,
        /// What is sent where it has no value: its name with the colon.
        name: Box<[u8]>,
    },
}

impl Sql {
    /// Makes a command of what the scanner collected.
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
                // A cast: all colons go by.
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

    /// A variable behind a minus: as text of the simple protocol a negative value makes `--` of it, and the rest of the
    /// line a comment. Quotes are counted, not read: within a literal nothing becomes a comment.
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

    /// The command as the script has it.
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

/// On one line, without a semicolon at the end.
fn label(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let words: Vec<_> = text.split_whitespace().collect();
    let line = words.join(" ");
    line.strip_suffix(';').map_or(line.as_str(), str::trim_end).to_owned()
}

/// The line that stands for a command: its first one, cut where it is long.
pub(super) fn first_line(text: &[u8]) -> String {
    let end = text.iter().position(|&b| b == b'\n' || b == b'\r').unwrap_or(text.len());
    String::from_utf8_lossy(&text[..end.min(LINE_BYTES)]).into_owned()
}
