//! `tsc=`.

use pgdyno_core::host::Knob;

use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `tsc=`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "tsc=",
        also: &["tsc=reliable", "tsc=nowatchdog", "tsc=unstable"],
        what: "Whether the kernel checks the time stamp counter (tsc) of x86 processors against another clock.",
        today: Today::Depends,
        why: "The watchdog marks tsc as unstable when it disagrees with hpet or acpi_pm, and now and then it does \
              so wrongly on large or busy hosts; the kernel then reads a slower clock until it boots again. Since \
              Linux 5.16 it trusts the counter by itself on hosts of up to two sockets whose processors can adjust \
              and never stop it, and later ones on up to four. tsc=reliable is for hosts where the log shows a \
              false alarm.",
        danger: "On a host whose counters really drift apart, time runs backwards between processors.",
        source: "Linux Documentation/admin-guide/kernel-parameters.txt (tsc=); arch/x86/kernel/tsc.c, \
                 check_system_tsc_reliable().",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let host = facts.host;
    let Some(word) = host.kernel.boot_word("tsc").filter(|word| !word.is_empty()) else { return Vec::new() };
    let Some(current) = &host.kernel.clocks.current else { return Vec::new() };
    let knob = Knob::BootWord("tsc".to_owned());
    let finding = if word == "unstable" {
        RULE.finding(
            Standing::Improve,
            format!("The word forbids tsc; the present clock source is {current}."),
        )
        .better("without the word")
        .by(knob, "")
    } else if current == "tsc" {
        RULE.finding(Standing::Fine, "The present clock source is tsc, which the word concerns.")
    } else {
        RULE.finding(
            Standing::NoEffect,
            format!("The present clock source is {current}, which the word does not concern."),
        )
        .better("without the word")
        .by(knob, "")
    };
    vec![finding.seen(format!("tsc={word}"))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::example::{booted, standings};

    #[test]
    fn the_word_is_compared_with_the_present_source() {
        for (word, current, expected) in [
            ("tsc=reliable", "tsc", &[Standing::Fine][..]),
            ("tsc=reliable", "kvm-clock", &[Standing::NoEffect]),
            ("tsc=unstable", "hpet", &[Standing::Improve]),
            ("ro", "tsc", &[]),
        ] {
            let mut host = booted(&[word]);
            host.kernel.clocks.current = Some(current.to_owned());
            assert_eq!(standings(&RULE, &host), expected, "{word}, {current}");
        }
        assert_eq!(standings(&RULE, &booted(&["tsc=reliable"])), []);
    }
}
