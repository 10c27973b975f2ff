//! What SQL statements are, by their first words.

/// What a statement does to the transaction around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SqlKind {
    /// BEGIN or START TRANSACTION.
    Begin,
    /// END, COMMIT, or PREPARE TRANSACTION: what came before is to last.
    Commit,
    /// ROLLBACK or ABORT, but not ROLLBACK TO.
    Rollback,
    /// Anything else.
    Statement,
}

/// One statement of those that are sent together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Part {
    /// What it does to the transaction around it.
    pub kind: SqlKind,
    /// Whether it begins with SELECT, SHOW or VALUES: outside a transaction block it changes nothing, unless a
    /// function that it calls does.
    pub reads: bool,
}

/// How many words at the start of a statement are looked at: `CREATE OR REPLACE FUNCTION`, `ROLLBACK WORK TO`.
const FIRST: usize = 4;

/// The first words of a statement.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// The first words, in capitals, those within parentheses too.
    first: Vec<Vec<u8>>,
    /// The first words outside parentheses, which tell whether it has a body. They are remembered across backslash
    /// commands, up to a semicolon.
    outside: Vec<Vec<u8>>,
    /// Whether there was anything at all.
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

    /// Something that is no word, and no white space.
    pub fn other(&mut self) {
        self.any = true;
    }

    /// A semicolon ends the statement.
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

    /// What the statement is that ends here; `None` where there was none.
    pub fn part(&mut self) -> Option<Part> {
        if !std::mem::take(&mut self.any) {
            return None;
        }
        let part = Part::of(&texts(&self.first));
        self.first.clear();
        Some(part)
    }
}

/// The words as text; one that is no UTF-8 is no word that is looked for.
fn texts(words: &[Vec<u8>]) -> Vec<&str> {
    words.iter().map(|word| std::str::from_utf8(word).unwrap_or_default()).collect()
}

impl Part {
    fn of(words: &[&str]) -> Self {
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
