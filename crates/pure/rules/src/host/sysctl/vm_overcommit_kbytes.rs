//! `vm.overcommit_kbytes`.

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule},
};

/// The rule.
pub static RULE: Rule = Rule {
    page: Page {
        name: "vm.overcommit_kbytes",
        what: "Memory in KiB that counts towards CommitLimit in place of vm.overcommit_ratio; 0, the default, where \
               the ratio holds. Writing one of the two sets the other to 0.",
        today: Today::Depends,
        why: "It is read only where vm.overcommit_memory is 2, as the ratio is, and is finer than whole per cents on \
              hosts with much memory. Pools of huge pages are not taken off it, so that it has to be what is left \
              beside them.",
        danger: "Too low in mode 2, the server or its sessions get \"out of memory\" while memory is free.",
        source: "Linux Documentation/admin-guide/sysctl/vm.rst, overcommit_kbytes; mm/util.c, vm_commit_limit.",
        since_kernel: Some((3, 14)),
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    match (RULE.number(facts), facts.host.sysctl_number("vm.overcommit_memory")) {
        (None, _) => Vec::new(),
        (Some(0), _) => RULE.fine(0, "vm.overcommit_ratio holds in its place."),
        (Some(value), Some(2)) => RULE
            .fine(value, "CommitLimit is computed from it; the rule CommitLimit says whether it is enough."),
        (Some(value), Some(mode)) => {
            let reason =
                format!("The kernel reads it only where vm.overcommit_memory is 2; here that is {mode}.");
            vec![RULE.finding(Standing::NoEffect, reason).present(value)]
        }
        (Some(value), None) => {
            let reason = "Whether it is read depends on vm.overcommit_memory, which could not be read.";
            vec![RULE.finding(Standing::Unknown, reason).present(value)]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::testing::{check_values, host, standings};

    #[test]
    fn it_is_read_in_mode_2_only() {
        check_values(&RULE, &[("0", Standing::Fine), ("1048576", Standing::Unknown)]);
        for (mode, expected) in [("0", Standing::NoEffect), ("2", Standing::Fine)] {
            let host = host(&[("vm.overcommit_kbytes", "1048576"), ("vm.overcommit_memory", mode)]);
            assert_eq!(standings(&RULE, &host), [expected], "{mode}");
        }
    }
}
