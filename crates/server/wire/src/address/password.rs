//! Passwords that no log, message or dump shows.

use std::fmt;

/// Password whose `Debug` output hides the text.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(String);

impl Password {
    /// Wraps a password.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Text of the password, for authentication only.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}
