//! Classifies SQL statements by their first words.

/// Effect of a statement on the surrounding transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SqlKind {
    /// BEGIN or START TRANSACTION.
    Begin,
    /// END, COMMIT, or PREPARE TRANSACTION: makes the preceding changes durable.
    Commit,
    /// ROLLBACK or ABORT, but not ROLLBACK TO.
    Rollback,
    /// Anything else.
    Statement,
}

/// One statement of an SQL command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Part {
    /// Effect on the surrounding transaction.
    pub kind: SqlKind,
    /// Whether the statement begins with SELECT, SHOW or VALUES; outside a transaction block it changes
    /// nothing, unless a function that it calls does.
    pub reads: bool,
}

/// Number of words examined at the start of a statement: `CREATE OR REPLACE FUNCTION`, `ROLLBACK WORK TO`.
const FIRST: usize = 4;

/// First words of a statement.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// First words in upper case, including those within parentheses.
    first: Vec<Vec<u8>>,
    /// First words outside parentheses, which show whether the statement has a body. They persist across
    /// backslash commands, up to a semicolon.
    outside: Vec<Vec<u8>>,
    /// Whether the statement has any token.
    any: bool,
}

impl Words {
    pub fn add(&mut self, word: &[u8], in_parentheses: bool) {
        self.any = true;
        if self.first.len() < FIRST {
            self.first.push(word.to_vec());
        }
        if !in_parentheses && self.outside.len() < FIRST {
            self.outside.push(word.to_vec());
        }
    }

    /// Records a token that is neither a word nor white space.
    pub fn other(&mut self) {
        self.any = true;
    }

    /// Starts over after a semicolon.
    pub fn forget(&mut self) {
        self.outside.clear();
    }

    /// Whether the statement is `CREATE [OR REPLACE] FUNCTION` or `PROCEDURE`.
    pub fn creates_routine(&self) -> bool {
        let words = texts(&self.outside);
        let what = match words.as_slice() {
            ["CREATE", "OR", "REPLACE", what, ..] | ["CREATE", what, ..] => what,
            _ => return false,
        };
        matches!(*what, "FUNCTION" | "PROCEDURE")
    }

    /// Classifies the statement that ends here; `None` if it is empty.
    pub fn part(&mut self) -> Option<Part> {
        if !std::mem::take(&mut self.any) {
            return None;
        }
        let part = Part::classify(&texts(&self.first));
        self.first.clear();
        Some(part)
    }
}

/// The words as text; those that are not UTF-8 match nothing and become empty.
fn texts(words: &[Vec<u8>]) -> Vec<&str> {
    words.iter().map(|word| std::str::from_utf8(word).unwrap_or_default()).collect()
}

impl Part {
    fn classify(words: &[&str]) -> Self {
        let kind = match words {
            ["BEGIN", ..] | ["START", "TRANSACTION", ..] => SqlKind::Begin,
            [_, "PREPARED", ..] => SqlKind::Statement,
            ["END" | "COMMIT", ..] | ["PREPARE", "TRANSACTION", ..] => SqlKind::Commit,
            ["ROLLBACK", rest @ ..] if rest.contains(&"TO") => SqlKind::Statement,
            ["ROLLBACK" | "ABORT", ..] => SqlKind::Rollback,
            _ => SqlKind::Statement,
        };
        Self { kind, reads: matches!(words, ["SELECT" | "SHOW" | "VALUES", ..]) }
    }
}
