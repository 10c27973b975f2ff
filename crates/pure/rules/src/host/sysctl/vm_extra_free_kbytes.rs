//! `vm.extra_free_kbytes`.

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule},
};

/// The rule.
pub static RULE: Rule = Rule {
    page: Page {
        name: "vm.extra_free_kbytes",
        what: "Memory between the watermarks at which reclaim in the background begins and ends, in kernels of \
               Android and of Red Hat Enterprise Linux 6.",
        today: Today::Obsolete,
        why: "Linux never had it: the patch was proposed in 2011 and not taken. What it was for, waking reclaim \
              earlier, is vm.watermark_scale_factor since Linux 4.6, whose default is right for nearly every host.",
        source: "Linux Documentation/admin-guide/sysctl/vm.rst, watermark_scale_factor; commit 795ae7a0de6b (Linux \
                 4.6).",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    match (RULE.number(facts), facts.sysctl_line(RULE.page.name)) {
        (Some(0), _) => RULE.fine(0, "This kernel has it, and it is unused."),
        (Some(value), _) => {
            let reason = "Only some patched kernels have it; newer ones ignore it, and vm.watermark_scale_factor \
                          replaces it.";
            vec![RULE.finding(Standing::Obsolete, reason).present(value)]
        }
        (None, Some(line)) if !facts.host.kernel.sysctls.is_empty() => {
            let reason =
                format!("{} sets it to {}, and this kernel does not have it.", line.file, line.value);
            vec![RULE.finding(Standing::Obsolete, reason)]
        }
        (None, _) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::testing::{check_values, host, standings, with_line};

    #[test]
    fn no_current_kernel_has_it() {
        check_values(&RULE, &[("0", Standing::Fine), ("4096000", Standing::Obsolete)]);
        let set = |sysctls: &[(&str, &str)]| with_line(host(sysctls), "vm.extra_free_kbytes", "4096000");
        assert_eq!(standings(&RULE, &set(&[("vm.swappiness", "1")])), [Standing::Obsolete]);
        assert!(standings(&RULE, &set(&[])).is_empty(), "no parameter of this kernel is known");
    }
}
