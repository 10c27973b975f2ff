//! An address in pieces, before it is put together.

/// The parts of an address as texts, by libpq's keywords.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Parts(Vec<(String, String)>);

impl Parts {
    /// Sets a keyword; a later value replaces an earlier one.
    pub(super) fn set(&mut self, keyword: &str, value: impl Into<String>) {
        self.0.retain(|(known, _)| known != keyword);
        self.0.push((keyword.to_owned(), value.into()));
    }

    /// The value of a keyword; empty counts as absent, as in libpq.
    pub(super) fn get(&self, keyword: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == keyword)?;
        (!found.1.is_empty()).then_some(found.1.as_str())
    }

    /// Keywords and values.
    pub(super) fn pairs(&self) -> &[(String, String)] {
        &self.0
    }

    /// Keywords and values.
    pub(super) fn into_pairs(self) -> Vec<(String, String)> {
        self.0
    }
}
