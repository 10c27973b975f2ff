//! `kernel.numa_balancing`.

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule},
};

/// The rule.
pub static RULE: Rule = Rule {
    page: Page {
        name: "kernel.numa_balancing",
        what: "Whether the kernel moves pages towards the NUMA node of the process that uses them: 0 no, 1 yes, 2 \
               only between tiers of memory (since Linux 5.18).",
        today: Today::Depends,
        why: "To learn who uses a page the kernel unmaps it now and then and takes a fault. Pages of shared_buffers \
              are used from all nodes, so there is little to gain for them, while the memory of one long session can \
              gain. Whether 0 helps depends on the load; compare both on your own.",
        danger: "",
        source: "Linux Documentation/admin-guide/sysctl/kernel.rst, numa_balancing.",
        since_kernel: Some((3, 13)),
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    match (RULE.number(facts), facts.numa_nodes()) {
        (None, _) => Vec::new(),
        (Some(0), _) => RULE.fine(0, "Pages stay on the node on which they were first touched."),
        (Some(value), 1) => {
            let reason = "There is one NUMA node, so there is nothing to move.";
            vec![RULE.finding(Standing::NoEffect, reason).present(value)]
        }
        (Some(value), nodes) => RULE.fine(
            value,
            format!(
                "Pages move between {nodes} nodes at the price of faults; its effect here is not measured."
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::testing::{check_values, host, standings, with_nodes};

    #[test]
    fn one_node_has_nothing_to_balance() {
        check_values(&RULE, &[("0", Standing::Fine), ("1", Standing::NoEffect)]);
        let several = with_nodes(host(&[("kernel.numa_balancing", "1")]), 2);
        assert_eq!(standings(&RULE, &several), [Standing::Fine]);
    }
}
