//! Names of variables, and the numbers that stand for them while scripts run.

use std::collections::HashMap;

/// Number of a variable within a run; an index into its [`Variables`](super::Variables).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(u32);

impl Slot {
    /// `:scale`, the scale factor.
    pub const SCALE: Self = Self(0);
    /// `:client_id`, the number of the client from 0.
    pub const CLIENT_ID: Self = Self(1);
    /// `:random_seed`, the seed of the run.
    pub const RANDOM_SEED: Self = Self(2);
    /// `:default_seed`, what hash functions and `permute` take where no seed is given.
    pub const DEFAULT_SEED: Self = Self(3);

    /// The slot of this index.
    pub(super) fn of_index(index: usize) -> Self {
        Self(index as u32)
    }

    /// The index into the variables of a client.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The variables that every client has before its first command, in the order of their slots (pgbench
/// manual, "Automatic Variables").
pub const AUTOMATIC: [&str; 4] = ["scale", "client_id", "random_seed", "default_seed"];

/// The names that the scripts of a run mention, each with its slot.
///
/// One table serves all scripts of a run, because their variables are the same ones. A name that no script
/// mentions needs no slot even when `\gset` or `-D` gives it a value: nothing can read it.
///
/// Names are bytes, since scripts are: any byte from 0x80 on counts as a letter, whatever the encoding.
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
    /// The slot of a name, a new one where it is not known yet.
    pub(super) fn slot(&mut self, name: &[u8]) -> Slot {
        if let Some(slot) = self.find(name) {
            return slot;
        }
        let slot = Slot(self.names.len() as u32);
        self.names.push(name.into());
        self.by_name.insert(name.into(), slot);
        slot
    }

    /// The slot of a name that some script mentions.
    pub fn find(&self, name: &[u8]) -> Option<Slot> {
        self.by_name.get(name).copied()
    }

    /// The name of a slot, for messages.
    pub fn name(&self, slot: Slot) -> String {
        String::from_utf8_lossy(&self.names[slot.index()]).into_owned()
    }

    /// How many there are; at least the [`AUTOMATIC`] ones.
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.names.len()
    }
}

/// Whether a variable may be called so: letters (any byte from 0x80 on is one), digits and underscores, no
/// digit first (pgbench manual, "Custom Scripts").
pub fn valid_name(name: &[u8]) -> bool {
    !name.is_empty() && name_len(name) == name.len()
}

/// The length in bytes of the variable name that `text` starts with; 0 where it starts with none.
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

/// A variable that the user gives a value before the run: `-D name=value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// Its name.
    pub name: String,
    /// Its value, not empty.
    pub value: String,
}

/// What is wrong with a definition; the texts are pgbench's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionError {
    /// No `=`, or nothing on one of its sides.
    #[error("invalid variable definition: \"{0}\"")]
    Form(String),
    /// No name of a variable.
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

/// Where a value goes. That no variable can be called so shows when it is given a value, as in pgbench.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// To this variable.
    Slot(Slot),
    /// Nowhere: no variable can have this name.
    Invalid(Box<[u8]>),
}

impl Place {
    /// The slot.
    ///
    /// # Errors
    /// The text of pgbench's error, which names the command.
    pub fn slot(&self, command: &str) -> Result<Slot, String> {
        match self {
            Self::Slot(slot) => Ok(*slot),
            Self::Invalid(name) => Err(invalid_name(command, name)),
        }
    }
}

/// The text of pgbench's error for a name that no variable can have.
pub(super) fn invalid_name(command: &str, name: &[u8]) -> String {
    format!("{command}: invalid variable name: \"{}\"", String::from_utf8_lossy(name))
}
