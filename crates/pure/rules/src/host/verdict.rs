//! How rules put findings together.

use std::fmt::Display;

use pgdyno_core::host::{Change, Knob};

use super::{Facts, Rule};
use crate::{Finding, Standing};

impl Rule {
    /// The numbers of the kernel parameter that this rule is named after; `None` if it is absent or no list of numbers.
    pub(crate) fn numbers(&self, facts: &Facts<'_>) -> Option<Vec<u64>> {
        let text = facts.host.sysctl(self.page.name)?;
        text.split_whitespace().map(|number| number.parse().ok()).collect()
    }

    /// The one number of the kernel parameter that this rule is named after.
    pub(crate) fn number(&self, facts: &Facts<'_>) -> Option<u64> {
        match self.numbers(facts)?.as_slice() {
            [number] => Some(*number),
            _ => None,
        }
    }

    /// That the kernel parameter could not be read, or is none of the kernel's.
    pub(crate) fn unread(&self) -> Vec<Finding> {
        vec![self.finding(Standing::Unknown, format!("{} could not be read on this host.", self.page.name))]
    }

    /// That the kernel parameter is as it should be.
    pub(crate) fn fine(&self, present: impl Display, reason: impl Into<String>) -> Vec<Finding> {
        vec![self.finding(Standing::Fine, reason).present(present)]
    }
}

impl Finding {
    /// With the present value.
    pub(crate) fn present(mut self, value: impl Display) -> Self {
        self.present = Some(value.to_string());
        self
    }

    /// With a recommended value that the administrator has to set.
    pub(crate) fn recommend(mut self, value: impl Display) -> Self {
        self.recommended = Some(value.to_string());
        self
    }

    /// With the object that it is about.
    pub(crate) fn on(mut self, object: impl Into<String>) -> Self {
        self.object = object.into();
        self
    }

    /// With a recommended value and what to change for it.
    pub(crate) fn set(mut self, knob: Knob, value: impl Display) -> Self {
        self.change = Some(Change { knob, value: value.to_string() });
        self.recommend(value)
    }

    /// With a recommended value of the kernel parameter that the rule is named after.
    pub(crate) fn set_sysctl(self, value: impl Display) -> Self {
        let knob = Knob::Sysctl(self.name.clone());
        self.set(knob, value)
    }
}
