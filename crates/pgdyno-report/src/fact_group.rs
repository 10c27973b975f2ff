//! Facts that belong together.

use crate::figure::Phrase;

/// Facts under one heading.
#[derive(Debug, Clone, PartialEq)]
pub struct FactGroup {
    /// Heading.
    pub title: Phrase,
    /// Label and fact.
    pub items: Vec<(&'static str, Phrase)>,
}
