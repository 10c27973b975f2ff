//! A rule, and what it judges by.

use pgdyno_core::host::Inventory;

use crate::{Finding, Page, Purpose, Standing};

/// What a rule judges by.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The host.
    pub host: &'a Inventory,
    /// What the server is for.
    pub purpose: Purpose,
}

/// A rule of a host.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// What is to be known of it.
    pub page: Page,
    /// Judges a host; empty where the host has nothing that the rule is about.
    pub judge: fn(&Facts<'_>) -> Vec<Finding>,
}

impl Rule {
    /// A finding of this rule.
    pub(crate) fn finding(&self, standing: Standing, reason: impl Into<String>) -> Finding {
        Finding {
            name: self.page.name.to_owned(),
            object: String::new(),
            standing,
            present: None,
            recommended: None,
            reason: reason.into(),
            change: None,
        }
    }
}
