//! `\setrandom` of PostgreSQL 9.5 and before, so that old scripts still run.

use super::{
    Action, Expr, Names, Value,
    error::Fault,
    expr::{Function, Op},
    line::{Line, Word, place},
    number,
};

/// Notice to the author of a script with `\setrandom`.
pub(super) const NOTICE: &str =
    "\\setrandom is a command of PostgreSQL 9.5 and before: write \\set x random(lowest, highest) instead";

/// Parses `\setrandom variable lowest highest [uniform | gaussian parameter | exponential parameter]`; every
/// number may be a variable.
pub(super) fn parse(line: &Line<'_>, words: &[Word<'_>], names: &mut Names) -> Result<Action, Fault> {
    let [name, lowest, highest, rest @ ..] = words else { return Err(line.shown("missing argument", None)) };
    let variable = place(name.text, names);
    let mut code = vec![integer(line, lowest, names)?, integer(line, highest, names)?];
    let function = match rest {
        [] => Function::Random,
        [how, rest @ ..] => match (how.text.to_ascii_lowercase().as_slice(), rest) {
            (b"uniform", []) => Function::Random,
            (b"gaussian" | b"exponential", []) => return Err(line.shown("missing argument", None)),
            (b"gaussian", [parameter]) => {
                code.push(double(line, parameter, names)?);
                Function::RandomGaussian
            }
            (b"exponential", [parameter]) => {
                code.push(double(line, parameter, names)?);
                Function::RandomExponential
            }
            (b"uniform" | b"gaussian" | b"exponential", _) => {
                return Err(line.shown("too many arguments", None));
            }
            _ => return Err(line.shown("unexpected argument", Some(how.at))),
        },
    };
    code.push(Op::Call(function, code.len() as u8));
    Ok(Action::Set { variable, value: Expr::new(code) })
}

fn load(word: &Word<'_>, names: &mut Names) -> Option<Op> {
    word.text.strip_prefix(b":").map(|name| Op::Load(names.slot(name)))
}

fn integer(line: &Line<'_>, word: &Word<'_>, names: &mut Names) -> Result<Op, Fault> {
    if let Some(op) = load(word, names) {
        return Ok(op);
    }
    let value = number::integer(word.text).map_err(|_| line.shown("invalid integer", Some(word.at)))?;
    Ok(Op::Push(Value::Int(value)))
}

fn double(line: &Line<'_>, word: &Word<'_>, names: &mut Names) -> Result<Op, Fault> {
    if let Some(op) = load(word, names) {
        return Ok(op);
    }
    let value = number::double(word.text).ok_or_else(|| line.shown("invalid number", Some(word.at)))?;
    Ok(Op::Push(Value::Double(value)))
}
