//! Values of expressions, and why an expression has none.

use std::fmt;

use super::number::{six_places, write_double, write_integer};

/// Most arguments of a function, as in pgbench.
pub const MAX_ARGUMENTS: usize = 16;

/// A value of pgbench's language. Text exists only in variables, and is read as one of these when an
/// expression asks for it.
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

    /// Whether `\if` and `CASE` take the branch: numbers but 0, and TRUE.
    pub fn truth(self) -> bool {
        match self {
            Self::Null => false,
            Self::Bool(value) => value,
            Self::Int(value) => value != 0,
            Self::Double(value) => value != 0.0,
        }
    }

    /// The boolean; nothing is converted to one.
    pub(super) fn to_bool(self) -> Result<bool, EvalError> {
        match self {
            Self::Bool(value) => Ok(value),
            _ => Err(EvalError::Coerce(self.type_name(), "boolean")),
        }
    }

    /// The integer; a double is rounded, halves to the even neighbour.
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

    /// The double.
    pub(super) fn to_double(self) -> Result<f64, EvalError> {
        match self {
            Self::Double(value) => Ok(value),
            Self::Int(value) => Ok(value as f64),
            _ => Err(EvalError::Coerce(self.type_name(), "double")),
        }
    }

    /// Appends the value as SQL gets it: `NULL`, `true`, decimal digits, or 15 significant digits.
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

/// As `debug()` prints it: the type and the value, such as `int 5`; NULL is `null`.
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

/// Why an expression has no value; the texts are pgbench's.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EvalError {
    /// A value of the first type where the second is needed.
    #[error("cannot coerce {0} to {1}")]
    Coerce(&'static str, &'static str),
    /// A double beyond 64 bits, or none at all, where an integer is needed.
    #[error("double to int overflow for {}", six_places(*.0))]
    DoubleToInt(f64),
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
    /// `/` or `%` of integers by zero.
    #[error("division by zero")]
    DivisionByZero,
    /// A random function with its ends the wrong way round.
    #[error("empty range given to random")]
    EmptyRange,
    /// A random function over more than 2^63 − 1 numbers.
    #[error("random range is too large")]
    RangeTooLarge,
    /// The parameter of `random_gaussian`.
    #[error("gaussian parameter must be at least 2.000000 (not {})", six_places(*.0))]
    Gaussian(f64),
    /// The parameter of `random_zipfian`.
    #[error("zipfian parameter must be in range [1.001, 1000] (not {})", six_places(*.0))]
    Zipfian(f64),
    /// The parameter of `random_exponential`.
    #[error("exponential parameter must be greater than zero (not {})", six_places(*.0))]
    Exponential(f64),
    /// The size of `permute`.
    #[error("permute size parameter must be greater than zero")]
    PermuteSize,
    /// More arguments than a function may have.
    #[error("too many function arguments, maximum is {max}", max = MAX_ARGUMENTS)]
    TooManyArguments,
    /// A variable without a value.
    #[error("undefined variable \"{0}\"")]
    Undefined(String),
    /// Name and text of a variable whose text is no value.
    #[error("malformed variable \"{0}\" value: \"{1}\"")]
    Malformed(String, String),
    /// The text of a variable that is a sign without digits.
    #[error("invalid input syntax for type bigint: \"{0}\"")]
    NotInteger(String),
    /// The text of a variable that is an integer beyond 64 bits.
    #[error("value \"{0}\" is out of range for type bigint")]
    OutOfRange(String),
}

impl EvalError {
    /// Whether it is that the text of a variable is empty, as a NULL leaves it: pgbench does not say so.
    pub fn is_of_empty_text(&self) -> bool {
        matches!(self, Self::Malformed(_, text) if text.is_empty())
    }
}
