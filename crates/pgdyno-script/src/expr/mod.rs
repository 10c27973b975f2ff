//! Expressions.
//!
//! An expression is read straight into code for a stack machine: constants, variables and calls in the order in
//! which pgbench evaluates them, with jumps where AND, OR and CASE leave something out. Evaluating recurses
//! nowhere and allocates nothing, so a sum of a hundred thousand terms needs no more stack than one of two.

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

/// An expression, ready to be evaluated.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr {
    code: Box<[Op]>,
}

impl Expr {
    pub(super) fn new(code: Vec<Op>) -> Self {
        Self { code: code.into() }
    }

    /// The variables that it reads, those of all branches.
    pub(super) fn variables(&self) -> impl Iterator<Item = Slot> + '_ {
        self.code.iter().filter_map(|op| match op {
            Op::Load(slot) => Some(*slot),
            _ => None,
        })
    }
}

/// A step of the stack machine. Jumps count the steps that they leave out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Op {
    /// Pushes a constant.
    Push(Value),
    /// Pushes the value of a variable.
    Load(Slot),
    /// Replaces so many values by what a function makes of them.
    Call(Function, u8),
    /// The left operand of AND: what decides by itself stays and jumps over the right one.
    And(u32),
    /// The left operand of OR.
    Or(u32),
    /// The right operand of AND or OR: it must be a boolean or NULL.
    Truth,
    /// A condition of CASE: drops it, and jumps where it is not true.
    When(u32),
    /// Jumps.
    Jump(u32),
    /// A function got more than [`MAX_ARGUMENTS`]; pgbench notices when it evaluates.
    TooManyArguments,
}
