//! Connection parameters as texts, before they are evaluated.

use std::fmt;

/// Source of a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    /// A command-line flag.
    Flag(&'static str),
    /// The connection string.
    Text,
    /// A service file: its path, line and service.
    Service(String),
    /// An environment variable.
    Variable(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "given by {flag}"),
            Self::Text => f.write_str("given in the connection string"),
            Self::Service(place) => write!(f, "given in {place}"),
            Self::Variable(name) => write!(f, "given by the environment variable {name}"),
        }
    }
}

/// One parameter with its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) key: String,
    pub(super) value: String,
    pub(super) origin: Origin,
}

/// Connection parameters as texts, by libpq's keys.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Parts(Vec<Part>);

impl Parts {
    /// Sets a key; a later value replaces an earlier one.
    pub(super) fn set(&mut self, key: &str, value: impl Into<String>, origin: Origin) {
        self.0.retain(|part| part.key != key);
        self.0.push(Part { key: key.to_owned(), value: value.into(), origin });
    }

    /// Sets a key unless a source of higher precedence has set it. An empty value counts as set, as in libpq: this is
    /// how a user gets the default in spite of the environment.
    pub(super) fn set_default(&mut self, key: &str, value: impl Into<String>, origin: Origin) {
        if !self.0.iter().any(|part| part.key == key) {
            self.set(key, value, origin);
        }
    }

    /// Parameter of a key; an empty value counts as absent.
    pub(super) fn part(&self, key: &str) -> Option<&Part> {
        self.0.iter().find(|part| part.key == key && !part.value.is_empty())
    }

    /// Value of a key; an empty one counts as absent.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.part(key).map(|part| part.value.as_str())
    }

    /// Value of a key, which may be empty.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|part| part.key == key).map(|part| part.value.as_str())
    }

    /// Iterates over all parameters.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Part> {
        self.0.iter()
    }
}
