//! The variables of one client.

use std::sync::Arc;

use super::{
    Definition, EvalError, Names, Slot, Value,
    names::{invalid_name, valid_name},
    number::{self, NotInteger},
};

/// Initial values of the [`AUTOMATIC`](super::AUTOMATIC) variables of a client; definitions take precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Automatic {
    /// Scale factor.
    pub scale: i64,
    /// Number of the client, from 0.
    pub client_id: i64,
    /// Seed of the run, reinterpreted as a signed number.
    pub random_seed: i64,
    /// Seed of hash functions, reinterpreted as a signed number.
    pub default_seed: i64,
}

/// The variables of one client, by slot, kept across transactions and shared by all scripts.
#[derive(Debug, Clone)]
pub struct Variables {
    names: Arc<Names>,
    cells: Vec<Cell>,
}

/// One variable. Its text buffer is reused, so that assigning a text again does not allocate.
#[derive(Debug, Clone)]
struct Cell {
    value: CellValue,
    text: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum CellValue {
    Nothing,
    /// A text not yet parsed.
    Text,
    /// A text, and its parsed value.
    Read(Value),
    /// A value without text.
    Value(Value),
}

impl Variables {
    /// The variables of a client before its first command.
    pub fn new(names: &Arc<Names>, definitions: &[Definition], automatic: Automatic) -> Self {
        let empty = Cell { value: CellValue::Nothing, text: Vec::new() };
        let mut variables = Self { names: Arc::clone(names), cells: vec![empty; names.len()] };
        for (slot, value) in [
            (Slot::SCALE, automatic.scale),
            (Slot::CLIENT_ID, automatic.client_id),
            (Slot::RANDOM_SEED, automatic.random_seed),
            (Slot::DEFAULT_SEED, automatic.default_seed),
        ] {
            variables.set(slot, Value::Int(value));
        }
        for definition in definitions {
            if let Some(slot) = names.find(definition.name.as_bytes()) {
                variables.set_text(slot, definition.value.as_bytes());
            }
        }
        variables
    }

    /// Assigns a value.
    #[inline]
    pub fn set(&mut self, slot: Slot, value: Value) {
        self.cells[slot.index()].value = CellValue::Value(value);
    }

    /// Assigns a text, as `\gset` and `-D` do.
    pub fn set_text(&mut self, slot: Slot, text: &[u8]) {
        let cell = &mut self.cells[slot.index()];
        cell.text.clear();
        cell.text.extend_from_slice(text);
        cell.value = CellValue::Text;
    }

    /// The slot for the value of a column with this name; `None` if no script reads it.
    ///
    /// # Errors
    /// pgbench's message if no variable can have this name; it includes the command, `gset` or `aset`.
    pub fn slot_of_column(&self, command: &str, name: &[u8]) -> Result<Option<Slot>, String> {
        if valid_name(name) {
            return Ok(self.names.find(name));
        }
        Err(invalid_name(command, name))
    }

    /// Whether a variable has a value.
    pub fn is_defined(&self, slot: Slot) -> bool {
        self.cells[slot.index()].value != CellValue::Nothing
    }

    /// Appends the text of a variable as SQL and shell commands get it; returns `false` if it has no value.
    #[inline]
    pub fn write(&self, slot: Slot, out: &mut Vec<u8>) -> bool {
        let cell = &self.cells[slot.index()];
        match cell.value {
            CellValue::Nothing => return false,
            CellValue::Value(value) => value.write(out),
            CellValue::Text | CellValue::Read(_) => out.extend_from_slice(&cell.text),
        }
        true
    }

    /// The value of a variable. A text is parsed on first use.
    ///
    /// # Errors
    /// The variable has no value, or its text is not a value.
    #[inline]
    pub fn value(&mut self, slot: Slot) -> Result<Value, EvalError> {
        match self.cells[slot.index()].value {
            CellValue::Value(value) | CellValue::Read(value) => Ok(value),
            CellValue::Nothing => Err(EvalError::Undefined(self.names.name(slot))),
            CellValue::Text => {
                let cell = &mut self.cells[slot.index()];
                let value =
                    read(&cell.text).map_err(|fault| fault.error(&self.names.name(slot), &cell.text))?;
                cell.value = CellValue::Read(value);
                Ok(value)
            }
        }
    }

    /// The name of a slot, for messages.
    pub fn name(&self, slot: Slot) -> String {
        self.names.name(slot)
    }
}

/// Why a text is not a value.
#[derive(Debug)]
enum Unreadable {
    Malformed,
    Integer(NotInteger),
}

impl Unreadable {
    fn error(self, name: &str, text: &[u8]) -> EvalError {
        let text = String::from_utf8_lossy(text).into_owned();
        match self {
            Self::Malformed => EvalError::Malformed(name.to_owned(), text),
            Self::Integer(NotInteger::Syntax) => EvalError::NotInteger(text),
            Self::Integer(NotInteger::Range) => EvalError::OutOfRange(text),
        }
    }
}

/// Parses a text: NULL, a boolean or an abbreviation of one, an integer or a double.
fn read(text: &[u8]) -> Result<Value, Unreadable> {
    let begins =
        |word: &str| text.len() <= word.len() && text.eq_ignore_ascii_case(&word.as_bytes()[..text.len()]);
    let is = |word: &str| text.eq_ignore_ascii_case(word.as_bytes());
    if text.is_empty() {
        Err(Unreadable::Malformed)
    } else if is("null") {
        Ok(Value::Null)
    } else if begins("true") || begins("yes") || is("on") {
        Ok(Value::Bool(true))
    } else if begins("false") || begins("no") || is("off") || is("of") {
        Ok(Value::Bool(false))
    } else if number::looks_like_integer(text) {
        number::integer(text).map(Value::Int).map_err(Unreadable::Integer)
    } else {
        number::double(text).map(Value::Double).ok_or(Unreadable::Malformed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_as_pgbench_reads_them() {
        use Value::{Bool, Double, Int, Null};
        for (text, value) in [
            ("NuLL", Null),
            ("t", Bool(true)),
            ("TRUE", Bool(true)),
            ("ye", Bool(true)),
            ("on", Bool(true)),
            ("n", Bool(false)),
            ("of", Bool(false)),
            ("F", Bool(false)),
            ("+3", Int(3)),
            (" -9223372036854775808", Int(i64::MIN)),
            ("1.0", Double(1.0)),
            ("1e3", Double(1000.0)),
            ("0x10", Double(16.0)),
            ("inf", Double(f64::INFINITY)),
        ] {
            assert_eq!(read(text.as_bytes()).ok(), Some(value), "{text}");
        }
        for (text, error) in [
            ("o", "malformed variable \"v\" value: \"o\""),
            ("trueXXX", "malformed variable \"v\" value: \"trueXXX\""),
            ("", "malformed variable \"v\" value: \"\""),
            ("-", "invalid input syntax for type bigint: \"-\""),
            ("9223372036854775808", "value \"9223372036854775808\" is out of range for type bigint"),
            ("1e400", "malformed variable \"v\" value: \"1e400\""),
        ] {
            let fault = read(text.as_bytes()).map(|_| ()).expect_err(text);
            assert_eq!(fault.error("v", text.as_bytes()).to_string(), error);
        }
    }
}
