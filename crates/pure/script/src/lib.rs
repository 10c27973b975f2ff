//! The pgbench script language (pgbench manual, "Custom Scripts").
//!
//! Scripts are parsed once into commands whose variables are numbered slots and whose expressions are code for
//! a stack machine; running them neither hashes nor allocates. [`Scripts`] holds all scripts of a run, which
//! share their variables.
//!
//! Parsing: `scan` finds the ends of SQL commands and `sql` the variables in them; `meta` parses backslash
//! commands, with `expr` for expressions. Running: [`Variables`] holds a client's variables, [`Expr::eval`]
//! evaluates, a [`Random`](pgdyno_core::random::Random) draws, and [`Streams`] derives the seeds. This crate
//! talks to no server. [`tpcc`] has the scripts of TPC-C.
//!
//! Messages are pgbench's, word for word, without the leading `pgbench: error: `.

mod ast;
mod builtin;
mod conditions;
mod error;
mod expr;
#[doc(hidden)]
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
pub use streams::{Streams, ThreadStreams};
pub use value::{EvalError, MAX_ARGUMENTS, Value};
pub use variables::{Automatic, Variables};
pub use weakness::{Routine, reached, words};
