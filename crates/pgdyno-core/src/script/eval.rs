//! The value of an expression.

use super::{BinaryOp, Draw, Expr};

/// Why an expression has no value; the texts are pgbench's (`evalStandardFunc` in `pgbench.c`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum EvalError {
    /// A sum beyond 64 bits.
    #[error("bigint add out of range")]
    Add,
    /// A difference beyond 64 bits.
    #[error("bigint sub out of range")]
    Sub,
    /// A product beyond 64 bits.
    #[error("bigint mul out of range")]
    Mul,
    /// The least integer over −1.
    #[error("bigint div out of range")]
    Div,
    /// `/` or `%` by zero.
    #[error("division by zero")]
    DivisionByZero,
    /// `random` with its ends the wrong way round.
    #[error("empty range given to random")]
    EmptyRange,
    /// `random` over more than 2^63 − 1 numbers.
    #[error("random range is too large")]
    RangeTooLarge,
}

impl Expr {
    /// The value with the variables of a frame. Operands are computed from left to right, so the random
    /// numbers are drawn in the order in which they are written.
    ///
    /// # Errors
    /// [`EvalError`] where the value is no 64-bit integer; as in pgbench, nothing wraps around.
    pub fn eval(&self, vars: &[i64], rng: &mut impl Draw) -> Result<i64, EvalError> {
        match self {
            Self::Integer(value) => Ok(*value),
            Self::Variable(slot) => Ok(vars[slot.index()]),
            Self::Binary(op, left, right) => {
                let left = left.eval(vars, rng)?;
                op.apply(left, right.eval(vars, rng)?)
            }
            Self::Random(lowest, highest) => {
                let lowest = lowest.eval(vars, rng)?;
                random(lowest, highest.eval(vars, rng)?, rng)
            }
        }
    }
}

impl BinaryOp {
    fn apply(self, left: i64, right: i64) -> Result<i64, EvalError> {
        match self {
            Self::Add => left.checked_add(right).ok_or(EvalError::Add),
            Self::Sub => left.checked_sub(right).ok_or(EvalError::Sub),
            Self::Mul => left.checked_mul(right).ok_or(EvalError::Mul),
            Self::Div | Self::Mod if right == 0 => Err(EvalError::DivisionByZero),
            Self::Div => left.checked_div(right).ok_or(EvalError::Div),
            // The least integer % −1 is 0 in pgbench, while the processor traps.
            Self::Mod => Ok(left.wrapping_rem(right)),
        }
    }
}

fn random(lowest: i64, highest: i64, rng: &mut impl Draw) -> Result<i64, EvalError> {
    if lowest > highest {
        return Err(EvalError::EmptyRange);
    }
    let numbers = highest.checked_sub(lowest).and_then(|range| range.checked_add(1));
    numbers.ok_or(EvalError::RangeTooLarge)?;
    Ok(rng.between(lowest, highest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::script::{Command, Random, Script};

    /// The parts of an expression that the generator of tests makes.
    #[derive(Debug, Clone)]
    enum Tree {
        Leaf(i64),
        Minus(Box<Tree>),
        Op(char, Box<Tree>, Box<Tree>),
    }

    fn tree() -> impl Strategy<Value = Tree> {
        let leaf = prop_oneof![-20i64..20, any::<i64>(), Just(i64::MIN), Just(i64::MAX)].prop_map(Tree::Leaf);
        leaf.prop_recursive(6, 40, 2, |inner| {
            prop_oneof![
                inner.clone().prop_map(|tree| Tree::Minus(tree.into())),
                (prop::sample::select(vec!['+', '-', '*', '/', '%']), inner.clone(), inner)
                    .prop_map(|(op, left, right)| Tree::Op(op, left.into(), right.into())),
            ]
        })
    }

    /// The naive second implementation, in 128 bits: `None` where a step leaves 64 bits or divides by zero.
    fn naive(tree: &Tree) -> Option<i128> {
        let value = match tree {
            Tree::Leaf(value) => i128::from(*value),
            Tree::Minus(inner) => -naive(inner)?,
            Tree::Op(op, left, right) => match (naive(left)?, op, naive(right)?) {
                (l, '+', r) => l + r,
                (l, '-', r) => l - r,
                (l, '*', r) => l * r,
                (_, _, 0) => return None,
                (l, '/', r) => l / r,
                (l, _, r) => l % r,
            },
        };
        i64::try_from(value).ok().map(i128::from)
    }

    /// The tree as text, with parentheses around everything, or only where precedence asks for them.
    fn text(tree: &Tree, bare: bool) -> String {
        let level = |tree: &Tree| match tree {
            Tree::Leaf(value) if *value < 0 => 3,
            Tree::Leaf(_) => 4,
            Tree::Minus(_) => 3,
            Tree::Op('*' | '/' | '%', ..) => 2,
            Tree::Op(..) => 1,
        };
        let part = |inner: &Tree, least: u8| {
            let text = text(inner, bare);
            if bare && level(inner) >= least { text } else { format!("({text})") }
        };
        match tree {
            Tree::Leaf(value) => value.to_string(),
            Tree::Minus(inner) => format!("- {}", part(inner, 4)),
            Tree::Op(op, left, right) => {
                let own = level(tree);
                format!("{} {op} {}", part(left, own), part(right, own + 1))
            }
        }
    }

    fn eval(expression: &str) -> Result<i64, EvalError> {
        let script = Script::parse("test", &format!("\\set x {expression}\n")).expect(expression);
        let Command::Set { value, .. } = &script.commands[0] else { panic!("{expression} is no \\set") };
        value.eval(&script.frame(1, 0, 0), &mut Random::seeded(1))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        #[test]
        fn arithmetic_agrees_with_128_bits(tree in tree(), bare: bool) {
            let text = text(&tree, bare);
            prop_assert_eq!(eval(&text).ok().map(i128::from), naive(&tree), "{}", text);
        }
    }

    #[test]
    fn faults_have_pgbenchs_texts() {
        for (expression, message) in [
            ("9223372036854775807 + 1", "bigint add out of range"),
            ("-9223372036854775808 - 1", "bigint sub out of range"),
            ("- (-9223372036854775808)", "bigint sub out of range"),
            ("9223372036854775807 * 2", "bigint mul out of range"),
            ("-9223372036854775808 / -1", "bigint div out of range"),
            ("1 / 0", "division by zero"),
            ("1 % (1 - 1)", "division by zero"),
            ("random(2, 1)", "empty range given to random"),
            ("random(-9223372036854775808, 9223372036854775807)", "random range is too large"),
            ("random(0, 9223372036854775807)", "random range is too large"),
        ] {
            assert_eq!(eval(expression).expect_err(expression).to_string(), message);
        }
    }

    #[test]
    fn the_corners_of_the_grammar_have_pgbenchs_values() {
        for (expression, value) in [
            ("-9223372036854775808 % -1", 0),
            ("-7 / 2", -3),
            ("-7 % 2", -1),
            ("2 + 3 * 4", 14),
            ("10 - 4 - 3", 3),
            ("100 / 10 * 10", 100),
            ("- 2 * 3", -6),
            ("+5", 5),
            ("2--3", 5),
            ("random(7, 7)", 7),
            ("RANDOM(1, 9223372036854775807) / 9223372036854775807 * 0", 0),
            ("100000 * :scale", 100_000),
        ] {
            assert_eq!(eval(expression), Ok(value), "{expression}");
        }
    }
}
