//! The pgbench script language.
//!
//! A script is read once into commands whose variables are numbered slots; running it hashes nothing and, for
//! `\set`, allocates nothing. Text goes through `lexer` and `parser` into the types of `ast`; `eval`
//! computes expressions and `draw` is the random generator behind them.
//!
//! What is here is what the built-in transactions need and scripts like them: `\set` with integer
//! arithmetic and `random()`, and SQL. Everything else of pgbench's language is refused by name (pgbench
//! manual, "Custom Scripts").

mod ast;
mod builtin;
mod draw;
mod error;
mod eval;
mod lexer;
mod parser;
mod sql;

pub use ast::{BinaryOp, Command, Expr, Piece, Script, Slot, Sql, SqlKind};
pub use draw::{Draw, Random};
pub use error::ScriptError;
pub use eval::EvalError;
pub use parser::{MAX_DEPTH, MAX_PARAMETERS};

/// The variables that every script has before its first line, in the order of their slots: the scale
/// factor, the number of the client from 0, the seed of the client's random stream, and the seed that hash
/// functions will take (pgbench manual, "Automatic Variables").
pub const AUTOMATIC: [&str; 4] = ["scale", "client_id", "random_seed", "default_seed"];
