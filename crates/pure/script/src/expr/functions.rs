//! Functions and operators of expressions.

use pgdyno_core::random::{Draw, Random};

use crate::{EvalError, Value, hash};

/// A function or an operator. As in pgbench's grammar, `>` and `>=` are `<` and `<=` with swapped operands, and
/// a unary minus is `0 - x`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Function {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    Equal,
    NotEqual,
    AtMost,
    Less,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
    Not,
    Is,
    Abs,
    Debug,
    Double,
    Exp,
    Greatest,
    HashFnv1a,
    HashMurmur2,
    Int,
    Least,
    Ln,
    Permute,
    Pi,
    Power,
    Random,
    RandomExponential,
    RandomGaussian,
    RandomZipfian,
    Sqrt,
}

/// Number of arguments that a function takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arity {
    /// A fixed number of arguments.
    Exactly(usize),
    /// One argument or more.
    Some,
    /// Up to this many arguments: with one less, `:default_seed` is appended.
    Seeded(usize),
}

impl Function {
    /// Function, name in messages, and number of arguments for a name of any case.
    pub(super) fn by_name(name: &str) -> Option<(Self, &'static str, Arity)> {
        use Arity::{Exactly, Seeded, Some};
        const KNOWN: [(&str, Function, Arity); 21] = [
            ("mod", Function::Mod, Exactly(2)),
            ("abs", Function::Abs, Exactly(1)),
            ("least", Function::Least, Some),
            ("greatest", Function::Greatest, Some),
            ("debug", Function::Debug, Exactly(1)),
            ("pi", Function::Pi, Exactly(0)),
            ("sqrt", Function::Sqrt, Exactly(1)),
            ("ln", Function::Ln, Exactly(1)),
            ("exp", Function::Exp, Exactly(1)),
            ("int", Function::Int, Exactly(1)),
            ("double", Function::Double, Exactly(1)),
            ("random", Function::Random, Exactly(2)),
            ("random_gaussian", Function::RandomGaussian, Exactly(3)),
            ("random_exponential", Function::RandomExponential, Exactly(3)),
            ("random_zipfian", Function::RandomZipfian, Exactly(3)),
            ("pow", Function::Power, Exactly(2)),
            ("power", Function::Power, Exactly(2)),
            ("hash", Function::HashMurmur2, Seeded(2)),
            ("hash_murmur2", Function::HashMurmur2, Seeded(2)),
            ("hash_fnv1a", Function::HashFnv1a, Seeded(2)),
            ("permute", Function::Permute, Seeded(3)),
        ];
        let known = KNOWN.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name));
        known.map(|&(name, function, arity)| (function, name, arity))
    }

    /// Applies the function to arguments whose number the parser has checked. The result is NULL if any
    /// argument is, except for IS and `debug()`.
    pub(super) fn apply(
        self,
        args: &[Value],
        random: &mut Random,
        debug: &mut Vec<Value>,
    ) -> Result<Value, EvalError> {
        if args.contains(&Value::Null) && !matches!(self, Self::Is | Self::Debug) {
            return Ok(Value::Null);
        }
        match self {
            Self::Add | Self::Sub | Self::Mul | Self::Div | Self::Mod => self.arithmetic(args[0], args[1]),
            Self::Equal | Self::NotEqual | Self::AtMost | Self::Less => self.compare(args[0], args[1]),
            Self::BitAnd | Self::BitOr | Self::BitXor | Self::ShiftLeft | Self::ShiftRight => {
                self.bits(args[0].to_int()?, args[1].to_int()?)
            }
            Self::Not => Ok(Value::Bool(!args[0].to_bool()?)),
            Self::Is => Ok(Value::Bool(is(args[0], args[1]))),
            Self::Debug => {
                debug.push(args[0]);
                Ok(args[0])
            }
            Self::Least | Self::Greatest => self.extreme(args),
            Self::Random | Self::RandomExponential | Self::RandomGaussian | Self::RandomZipfian => {
                self.draw(args, random)
            }
            Self::HashFnv1a | Self::HashMurmur2 | Self::Permute => self.hash(args),
            _ => self.number(args),
        }
    }

    fn arithmetic(self, left: Value, right: Value) -> Result<Value, EvalError> {
        let double = matches!(left, Value::Double(_)) || matches!(right, Value::Double(_));
        if double && self != Self::Mod {
            let (left, right) = (left.to_double()?, right.to_double()?);
            return Ok(Value::Double(match self {
                Self::Add => left + right,
                Self::Sub => left - right,
                Self::Mul => left * right,
                _ => left / right,
            }));
        }
        let (left, right) = (left.to_int()?, right.to_int()?);
        let value = match self {
            Self::Add => left.checked_add(right).ok_or(EvalError::Add),
            Self::Sub => left.checked_sub(right).ok_or(EvalError::Sub),
            Self::Mul => left.checked_mul(right).ok_or(EvalError::Mul),
            _ if right == 0 => Err(EvalError::DivisionByZero),
            Self::Div => left.checked_div(right).ok_or(EvalError::Div),
            // The least integer % −1 is 0, but the processor traps.
            _ => Ok(left.wrapping_rem(right)),
        };
        value.map(Value::Int)
    }

    fn compare(self, left: Value, right: Value) -> Result<Value, EvalError> {
        let order = if matches!(left, Value::Double(_)) || matches!(right, Value::Double(_)) {
            let left = left.to_double()?;
            left.partial_cmp(&right.to_double()?)
        } else {
            let left = left.to_int()?;
            Some(left.cmp(&right.to_int()?))
        };
        Ok(Value::Bool(match self {
            Self::Equal => order.is_some_and(|order| order.is_eq()),
            Self::NotEqual => !order.is_some_and(|order| order.is_eq()),
            Self::AtMost => order.is_some_and(|order| order.is_le()),
            _ => order.is_some_and(|order| order.is_lt()),
        }))
    }

    /// Shifts use the lowest six bits of the distance, as the processors do on which pgbench relies.
    fn bits(self, left: i64, right: i64) -> Result<Value, EvalError> {
        Ok(Value::Int(match self {
            Self::BitAnd => left & right,
            Self::BitOr => left | right,
            Self::BitXor => left ^ right,
            Self::ShiftLeft => left.wrapping_shl(right as u32),
            _ => left.wrapping_shr(right as u32),
        }))
    }

    /// The result is a double if any argument is one.
    fn extreme(self, args: &[Value]) -> Result<Value, EvalError> {
        let least = self == Self::Least;
        if args.iter().any(|arg| matches!(arg, Value::Double(_))) {
            let mut extreme = args[0].to_double()?;
            for arg in &args[1..] {
                let value = arg.to_double()?;
                // Written out because NaN must behave as in C's comparisons.
                let stays = if least { extreme < value } else { extreme > value };
                extreme = if stays { extreme } else { value };
            }
            return Ok(Value::Double(extreme));
        }
        let mut extreme = args[0].to_int()?;
        for arg in &args[1..] {
            let value = arg.to_int()?;
            extreme = if least { extreme.min(value) } else { extreme.max(value) };
        }
        Ok(Value::Int(extreme))
    }

    fn draw(self, args: &[Value], random: &mut Random) -> Result<Value, EvalError> {
        let (lowest, highest) = (args[0].to_int()?, args[1].to_int()?);
        if lowest > highest {
            return Err(EvalError::EmptyRange);
        }
        let numbers = highest.checked_sub(lowest).and_then(|range| range.checked_add(1));
        numbers.ok_or(EvalError::RangeTooLarge)?;
        if self == Self::Random {
            return Ok(Value::Int(random.between(lowest, highest)));
        }
        let parameter = args[2].to_double()?;
        // NaN parameters are refused, too; pgbench would loop forever.
        match self {
            Self::RandomGaussian if parameter >= 2.0 => Ok(random.gaussian(lowest, highest, parameter)),
            Self::RandomGaussian => Err(EvalError::Gaussian(parameter)),
            Self::RandomZipfian if (1.001..=1000.0).contains(&parameter) => {
                Ok(random.zipfian(lowest, highest, parameter))
            }
            Self::RandomZipfian => Err(EvalError::Zipfian(parameter)),
            _ if parameter > 0.0 => Ok(random.exponential(lowest, highest, parameter)),
            _ => Err(EvalError::Exponential(parameter)),
        }
        .map(Value::Int)
    }

    fn hash(self, args: &[Value]) -> Result<Value, EvalError> {
        let (value, second) = (args[0].to_int()?, args[1].to_int()?);
        Ok(Value::Int(match self {
            Self::HashFnv1a => hash::fnv1a(value, second),
            Self::HashMurmur2 => hash::murmur2(value, second),
            _ => {
                let seed = args[2].to_int()?;
                if second <= 0 {
                    return Err(EvalError::PermuteSize);
                }
                hash::permute(value, second, seed)
            }
        }))
    }

    fn number(self, args: &[Value]) -> Result<Value, EvalError> {
        Ok(match self {
            Self::Pi => Value::Double(std::f64::consts::PI),
            Self::Int => Value::Int(args[0].to_int()?),
            Self::Abs => match args[0] {
                Value::Int(value) => Value::Int(value.wrapping_abs()),
                value => {
                    let value = value.to_double()?;
                    Value::Double(if value < 0.0 { -value } else { value })
                }
            },
            Self::Power => {
                let base = args[0].to_double()?;
                Value::Double(base.powf(args[1].to_double()?))
            }
            Self::Sqrt => Value::Double(args[0].to_double()?.sqrt()),
            Self::Ln => Value::Double(args[0].to_double()?.ln()),
            Self::Exp => Value::Double(args[0].to_double()?.exp()),
            _ => Value::Double(args[0].to_double()?),
        })
    }
}

/// IS compares types and, for constants allowed on its right side, values.
fn is(left: Value, right: Value) -> bool {
    match (left, right) {
        (Value::Null, Value::Null) => true,
        (Value::Bool(left), Value::Bool(right)) => left == right,
        _ => false,
    }
}
