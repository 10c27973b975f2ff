//! Expressions of `\set`, `\if` and `\elif`.
//!
//! An expression is compiled directly to code of a stack machine: constants, variables and calls in pgbench's
//! order of evaluation, with jumps for what AND, OR and CASE skip. Evaluation neither recurses nor allocates,
//! so a sum of a hundred thousand terms needs no more stack than one of two.

mod eval;
mod functions;
mod lexer;
mod parser;

#[cfg(test)]
mod tests;

pub use eval::Scratch;
pub(super) use functions::Function;
pub use parser::MAX_DEPTH;
pub(super) use parser::{Site, parse};

use super::{Slot, Value};

/// A compiled expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr {
    code: Box<[Op]>,
}

impl Expr {
    pub(super) fn new(code: Vec<Op>) -> Self {
        Self { code: code.into() }
    }

    /// Variables that the expression reads, in all branches.
    pub(super) fn variables(&self) -> impl Iterator<Item = Slot> + '_ {
        self.code.iter().filter_map(|op| match op {
            Op::Load(slot) => Some(*slot),
            _ => None,
        })
    }
}

/// An instruction of the stack machine. Jumps are relative: they give the number of instructions to skip.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Op {
    /// Pushes a constant.
    Push(Value),
    /// Pushes the value of a variable.
    Load(Slot),
    /// Replaces the topmost values, as many as given, by the result of a function.
    Call(Function, u8),
    /// After the left operand of AND: if it decides, keeps it and jumps over the right one.
    And(u32),
    /// After the left operand of OR, like `And`.
    Or(u32),
    /// After the right operand of AND or OR: checks that it is a boolean or NULL.
    Truth,
    /// After a condition of CASE: drops it, and jumps if it is not true.
    When(u32),
    /// Jumps unconditionally.
    Jump(u32),
    /// Fails because a function has more than [`MAX_ARGUMENTS`] arguments, which pgbench reports at evaluation.
    TooManyArguments,
}
