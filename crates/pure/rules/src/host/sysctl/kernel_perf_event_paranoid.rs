//! `kernel.perf_event_paranoid`.

use crate::{
    Finding, Page, Today,
    host::{Facts, Rule},
};

/// The rule.
pub static RULE: Rule = Rule {
    page: Page {
        name: "kernel.perf_event_paranoid",
        what: "What users without CAP_PERFMON may profile: -1 all, 0 processors, 1 their processes with kernel \
               functions, 2 their processes without (the kernel's default). Kernels of Debian and Ubuntu have a \
               level more, 3 or 4, at which only root may profile.",
        today: Today::Depends,
        why: "It costs a server nothing. A profile of where the server spends CPU time needs 2 for functions of the \
              server and 1 for those of the kernel, or CAP_PERFMON.",
        danger: "Low values let local users observe kernel addresses and timings: set them for the profile, not for \
                 good.",
        source: "Linux Documentation/admin-guide/sysctl/kernel.rst and admin-guide/perf-security.rst.",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    match facts.host.sysctl_number(RULE.page.name) {
        None => Vec::new(),
        Some(value @ 3..) => {
            let reason = "With the kernels of Debian and Ubuntu ordinary users cannot profile even their own \
                          processes, nor does CAP_PERFMON suffice: a profile needs root, or 2 or 1 here while it is \
                          made.";
            RULE.fine(value, reason)
        }
        Some(2) => RULE.fine(2, "Own processes can be profiled, without functions of the kernel."),
        Some(1) => RULE.fine(1, "Own processes can be profiled, with functions of the kernel."),
        Some(value) => RULE.fine(value, "Whole processors can be profiled, by every user of the host."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Standing;
    use crate::host::testing::{check_values, findings, host};

    #[test]
    fn profiles_need_permission() {
        let values = ["-1", "0", "1", "2", "3", "4"].map(|value| (value, Standing::Fine));
        check_values(&RULE, &values);
        let never = findings(&RULE, &host(&[("kernel.perf_event_paranoid", "4")])).remove(0);
        assert!(never.change.is_none() && never.recommended.is_none(), "a guard is not lowered for good");
    }
}
