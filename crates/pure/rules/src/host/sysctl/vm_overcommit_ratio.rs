//! `vm.overcommit_ratio`.

use pgdyno_core::{facts::amount::GB, units};

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule},
};

/// The rule.
pub static RULE: Rule = Rule {
    page: Page {
        name: "vm.overcommit_ratio",
        what: "Percentage of the memory without explicit huge pages that counts towards CommitLimit; read only where \
               vm.overcommit_memory is 2.",
        today: Today::NoEffect,
        why: "It is usually published beside vm.overcommit_memory = 0, where the kernel does not read it. In mode 2 \
              the default of 50 leaves half of the memory of a host without swap to the page cache: the recommended \
              value leaves 5 % of the memory, at least 1 GiB, to the kernel after what swap adds.",
        danger: "Too low in mode 2, the server or its sessions get \"out of memory\" while memory is free; above 100 \
                 the mode promises more than there is.",
        source: "Linux Documentation/mm/overcommit-accounting.rst and admin-guide/sysctl/vm.rst.",
        ..Page::EMPTY
    },
    judge,
};

/// The kernel's default, in percent.
const DEFAULT: u64 = 50;

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let mode = facts.host.sysctl_number("vm.overcommit_memory");
    match (RULE.number(facts), mode) {
        (None, Some(2)) => RULE.unread(),
        (None, _) => Vec::new(),
        (Some(value), None) => {
            let reason = "Whether it is read depends on vm.overcommit_memory, which could not be read.";
            vec![RULE.finding(Standing::Unknown, reason).present(value)]
        }
        (Some(value), Some(2)) => strict(facts, value),
        (Some(DEFAULT), Some(_)) => RULE.fine(DEFAULT, "It is the default, and not read outside mode 2."),
        (Some(value), Some(mode)) => {
            let reason =
                format!("The kernel reads it only where vm.overcommit_memory is 2; here that is {mode}.");
            vec![RULE.finding(Standing::NoEffect, reason).present(value)]
        }
    }
}

/// Judges the ratio where it is read.
fn strict(facts: &Facts<'_>, value: u64) -> Vec<Finding> {
    if facts.host.sysctl_number("vm.overcommit_kbytes").is_some_and(|kbytes| kbytes > 0) {
        let reason = "vm.overcommit_kbytes is set, which replaces the ratio.";
        return vec![RULE.finding(Standing::NoEffect, reason).present(value)];
    }
    let memory = facts.bytes_without_huge_pages();
    let Some(swap) = facts.host.memory.swap_bytes().filter(|_| memory > 0) else {
        let reason = "The size of the memory or of swap is unknown.";
        return vec![RULE.finding(Standing::Unknown, reason).present(value)];
    };
    let limit = memory as f64 * value as f64 / 100.0 + swap as f64;
    let kept = (facts.host.memory.total_bytes / 20).max(GB);
    let best = ratio(memory.saturating_sub(kept).saturating_sub(swap), memory);
    let text = format!(
        "{} of memory without huge pages × {value} % and {} of swap are a CommitLimit of {}",
        units::bytes(memory),
        units::bytes(swap),
        units::bytes(limit as u64)
    );
    match () {
        () if value > 100 => {
            let reason = format!("{text}, more than there is.");
            vec![RULE.finding(Standing::Dangerous, reason).present(value).set_sysctl(best.max(DEFAULT))]
        }
        () if limit < 0.75 * memory as f64 && best > value => {
            let reason =
                format!("{text}, so that more than a quarter of the memory can be nothing but page cache.");
            vec![RULE.finding(Standing::Improve, reason).present(value).set_sysctl(best)]
        }
        () => RULE.fine(value, format!("{text}.")),
    }
}

/// A part of a whole in percent, rounded down.
fn ratio(part: u64, whole: u64) -> u64 {
    (part as f64 / whole as f64 * 100.0) as u64
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::{Inventory, Swap};

    use super::*;
    use crate::host::testing::{changes, host, standings};

    fn planned(mode: &str, ratio: &str) -> Inventory {
        host(&[("vm.overcommit_memory", mode), ("vm.overcommit_ratio", ratio)])
    }

    #[test]
    fn the_ratio_is_read_in_mode_2_only() {
        for (mode, ratio, expected) in [
            ("0", "90", Standing::NoEffect),
            ("1", "90", Standing::NoEffect),
            ("0", "50", Standing::Fine),
            ("2", "50", Standing::Improve),
            ("2", "90", Standing::Fine),
            ("2", "150", Standing::Dangerous),
        ] {
            assert_eq!(standings(&RULE, &planned(mode, ratio)), [expected], "{mode} {ratio}");
        }
        assert_eq!(standings(&RULE, &host(&[("vm.overcommit_memory", "2")])), [Standing::Unknown]);
        assert!(standings(&RULE, &host(&[])).is_empty());
    }

    #[test]
    fn the_kernel_keeps_a_part() {
        // 64 GiB, of which 5 % are kept, no swap.
        assert_eq!(changes(&RULE, &planned("2", "50")), ["95"]);
        let mut host = planned("2", "50");
        host.memory.swaps = Some(vec![Swap { size_bytes: 32 * GB, ..Swap::default() }]);
        assert!(changes(&RULE, &host).is_empty(), "32 + 32 GiB are enough");
        host.memory.swaps = None;
        assert_eq!(standings(&RULE, &host), [Standing::Unknown], "there may be swap");
    }

    #[test]
    fn kilobytes_replace_the_ratio() {
        let mut host = planned("2", "90");
        host.kernel.sysctls.insert("vm.overcommit_kbytes".to_owned(), "1000".to_owned());
        assert_eq!(standings(&RULE, &host), [Standing::NoEffect]);
    }
}
