//! A number with its derivation.

use schemars::JsonSchema;
use serde::Serialize;

/// A value and what it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Derived<T> {
    /// The value.
    pub value: T,
    /// What it comes from, with the figures of this request: a sentence without a full stop.
    pub because: String,
}

impl<T> Derived<T> {
    /// A value with its derivation.
    pub fn new(value: T, because: impl Into<String>) -> Self {
        Self { value, because: because.into() }
    }
}
