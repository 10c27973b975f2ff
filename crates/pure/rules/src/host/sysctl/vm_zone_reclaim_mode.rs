//! `vm.zone_reclaim_mode`.

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule},
};

/// The rule.
pub static RULE: Rule = Rule {
    page: Page {
        name: "vm.zone_reclaim_mode",
        what: "Whether the kernel frees page cache of a NUMA node before it takes memory of another node.",
        today: Today::Dangerous,
        why: "A server shares one page cache among all nodes: memory of another node is far cheaper than reading a \
              page from a disk again. The default has been 0 since Linux 3.16; before, firmware tables could turn it \
              on.",
        danger: "Any other value makes allocations wait for reclaim while other nodes have memory, and leaves much \
                 of the memory unused as page cache.",
        source: "Linux Documentation/admin-guide/sysctl/vm.rst; commit 4f9b16a64753 (Linux 3.16).",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    match (RULE.number(facts), facts.numa_nodes()) {
        (None, 1) => Vec::new(),
        (None, _) => RULE.unread(),
        (Some(0), _) => RULE.fine(0, "Memory of all nodes is used before page cache is dropped."),
        (Some(value), 1) => {
            let reason = "With one NUMA node there is no other node to turn to first.";
            vec![RULE.finding(Standing::NoEffect, reason).present(value)]
        }
        (Some(value), nodes) => {
            let reason = format!(
                "With {nodes} NUMA nodes each drops its page cache while another still has free memory, and sessions \
                 wait for it."
            );
            vec![RULE.finding(Standing::Dangerous, reason).present(value).set_sysctl(0)]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::testing::{changes, check_values, host, standings, with_nodes};

    #[test]
    fn one_node_has_no_other() {
        check_values(&RULE, &[("0", Standing::Fine), ("1", Standing::NoEffect)]);
    }

    #[test]
    fn several_nodes_share_their_memory() {
        let several = |sysctls: &[(&str, &str)]| with_nodes(host(sysctls), 2);
        assert_eq!(standings(&RULE, &several(&[("vm.zone_reclaim_mode", "1")])), [Standing::Dangerous]);
        assert_eq!(changes(&RULE, &several(&[("vm.zone_reclaim_mode", "1")])), ["0"]);
        assert_eq!(standings(&RULE, &several(&[("vm.zone_reclaim_mode", "0")])), [Standing::Fine]);
        assert_eq!(standings(&RULE, &several(&[])), [Standing::Unknown]);
    }
}
