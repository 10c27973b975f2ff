//! Names of variables, and the slots that stand for them at run time.

use std::collections::HashMap;

/// Number of a variable within a run: an index into its [`Variables`](super::Variables).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(u32);

impl Slot {
    /// `:scale`, the scale factor.
    pub const SCALE: Self = Self(0);
    /// `:client_id`, the number of the client from 0.
    pub const CLIENT_ID: Self = Self(1);
    /// `:random_seed`, the seed of the run.
    pub const RANDOM_SEED: Self = Self(2);
    /// `:default_seed`, the seed of hash functions and `permute` if none is given.
    pub const DEFAULT_SEED: Self = Self(3);

    /// The slot with this index.
    pub(super) fn of_index(index: usize) -> Self {
        Self(index as u32)
    }

    /// Index into the variables of a client.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Variables that every client has before its first command, in the order of their slots (pgbench manual,
/// "Automatic Variables").
pub const AUTOMATIC: [&str; 4] = ["scale", "client_id", "random_seed", "default_seed"];

/// Names mentioned by the scripts of a run, each with its slot.
///
/// All scripts of a run share one table, since they share their variables. A name that no script mentions needs
/// no slot even if `\gset` or `-D` sets it: nothing can read it.
///
/// Names are bytes, as scripts are: any byte from 0x80 on counts as a letter, whatever the encoding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    names: Vec<Box<[u8]>>,
    by_name: HashMap<Box<[u8]>, Slot>,
}

impl Default for Names {
    fn default() -> Self {
        let mut names = Self { names: Vec::new(), by_name: HashMap::new() };
        for name in AUTOMATIC {
            names.slot(name.as_bytes());
        }
        names
    }
}

impl Names {
    /// The slot of a name; creates one for a new name.
    pub(super) fn slot(&mut self, name: &[u8]) -> Slot {
        if let Some(slot) = self.find(name) {
            return slot;
        }
        let slot = Slot(self.names.len() as u32);
        self.names.push(name.into());
        self.by_name.insert(name.into(), slot);
        slot
    }

    /// The slot of a name; `None` if no script mentions it.
    pub fn find(&self, name: &[u8]) -> Option<Slot> {
        self.by_name.get(name).copied()
    }

    /// The name of a slot, for messages.
    pub fn name(&self, slot: Slot) -> String {
        String::from_utf8_lossy(&self.names[slot.index()]).into_owned()
    }

    /// Number of names, including the [`AUTOMATIC`] ones.
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.names.len()
    }
}

/// Whether a variable may have this name: letters (including any byte from 0x80 on), digits and underscores,
/// not beginning with a digit (pgbench manual, "Custom Scripts").
pub fn valid_name(name: &[u8]) -> bool {
    !name.is_empty() && name_len(name) == name.len()
}

/// Length in bytes of the variable name at the start of `text`; 0 if there is none.
pub(super) fn name_len(text: &[u8]) -> usize {
    match text.first() {
        Some(first) if !first.is_ascii_digit() => {
            text.iter().position(|&b| !is_name_byte(b)).unwrap_or(text.len())
        }
        _ => 0,
    }
}

pub(super) fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// A variable set by the user before the run: `-D name=value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// Name of the variable.
    pub name: String,
    /// Value, not empty.
    pub value: String,
}

/// An invalid definition; messages are pgbench's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionError {
    /// `=` is missing, or one of its sides is empty.
    #[error("invalid variable definition: \"{0}\"")]
    Form(String),
    /// Not a valid name of a variable.
    #[error("option: invalid variable name: \"{0}\"")]
    Name(String),
}

impl std::str::FromStr for Definition {
    type Err = DefinitionError;

    fn from_str(text: &str) -> Result<Self, DefinitionError> {
        match text.split_once('=') {
            Some((name, value)) if !name.is_empty() && !value.is_empty() => {
                if !valid_name(name.as_bytes()) {
                    return Err(DefinitionError::Name(name.to_owned()));
                }
                Ok(Self { name: name.to_owned(), value: value.to_owned() })
            }
            _ => Err(DefinitionError::Form(text.to_owned())),
        }
    }
}

/// Destination of a value. An invalid name is reported only when a value is assigned, as in pgbench.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A variable.
    Slot(Slot),
    /// A name that no variable can have.
    Invalid(Box<[u8]>),
}

impl Place {
    /// The slot of the variable.
    ///
    /// # Errors
    /// pgbench's message for an invalid name, which includes the command.
    pub fn slot(&self, command: &str) -> Result<Slot, String> {
        match self {
            Self::Slot(slot) => Ok(*slot),
            Self::Invalid(name) => Err(invalid_name(command, name)),
        }
    }
}

/// pgbench's message for an invalid name.
pub(super) fn invalid_name(command: &str, name: &[u8]) -> String {
    format!("{command}: invalid variable name: \"{}\"", String::from_utf8_lossy(name))
}
