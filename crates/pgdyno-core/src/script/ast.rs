//! What a script is once it is read.

use super::AUTOMATIC;

/// Number of a variable within a script; an index into the values that [`Script::frame`] makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub(super) u16);

impl Slot {
    /// The index into a frame.
    #[inline]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// A script, ready to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// Name, for example `tpcb-like`.
    pub name: String,
    /// Commands in order.
    pub commands: Vec<Command>,
    /// Names of the variables by slot; those of [`AUTOMATIC`] come first.
    pub variables: Vec<String>,
}

impl Script {
    /// The values of one client's variables before its first transaction: the automatic ones as given, all
    /// others 0 (each is set before it is used, or the script would not have been accepted). Reuse it for
    /// every transaction.
    ///
    /// `seed` is shown to scripts as `:random_seed` and `:default_seed`, in pgbench's way as a signed number.
    pub fn frame(&self, scale: i64, client_id: i64, seed: u64) -> Vec<i64> {
        let mut values = vec![0; self.variables.len()];
        values[..AUTOMATIC.len()].copy_from_slice(&[
            scale,
            client_id,
            seed.cast_signed(),
            seed.cast_signed(),
        ]);
        values
    }

    /// The SQL commands in order.
    pub fn statements(&self) -> impl Iterator<Item = &Sql> {
        self.commands.iter().filter_map(|command| match command {
            Command::Sql(sql) => Some(sql),
            Command::Set { .. } => None,
        })
    }

    /// SQL statements of a transaction without BEGIN and END: what QPS counts.
    pub fn statements_per_transaction(&self) -> u32 {
        self.statements().filter(|sql| sql.kind == SqlKind::Statement).count() as u32
    }
}

/// One command of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// `\set variable expression`.
    Set {
        /// Where the value goes.
        variable: Slot,
        /// What it is.
        value: Expr,
    },
    /// A statement for the server.
    Sql(Sql),
}

/// What a statement does to the transaction around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SqlKind {
    /// BEGIN or START TRANSACTION.
    Begin,
    /// END, COMMIT, ROLLBACK or ABORT.
    End,
    /// Anything else.
    Statement,
}

/// One SQL statement, without its semicolon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sql {
    /// The text for the extended protocol: every use of a variable is a parameter of its own, `$1`, `$2`
    /// and so on, as pgbench numbers them.
    pub text: String,
    /// The variable of each parameter in turn.
    pub parameters: Vec<Slot>,
    /// The text for the simple protocol, to be put together from pieces. Substitution is textual as in
    /// pgbench: `1 -:x` with a negative `x` becomes a comment.
    pub pieces: Vec<Piece>,
    /// What it does to the transaction around it.
    pub kind: SqlKind,
    /// Whether it is written so that rows come back: SELECT, VALUES, TABLE, SHOW, WITH, EXPLAIN, FETCH, or a
    /// RETURNING somewhere. A hint for buffers; the server's messages decide.
    pub returns_rows: bool,
    /// The statement on one line as the script writes it, for reports.
    pub label: String,
}

impl Sql {
    /// Appends the text for the simple protocol with the values of a frame. `itoa` writes a number.
    pub fn substitute(&self, values: &[i64], out: &mut Vec<u8>, mut itoa: impl FnMut(i64, &mut Vec<u8>)) {
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text.as_bytes()),
                Piece::Variable(slot) => itoa(values[slot.index()], out),
            }
        }
    }
}

/// A piece of a statement's text for the simple protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Sent as it is.
    Text(String),
    /// Replaced by the variable's value in decimal.
    Variable(Slot),
}

/// A binary operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`, towards zero
    Div,
    /// `%`, with the sign of the dividend
    Mod,
}

/// An integer expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expr {
    /// A constant.
    Integer(i64),
    /// The value of a variable.
    Variable(Slot),
    /// An operator between two expressions. Unary minus is `0 - x`, as in pgbench's grammar.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `random(lowest, highest)`, both included.
    Random(Box<Expr>, Box<Expr>),
}
