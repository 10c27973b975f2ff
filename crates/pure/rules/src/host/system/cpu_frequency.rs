//! Frequency and sleep of processors: governor, turbo, C-states.

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule},
};

/// The rule of the governor.
pub static GOVERNOR: Rule = Rule {
    page: Page {
        name: "scaling_governor",
        also: &["governor", "cpufreq"],
        what: "How the kernel chooses the frequency of a processor: performance the highest, powersave the lowest, \
               schedutil, ondemand and others by the load. With the drivers intel_pstate and amd-pstate-epp \
               powersave also follows the load.",
        today: Today::Kept,
        why: "Short transactions sleep and wake thousands of times a second, so that a governor which follows the \
              load is late each time; performance also makes measurements repeatable. It is set by cpupower \
              frequency-set -g performance or a profile of tuned for each processor.",
        danger: "powersave of other drivers holds processors at their lowest frequency.",
        source: "Linux Documentation/admin-guide/pm/cpufreq.rst and intel_pstate.rst.",
        ..Page::EMPTY
    },
    judge: judge_governor,
};

/// The rule of turbo.
pub static TURBO: Rule = Rule {
    page: Page {
        name: "turbo",
        also: &["boost", "no_turbo"],
        what: "Whether processors may exceed their nominal frequency while temperature and power allow.",
        today: Today::Depends,
        why: "On, the server is faster. Off, measurements scatter less, because the frequency does not depend on \
              what else runs and on the temperature.",
        danger: "",
        source: "Linux Documentation/admin-guide/pm/cpufreq.rst, boost.",
        ..Page::EMPTY
    },
    judge: judge_turbo,
};

/// The rule of C-states.
pub static IDLE: Rule = Rule {
    page: Page {
        name: "cpuidle",
        also: &["C-states", "cstate", "cstates"],
        what: "How deep an idle processor sleeps; the deeper, the longer it takes to wake.",
        today: Today::Depends,
        why: "A state that takes 100 µs or more to leave adds up to that to each round trip of a lightly loaded \
              server. Deep states also give other cores more turbo. A profile of tuned (latency-performance) or \
              /dev/cpu_dma_latency limits them while it runs, without a word of the boot line.",
        danger: "With all states off, processors are hot, and turbo has less room.",
        source: "Linux Documentation/admin-guide/pm/cpuidle.rst and intel_idle.rst.",
        ..Page::EMPTY
    },
    judge: judge_idle,
};

/// A state that takes longer to leave is noticed in short transactions, in microseconds.
const NOTICED_US: u64 = 100;

fn judge_governor(facts: &Facts<'_>) -> Vec<Finding> {
    let cpu = &facts.host.cpu;
    let Some(governor) = cpu.governor.as_deref() else { return Vec::new() };
    let own = cpu
        .frequency_driver
        .as_deref()
        .is_some_and(|driver| driver == "intel_pstate" || driver.ends_with("pstate-epp"));
    let reason = match (governor, own) {
        ("performance", _) => return GOVERNOR.fine(governor, "Processors run at their highest frequency."),
        ("powersave", true) => {
            "The frequency follows the load with this driver, and is late for short transactions."
        }
        ("powersave", false) => "Processors stay at their lowest frequency.",
        _ => "The frequency follows the load, and is late for short transactions.",
    };
    vec![GOVERNOR.finding(Standing::Improve, reason).present(governor).recommend("performance")]
}

fn judge_turbo(facts: &Facts<'_>) -> Vec<Finding> {
    match facts.host.cpu.turbo {
        None => Vec::new(),
        Some(true) => {
            TURBO.fine("on", "It is fast, and frequencies depend on temperature and on what else runs.")
        }
        Some(false) => TURBO.fine("off", "Frequencies are steady, at the price of speed."),
    }
}

fn judge_idle(facts: &Facts<'_>) -> Vec<Finding> {
    let states = &facts.host.cpu.idle_states;
    let Some(deepest) = states.iter().filter(|state| !state.disabled).max_by_key(|state| state.latency_us)
    else {
        return Vec::new();
    };
    let text = format!("{} takes {} µs to leave", deepest.name, deepest.latency_us);
    if deepest.latency_us < NOTICED_US {
        return IDLE.fine(&deepest.name, format!("{text}, which short transactions do not notice."));
    }
    let reason = format!("{text}, which adds to round trips while the server is lightly loaded.");
    vec![
        IDLE.finding(Standing::Improve, reason)
            .present(&deepest.name)
            .recommend(format!("states below {NOTICED_US} µs")),
    ]
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::{IdleState, Inventory};

    use super::*;
    use crate::host::testing::{findings, host, standings};

    fn governed(driver: &str, governor: &str) -> Inventory {
        let mut host = host(&[]);
        host.cpu.frequency_driver = Some(driver.to_owned());
        host.cpu.governor = Some(governor.to_owned());
        host
    }

    #[test]
    fn powersave_depends_on_its_driver() {
        for (driver, governor, expected) in [
            ("acpi-cpufreq", "performance", None),
            ("acpi-cpufreq", "powersave", Some("lowest")),
            ("intel_pstate", "powersave", Some("follows")),
            ("amd-pstate-epp", "powersave", Some("follows")),
            ("acpi-cpufreq", "schedutil", Some("follows")),
        ] {
            let found = findings(&GOVERNOR, &governed(driver, governor));
            let improve = (found[0].standing == Standing::Improve).then_some(found[0].reason.as_str());
            assert_eq!(improve.is_some(), expected.is_some(), "{driver} {governor}");
            assert!(expected.is_none_or(|word| found[0].reason.contains(word)), "{found:?}");
        }
        assert!(standings(&GOVERNOR, &host(&[])).is_empty());
    }

    #[test]
    fn deep_sleep_is_noticed() {
        let mut host = host(&[]);
        assert!(standings(&IDLE, &host).is_empty());
        let state =
            |name: &str, latency_us, disabled| IdleState { name: name.to_owned(), latency_us, disabled };
        host.cpu.idle_states = vec![state("C1", 2, false), state("C6", 170, true)];
        assert_eq!(standings(&IDLE, &host), [Standing::Fine]);
        host.cpu.idle_states[1].disabled = false;
        assert_eq!(standings(&IDLE, &host), [Standing::Improve]);
    }

    #[test]
    fn turbo_is_told() {
        let mut host = host(&[]);
        assert!(standings(&TURBO, &host).is_empty());
        for turbo in [true, false] {
            host.cpu.turbo = Some(turbo);
            assert_eq!(standings(&TURBO, &host), [Standing::Fine]);
        }
    }
}
