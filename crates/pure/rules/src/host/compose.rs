//! How findings and pages are composed.

use pgdyno_core::host::{Change, Knob};

use super::{Facts, Rule};
use crate::{Finding, Page};

/// Completes a finding.
pub(crate) trait Compose: Sized {
    /// Names the object: a device, a mount point.
    fn about(self, object: &str) -> Self;
    /// Tells the present value.
    fn seen(self, present: impl Into<String>) -> Self;
    /// Tells the recommended value.
    fn better(self, recommended: impl Into<String>) -> Self;
    /// Tells what would have to be written where. An empty value of a word of the boot line removes it; of
    /// [`Knob::MountOption`] the knob names the mount point, and the value is the option that belongs into `fstab`.
    fn by(self, knob: Knob, value: &str) -> Self;
}

impl Compose for Finding {
    fn about(self, object: &str) -> Self {
        Self { object: object.to_owned(), ..self }
    }

    fn seen(self, present: impl Into<String>) -> Self {
        Self { present: Some(present.into()), ..self }
    }

    fn better(self, recommended: impl Into<String>) -> Self {
        Self { recommended: Some(recommended.into()), ..self }
    }

    fn by(self, knob: Knob, value: &str) -> Self {
        Self { change: Some(Change { knob, value: value.to_owned() }), ..self }
    }
}

/// The rule of a page whose fact no running host tells, such as an option of `mkfs` or `configure`.
pub(crate) const fn explained(page: Page) -> Rule {
    Rule { page, judge: nothing }
}

fn nothing(_: &Facts<'_>) -> Vec<Finding> {
    Vec::new()
}
