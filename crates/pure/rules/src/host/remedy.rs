//! What findings recommend to change on a host.

use std::fmt::Display;

use pgdyno_core::host::Knob;

use crate::Finding;

/// Recommends a value together with the change that sets it, for what a rule is named after.
pub(crate) trait Remedy {
    /// The kernel parameter gets another value.
    fn set_sysctl(self, value: impl Display) -> Self;
    /// The word of the boot line gets another value.
    fn set_boot_word(self, value: &str) -> Self;
    /// The word of the boot line goes.
    fn drop_boot_word(self) -> Self;
    /// The mount point that is judged gets another option in `fstab`.
    fn set_mount_option(self, option: &str) -> Self;
}

impl Remedy for Finding {
    fn set_sysctl(self, value: impl Display) -> Self {
        let knob = Knob::Sysctl(self.name.clone());
        self.set(knob, value)
    }

    fn set_boot_word(self, value: &str) -> Self {
        let word = boot_word(&self);
        let recommended = format!("{word}={value}");
        self.set(Knob::BootWord(word), value).recommend(recommended)
    }

    fn drop_boot_word(self) -> Self {
        let word = boot_word(&self);
        self.set(Knob::BootWord(word), "").recommend("without the word")
    }

    fn set_mount_option(self, option: &str) -> Self {
        let knob = Knob::MountOption(self.object.clone());
        self.set(knob, option)
    }
}

/// The word of the boot line that the rule of a finding is named after.
fn boot_word(finding: &Finding) -> String {
    super::rule::boot_word(&finding.name).to_owned()
}
