//! `intel_idle.max_cstate=`.

use pgdyno_core::host::Knob;

use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `intel_idle.max_cstate=`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "intel_idle.max_cstate",
        also: &["intel_idle.max_cstate=0", "intel_idle.max_cstate=1"],
        what: "The deepest idle state that the driver intel_idle uses; 0 disables the driver.",
        today: Today::NoEffect,
        why: "0 does not keep the processor awake: the kernel then uses acpi_idle with the states that the \
              firmware offers, which may be as deep. What limits them is processor.max_cstate=1 besides, or \
              without a reboot /dev/cpu_dma_latency, which tuned profiles such as latency-performance hold open. \
              Deep states cost wake-up time of up to some hundred microseconds on the first request after a pause; \
              they also let other cores run at turbo frequency.",
        source: "Linux Documentation/admin-guide/pm/intel_idle.rst (Kernel Command Line Options) and \
                 Documentation/admin-guide/pm/cpuidle.rst (power management quality of service).",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let kernel = &facts.host.kernel;
    let cpu = &facts.host.cpu;
    if kernel.boot_word("intel_idle.max_cstate") != Some("0")
        || kernel.boot_word("processor.max_cstate").is_some()
    {
        return Vec::new();
    }
    let deepest = cpu.idle_states.iter().filter(|state| !state.disabled).max_by_key(|state| state.latency_us);
    let (Some(driver), Some(deepest)) = (&cpu.idle_driver, deepest) else {
        let reason =
            "It disables intel_idle; which driver took over, and how deep its states are, could not be read.";
        return vec![RULE.finding(Standing::Unknown, reason).seen("intel_idle.max_cstate=0")];
    };
    let finding = match deepest.latency_us > 2 {
        true => RULE
            .finding(
                Standing::NoEffect,
                format!(
                    "The driver {driver} took over, and its state {} still takes {} µs to leave.",
                    deepest.name, deepest.latency_us
                ),
            )
            .better("without the word")
            .by(Knob::BootWord("intel_idle.max_cstate".to_owned()), ""),
        false => RULE.finding(
            Standing::Fine,
            format!(
                "The driver is {driver}, and its deepest state takes {} µs to leave.",
                deepest.latency_us
            ),
        ),
    };
    vec![finding.seen("intel_idle.max_cstate=0")]
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::{IdleState, Inventory};

    use super::*;
    use crate::host::example::{booted, standings};

    fn host(words: &[&str], latency_us: u64) -> Inventory {
        let mut host = booted(words);
        host.cpu.idle_driver = Some("acpi_idle".to_owned());
        host.cpu.idle_states = [("POLL", 0), ("C2", latency_us)]
            .map(|(name, latency_us)| IdleState { name: name.to_owned(), latency_us, disabled: false })
            .to_vec();
        host
    }

    #[test]
    fn deep_states_of_another_driver_are_found() {
        let words = ["intel_idle.max_cstate=0"];
        assert_eq!(standings(&RULE, &host(&words, 41)), [Standing::NoEffect]);
        assert_eq!(standings(&RULE, &host(&words, 1)), [Standing::Fine]);
        assert_eq!(standings(&RULE, &booted(&words)), [Standing::Unknown], "idle states unknown");
    }

    #[test]
    fn other_words_are_not_judged() {
        for words in
            [&["intel_idle.max_cstate=1"][..], &["intel_idle.max_cstate=0", "processor.max_cstate=1"], &[]]
        {
            assert_eq!(standings(&RULE, &host(words, 41)), [], "{words:?}");
        }
    }
}
