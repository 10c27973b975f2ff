//! `clocksource=`.

use pgdyno_core::host::Knob;

use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `clocksource=`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "clocksource=",
        also: &["clocksource=tsc"],
        what: "The clock source that the kernel begins with.",
        today: Today::DefaultIsRight,
        why: "The kernel chooses the source of the highest rating by itself: tsc on processors where it can be \
              trusted, kvm-clock and the like in virtual machines where it cannot. Reading tsc or kvm-clock needs \
              no system call, hpet and acpi_pm take a microsecond or so each time, which EXPLAIN ANALYZE and \
              track_io_timing show. /sys/devices/system/clocksource/clocksource0/current_clocksource changes it \
              without a reboot.",
        danger: "A source that the kernel rejected as unstable lets time jump.",
        source: "Linux Documentation/admin-guide/kernel-parameters.txt (clocksource=); PostgreSQL manual, \
                 pg_test_timing.",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let clocks = &facts.host.kernel.clocks;
    let (Some(word), Some(current)) = (facts.host.kernel.boot_word("clocksource"), &clocks.current) else {
        return Vec::new();
    };
    let knob = Knob::BootWord("clocksource".to_owned());
    let finding = if word != current {
        RULE.finding(
            Standing::NoEffect,
            format!(
                "The present source is {current}: the kernel did not accept the requested one, or somebody \
                     changed it."
            ),
        )
        .better("without the word")
        .by(knob, "")
    } else if matches!(word, "hpet" | "acpi_pm") && clocks.available.iter().any(|source| source == "tsc") {
        RULE.finding(Standing::Improve, format!("tsc is available, and reading {word} takes much longer."))
            .better("without the word")
            .by(knob, "")
    } else {
        RULE.finding(Standing::Fine, "The requested source is the present one.")
    };
    vec![finding.seen(format!("clocksource={word}"))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::example::{booted, standings};

    #[test]
    fn the_word_is_compared_with_the_present_source() {
        for (word, current, available, expected) in [
            ("clocksource=tsc", "tsc", &["tsc", "hpet"][..], &[Standing::Fine][..]),
            ("clocksource=tsc", "kvm-clock", &["kvm-clock"], &[Standing::NoEffect]),
            ("clocksource=hpet", "hpet", &["tsc", "hpet"], &[Standing::Improve]),
            ("clocksource=hpet", "hpet", &["hpet"], &[Standing::Fine]),
            ("ro", "tsc", &["tsc"], &[]),
        ] {
            let mut host = booted(&[word]);
            host.kernel.clocks.current = Some(current.to_owned());
            host.kernel.clocks.available = available.iter().map(|&source| source.to_owned()).collect();
            assert_eq!(standings(&RULE, &host), expected, "{word}, {current}");
        }
        assert_eq!(standings(&RULE, &booted(&["clocksource=tsc"])), []);
    }
}
