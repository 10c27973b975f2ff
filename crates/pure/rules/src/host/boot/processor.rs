//! `processor.max_cstate=`.

use pgdyno_core::host::Knob;

use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `processor.max_cstate=`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "processor.max_cstate",
        also: &["processor.max_cstate=1", "processor.max_cstate=0"],
        what: "The deepest idle state that the driver acpi_idle uses.",
        today: Today::Depends,
        why: "It saves the time of waking up for servers that are mostly idle and answer single short requests; \
              under load processors hardly reach deep states. The driver intel_idle ignores it, so on Intel \
              processors it needs intel_idle.max_cstate=0 besides. It costs power, and with it turbo frequency of \
              busy cores. A tuned profile does the same without a reboot.",
        source: "Linux Documentation/admin-guide/kernel-parameters.txt (processor.max_cstate=); \
                 Documentation/admin-guide/pm/cpuidle.rst (Idle States Control Via Kernel Command Line).",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let host = facts.host;
    let Some(word) = host.kernel.boot_word("processor.max_cstate") else { return Vec::new() };
    let Some(driver) = &host.cpu.idle_driver else {
        let reason = "Whether it is obeyed depends on the idle driver, which could not be read.";
        return vec![RULE.finding(Standing::Unknown, reason).seen(format!("processor.max_cstate={word}"))];
    };
    let finding = match driver.as_str() {
        "intel_idle" => RULE
            .finding(Standing::NoEffect, "The idle driver is intel_idle, which ignores it.")
            .better("without the word, or with intel_idle.max_cstate=0")
            .by(Knob::BootWord("processor.max_cstate".to_owned()), ""),
        "acpi_idle" => RULE.finding(Standing::Fine, "The idle driver is acpi_idle, which obeys it."),
        _ => return Vec::new(),
    };
    vec![finding.seen(format!("processor.max_cstate={word}"))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::example::{booted, standings};

    #[test]
    fn the_driver_decides() {
        let mut host = booted(&["processor.max_cstate=1"]);
        assert_eq!(standings(&RULE, &host), [Standing::Unknown], "driver unknown");
        for (driver, expected) in
            [("intel_idle", &[Standing::NoEffect][..]), ("acpi_idle", &[Standing::Fine]), ("haltpoll", &[])]
        {
            host.cpu.idle_driver = Some(driver.to_owned());
            assert_eq!(standings(&RULE, &host), expected, "{driver}");
        }
        host.kernel.boot_words.clear();
        assert_eq!(standings(&RULE, &host), []);
    }
}
