//! The pgbench script language (pgbench manual, "Custom Scripts").
//!
//! Scripts are read once into commands whose variables are numbered slots and whose expressions are code for a stack
//! machine; running them hashes nothing and allocates nothing. [`Scripts`] holds those of a run, which share their
//! variables.
//!
//! Reading: `scan` finds the ends of SQL commands and `sql` the variables in them; `meta` reads backslash commands,
//! with `expr` for expressions. Running: [`Variables`] hold what a client knows, [`Expr::eval`] computes, a
//! [`Random`](pgdyno_core::random::Random) draws, [`Streams`] says from which seeds. What the commands do at the server
//! is not here: this crate talks to none. [`tpcc`] has the scripts of TPC-C.
//!
//! Messages are pgbench's, word by word, without the `pgbench: error: ` before them.

mod ast;
mod builtin;
mod conditions;
mod error;
mod expr;
#[doc(hidden)]
pub mod fuzz;
mod hash;
mod line;
mod meta;
mod names;
mod number;
mod parser;
mod parts;
mod protocol;
mod quotes;
mod risks;
mod scan;
mod setrandom;
mod shell;
mod sleep;
mod sql;
mod statement;
mod streams;
mod tokens;
pub mod tpcc;
mod used;
mod value;
mod variables;
mod weakness;

pub use ast::{Action, Command, Script, Scripts};
pub use builtin::Builtin;
pub use error::ScriptError;
pub use expr::{Expr, MAX_DEPTH, Scratch};
pub use names::{AUTOMATIC, Definition, DefinitionError, Names, Place, Slot, valid_name};
pub use protocol::Protocol;
pub use risks::{Risk, risks};
pub use shell::Shell;
pub use sleep::Sleep;
pub use sql::{MAX_PARAMETERS, Piece, Sql, Store};
pub use statement::{Part, SqlKind};
pub use streams::{Chooser, Streams, ThreadStreams};
pub use value::{EvalError, MAX_ARGUMENTS, Value};
pub use variables::{Automatic, Variables};
pub use weakness::{Routine, reached, words};
