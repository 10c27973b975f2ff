//! Evaluation of expressions.

use pgdyno_core::random::Random;

use super::{Expr, Op};
use crate::{EvalError, MAX_ARGUMENTS, Value, Variables};

/// Reusable memory for evaluation, and the values passed to `debug()`.
#[derive(Debug, Clone, Default)]
pub struct Scratch {
    stack: Vec<Value>,
    /// Arguments of all `debug()` calls in order, also of evaluations that failed. The caller prints and clears them.
    pub debug: Vec<Value>,
}

impl Expr {
    /// Evaluates the expression with the variables and the random stream of a client.
    ///
    /// # Errors
    /// Any [`EvalError`]; integer overflow is an error, as in pgbench.
    pub fn eval(
        &self,
        variables: &mut Variables,
        random: &mut Random,
        scratch: &mut Scratch,
    ) -> Result<Value, EvalError> {
        scratch.stack.clear();
        let mut at = 0;
        while let Some(op) = self.code.get(at) {
            at += 1;
            match *op {
                Op::Push(value) => scratch.stack.push(value),
                Op::Load(slot) => scratch.stack.push(variables.value(slot)?),
                Op::Call(function, count) => {
                    let first = scratch.stack.len() - usize::from(count);
                    let value = function.apply(&scratch.stack[first..], random, &mut scratch.debug)?;
                    scratch.stack.truncate(first);
                    scratch.stack.push(value);
                }
                Op::Jump(over) => at += over as usize,
                Op::When(over) => {
                    if !pop(&mut scratch.stack).truth() {
                        at += over as usize;
                    }
                }
                Op::And(over) => at += decided(&mut scratch.stack, false, over)?,
                Op::Or(over) => at += decided(&mut scratch.stack, true, over)?,
                Op::Truth => truth_or_null(&scratch.stack)?,
                Op::TooManyArguments => {
                    debug_assert!(scratch.stack.len() >= MAX_ARGUMENTS);
                    return Err(EvalError::TooManyArguments);
                }
            }
        }
        Ok(pop(&mut scratch.stack))
    }
}

fn pop(stack: &mut Vec<Value>) -> Value {
    stack.pop().expect("the parser leaves a value for every step that takes one")
}

/// Applies the left operand of AND or OR. NULL or the deciding boolean is the result, and the right operand is
/// skipped; otherwise the left operand is dropped and the right one is the result.
fn decided(stack: &mut Vec<Value>, by: bool, over: u32) -> Result<usize, EvalError> {
    let left = pop(stack);
    if left == Value::Null || left.to_bool()? == by {
        stack.push(left);
        return Ok(over as usize);
    }
    Ok(0)
}

fn truth_or_null(stack: &[Value]) -> Result<(), EvalError> {
    match stack.last() {
        Some(Value::Null) | None => Ok(()),
        Some(value) => value.to_bool().map(|_| ()),
    }
}
