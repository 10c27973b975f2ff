//! The `\sleep` command.

use super::{
    Names, Slot, Variables,
    error::Fault,
    line::{Line, Word},
    number::leading_integer,
};

/// Arguments of `\sleep number unit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sleep {
    time: Time,
    unit: Unit,
}

/// Unit of the sleep time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Microseconds,
    Milliseconds,
    Seconds,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Time {
    Constant(i64),
    Variable(Slot),
}

impl Sleep {
    /// The sleep time in microseconds; 0 or less means none. Clamped to 64 bits, whereas pgbench wraps around at 32.
    ///
    /// # Errors
    /// pgbench's message, which names the command `word`, if the variable has no value or none that begins like
    /// a number.
    pub fn microseconds(&self, variables: &Variables, word: &str) -> Result<i64, String> {
        let number = match self.time {
            Time::Constant(number) => number,
            Time::Variable(slot) => {
                let (mut text, name) = (Vec::new(), || variables.name(slot));
                if !variables.write(slot, &mut text) {
                    return Err(format!("{word}: undefined variable \"{}\"", name()));
                }
                let number = leading_integer(&text);
                if number == 0 && !text.first().is_some_and(u8::is_ascii_digit) {
                    let text = String::from_utf8_lossy(&text);
                    return Err(format!("{word}: invalid sleep time \"{text}\" for variable \"{}\"", name()));
                }
                number
            }
        };
        Ok(number.saturating_mul(match self.unit {
            Unit::Microseconds => 1,
            Unit::Milliseconds => 1_000,
            Unit::Seconds => 1_000_000,
        }))
    }
}

/// Parses the words after `\sleep`: a number or a variable, and a unit, which may be attached to the number.
pub(super) fn parse(line: &Line<'_>, words: &[Word<'_>], names: &mut Names) -> Result<Sleep, Fault> {
    let (first, unit) = match words {
        [] => return Err(line.shown("missing argument", None)),
        [first] => (first, None),
        [first, unit] => (first, Some(*unit)),
        [_, _, more, ..] => return Err(line.shown("too many arguments", Some(more.at))),
    };
    if let Some(name) = first.text.strip_prefix(b":") {
        return Ok(Sleep { time: Time::Variable(names.slot(name)), unit: parse_unit(line, unit)? });
    }
    let (digits, rest) = split(first.text);
    let unit = match (rest, unit) {
        ([], unit) => unit,
        (rest, None) if digits => Some(Word { text: rest, at: first.at + first.text.len() - rest.len() }),
        _ => {
            let text = String::from_utf8_lossy(first.text);
            let what = format!("invalid sleep time, must be an integer ({text})");
            return Err(line.shown(&what, Some(first.at)));
        }
    };
    Ok(Sleep { time: Time::Constant(leading_integer(first.text)), unit: parse_unit(line, unit)? })
}

/// Whether there are digits after an optional sign, and the rest after them.
fn split(text: &[u8]) -> (bool, &[u8]) {
    let rest = text.strip_prefix(b"+").or_else(|| text.strip_prefix(b"-")).unwrap_or(text);
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    (digits > 0, &rest[digits..])
}

fn parse_unit(line: &Line<'_>, unit: Option<Word<'_>>) -> Result<Unit, Fault> {
    let Some(unit) = unit else { return Ok(Unit::Seconds) };
    match unit.text.to_ascii_lowercase().as_slice() {
        b"us" => Ok(Unit::Microseconds),
        b"ms" => Ok(Unit::Milliseconds),
        b"s" => Ok(Unit::Seconds),
        _ => {
            let text = String::from_utf8_lossy(unit.text);
            let what = format!("unrecognized time unit, must be us, ms or s ({text})");
            Err(line.shown(&what, Some(unit.at)))
        }
    }
}
