//! Values of expressions, and evaluation errors.

use std::fmt;

use super::number::{six_places, write_double, write_integer};

/// Most arguments of a function, as in pgbench.
pub const MAX_ARGUMENTS: usize = 16;

/// A value of pgbench's language. Text exists only in variables, and is parsed when an expression reads it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// NULL.
    Null,
    /// TRUE or FALSE.
    Bool(bool),
    /// A 64-bit integer.
    Int(i64),
    /// A double.
    Double(f64),
}

impl Value {
    fn type_name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Int(_) => "int",
            Self::Double(_) => "double",
        }
    }

    /// Whether `\if` and `CASE` take the branch: for non-zero numbers, and TRUE.
    pub fn truth(self) -> bool {
        match self {
            Self::Null => false,
            Self::Bool(value) => value,
            Self::Int(value) => value != 0,
            Self::Double(value) => value != 0.0,
        }
    }

    /// The boolean; other types are not converted.
    pub(super) fn to_bool(self) -> Result<bool, EvalError> {
        match self {
            Self::Bool(value) => Ok(value),
            _ => Err(EvalError::Coerce(self.type_name(), "boolean")),
        }
    }

    /// The integer; doubles are rounded, halves to even.
    #[inline]
    pub(super) fn to_int(self) -> Result<i64, EvalError> {
        match self {
            Self::Int(value) => Ok(value),
            Self::Double(value) => {
                let value = value.round_ties_even();
                let fits = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&value);
                if fits { Ok(value as i64) } else { Err(EvalError::DoubleToInt(value)) }
            }
            _ => Err(EvalError::Coerce(self.type_name(), "int")),
        }
    }

    /// The value as a double.
    pub(super) fn to_double(self) -> Result<f64, EvalError> {
        match self {
            Self::Double(value) => Ok(value),
            Self::Int(value) => Ok(value as f64),
            _ => Err(EvalError::Coerce(self.type_name(), "double")),
        }
    }

    /// Appends the value as SQL text: `NULL`, `true`, decimal digits, or 15 significant digits.
    #[inline]
    pub fn write(self, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.extend_from_slice(b"NULL"),
            Self::Bool(value) => out.extend_from_slice(if value { b"true" } else { b"false" }),
            Self::Int(value) => write_integer(out, value),
            Self::Double(value) => write_double(out, value),
        }
    }
}

/// Format of `debug()`: type and value, such as `int 5`; NULL is `null`.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.type_name())?;
        if *self == Self::Null {
            return Ok(());
        }
        let mut text = Vec::new();
        self.write(&mut text);
        write!(f, " {}", String::from_utf8_lossy(&text))
    }
}

/// An evaluation error; messages are pgbench's.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EvalError {
    /// A value of the first type was found where the second is required.
    #[error("cannot coerce {0} to {1}")]
    Coerce(&'static str, &'static str),
    /// A double that is out of the 64-bit range, or not a number, was used as an integer.
    #[error("double to int overflow for {}", six_places(*.0))]
    DoubleToInt(f64),
    /// Overflow of an addition.
    #[error("bigint add out of range")]
    Add,
    /// Overflow of a subtraction.
    #[error("bigint sub out of range")]
    Sub,
    /// Overflow of a multiplication.
    #[error("bigint mul out of range")]
    Mul,
    /// Overflow of a division: the least integer by −1.
    #[error("bigint div out of range")]
    Div,
    /// Integer `/` or `%` by zero.
    #[error("division by zero")]
    DivisionByZero,
    /// A random function with a lower end above its upper end.
    #[error("empty range given to random")]
    EmptyRange,
    /// A random function over more than 2^63 − 1 values.
    #[error("random range is too large")]
    RangeTooLarge,
    /// Invalid parameter of `random_gaussian`.
    #[error("gaussian parameter must be at least 2.000000 (not {})", six_places(*.0))]
    Gaussian(f64),
    /// Invalid parameter of `random_zipfian`.
    #[error("zipfian parameter must be in range [1.001, 1000] (not {})", six_places(*.0))]
    Zipfian(f64),
    /// Invalid parameter of `random_exponential`.
    #[error("exponential parameter must be greater than zero (not {})", six_places(*.0))]
    Exponential(f64),
    /// Invalid size of `permute`.
    #[error("permute size parameter must be greater than zero")]
    PermuteSize,
    /// More than [`MAX_ARGUMENTS`] arguments.
    #[error("too many function arguments, maximum is {max}", max = MAX_ARGUMENTS)]
    TooManyArguments,
    /// A variable without a value.
    #[error("undefined variable \"{0}\"")]
    Undefined(String),
    /// Name and text of a variable whose text is not a value.
    #[error("malformed variable \"{0}\" value: \"{1}\"")]
    Malformed(String, String),
    /// Text of a variable that is a sign without digits.
    #[error("invalid input syntax for type bigint: \"{0}\"")]
    NotInteger(String),
    /// Text of a variable that is an integer beyond 64 bits.
    #[error("value \"{0}\" is out of range for type bigint")]
    OutOfRange(String),
}

impl EvalError {
    /// Whether a variable's text is empty, as after a NULL, which pgbench's message does not say.
    pub fn is_of_empty_text(&self) -> bool {
        matches!(self, Self::Malformed(_, text) if text.is_empty())
    }
}
