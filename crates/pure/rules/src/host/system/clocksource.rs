//! The clock source of the kernel.

use pgdyno_core::host::Knob;

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule},
};

/// The rule.
pub static RULE: Rule = Rule {
    page: Page {
        name: "clocksource",
        also: &["current_clocksource"],
        what: "What the kernel takes the time from.",
        today: Today::Kept,
        why: "EXPLAIN ANALYZE, track_io_timing and every driver read the clock all the time. tsc, kvm-clock, the \
              page of Hyper-V and the counter of ARM are read without entering the kernel, in some ten nanoseconds \
              (kvm-clock where the hypervisor calls its counter stable, which current ones do); hpet, acpi_pm and \
              others take a system call and up to a microsecond. pg_test_timing measures it. \
              Changing between two fast ones brings next to nothing.",
        danger: "The kernel takes tsc away from the list where it found it unstable: do not force it by the boot \
                 line.",
        source: "PostgreSQL manual, pg_test_timing; Linux Documentation/timers/timekeeping.rst.",
        ..Page::EMPTY
    },
    judge,
};

const FILE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// Sources that are read without a system call.
const FAST: [&str; 4] = ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"];

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let clocks = &facts.host.kernel.clocks;
    let Some(current) = clocks.current.as_deref() else {
        return vec![RULE.finding(Standing::Unknown, "The clock source could not be read.")];
    };
    let best = FAST.into_iter().find(|fast| clocks.available.iter().any(|source| source == fast));
    let slow = ["hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit", "xen"].contains(&current);
    match (FAST.contains(&current), slow, best) {
        (true, ..) if current == "kvm-clock" => RULE.fine(
            current,
            "It is read without entering the kernel, if the hypervisor calls its counter stable.",
        ),
        (true, ..) => RULE.fine(current, "It is read without entering the kernel."),
        (false, true, Some(best)) => {
            let reason =
                format!("{best} is offered by this kernel, and may be read without entering the kernel.");
            vec![
                RULE.finding(Standing::Improve, reason)
                    .present(current)
                    .set(Knob::Sysfs(FILE.to_owned()), best),
            ]
        }
        (false, true, None) if current != "xen" => {
            let reason = "Reading it takes a system call, and no faster source is offered: timing costs more than \
                          usual here.";
            vec![RULE.finding(Standing::Improve, reason).present(current)]
        }
        _ => {
            RULE.fine(current, "What reading it costs is not known by its name; pg_test_timing measures it.")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::testing::{changes, host, standings};

    #[test]
    fn slow_sources_are_replaced_by_offered_ones() {
        for (current, available, expected, change) in [
            ("tsc", vec!["tsc", "hpet"], Standing::Fine, None),
            ("kvm-clock", vec!["kvm-clock", "tsc"], Standing::Fine, None),
            ("hpet", vec!["hpet", "tsc"], Standing::Improve, Some("tsc")),
            ("xen", vec!["xen", "tsc"], Standing::Improve, Some("tsc")),
            ("acpi_pm", vec!["acpi_pm"], Standing::Improve, None),
            ("xen", vec!["xen"], Standing::Fine, None),
            ("timebase", vec!["timebase"], Standing::Fine, None),
        ] {
            let mut host = host(&[]);
            host.kernel.clocks.current = Some(current.to_owned());
            host.kernel.clocks.available = available.iter().map(|&source| source.to_owned()).collect();
            assert_eq!(standings(&RULE, &host), [expected], "{current}");
            assert_eq!(changes(&RULE, &host).first().map(String::as_str), change, "{current}");
        }
        assert_eq!(standings(&RULE, &host(&[])), [Standing::Unknown]);
    }
}
