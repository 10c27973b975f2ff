//! `vm.swappiness`.

use crate::{
    Finding, Page, Purpose, Standing, Today,
    host::{Facts, Rule},
};

/// The rule.
pub static RULE: Rule = Rule {
    page: Page {
        name: "vm.swappiness",
        what: "How readily the kernel swaps out anonymous memory instead of dropping page cache, 0 to 200 (to 100 \
               before Linux 5.8).",
        today: Today::Kept,
        why: "Memory of sessions that is read back from a disk costs milliseconds, so a dedicated server on disk \
              swap wants a low value: 1 for short transactions, 10 where reports and loads live on the page cache. \
              Without a swap area the value decides nothing, and on compressed memory (zram) swapping is cheap and \
              the default of 60 or more is right.",
        danger: "0 does not turn swap off: since Linux 3.5 the kernel then swaps only when it can hardly do anything \
                 else, so the OOM killer may end a process while swap is still free.",
        source: "Linux Documentation/admin-guide/sysctl/vm.rst; commit fe35004fbf9e (Linux 3.5).",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let Some(value) = RULE.number(facts) else { return RULE.unread() };
    let Some(swaps) = &facts.host.memory.swaps else {
        let reason = "Whether there is a swap area is unknown, without which the value decides nothing.";
        return vec![RULE.finding(Standing::Unknown, reason).present(value)];
    };
    let low = match facts.purpose {
        Purpose::Oltp | Purpose::Mixed => 1,
        Purpose::BulkLoad | Purpose::Olap => 10,
    };
    if swaps.is_empty() {
        let text = "There is no swap area on this host, so the value has nothing to decide.";
        return RULE.fine(value, text);
    }
    if swaps.iter().all(|swap| swap.is_compressed_memory) {
        return RULE.fine(value, "Swap is compressed memory here, which is read back in microseconds.");
    }
    let reason = match value {
        0 => {
            "With 0 the kernel may end processes by the OOM killer while swap is still free; 1 avoids swapping \
             nearly as well."
        }
        value if value > 10 => {
            "Memory of sessions may be swapped to a disk in favour of page cache that the server can \
                                read again."
        }
        _ => return RULE.fine(value, "Swap is left for emergencies, and used before the OOM killer is."),
    };
    vec![RULE.finding(Standing::Improve, reason).present(value).set_sysctl(low)]
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::{Inventory, Swap};

    use super::*;
    use crate::host::testing::{changes, check_values, host, standings};

    fn with_swap(value: &str, is_compressed_memory: bool) -> Inventory {
        let mut host = host(&[("vm.swappiness", value)]);
        host.memory.swaps = Some(vec![Swap { is_compressed_memory, ..Swap::default() }]);
        host
    }

    #[test]
    fn without_swap_nothing_is_to_be_set() {
        check_values(&RULE, &[("0", Standing::Fine), ("60", Standing::Fine)]);
        let mut unknown = host(&[("vm.swappiness", "0")]);
        unknown.memory.swaps = None;
        assert_eq!(
            standings(&RULE, &unknown),
            [Standing::Unknown],
            "that none was read is not that there is none"
        );
    }

    #[test]
    fn swap_on_a_disk_is_for_emergencies() {
        for (value, expected) in [("0", Some("1")), ("1", None), ("10", None), ("60", Some("1"))] {
            let changes = changes(&RULE, &with_swap(value, false));
            assert_eq!(changes.first().map(String::as_str), expected, "{value}");
        }
    }

    #[test]
    fn compressed_memory_may_be_used() {
        assert_eq!(standings(&RULE, &with_swap("180", true)), [Standing::Fine]);
    }
}
