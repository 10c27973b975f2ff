//! `vm.mmap_min_addr`.

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule},
};

/// The rule.
pub static RULE: Rule = Rule {
    page: Page {
        name: "vm.mmap_min_addr",
        what: "Lowest address that an unprivileged process may map.",
        today: Today::DefaultIsRight,
        why: "Distributions set 65536 (x86-64) or 4096 (some others). It is a guard of the kernel against its own \
              null-pointer bugs and has nothing to do with speed.",
        danger: "0 lets a process place data where a faulty kernel pointer would read it.",
        source: "Linux Documentation/admin-guide/sysctl/vm.rst, mmap_min_addr.",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    match RULE.number(facts) {
        None => Vec::new(),
        Some(value @ 0..4096) => {
            let reason =
                "Null-pointer bugs of the kernel can be exploited; no server needs memory down there.";
            vec![RULE.finding(Standing::Improve, reason).present(value).set_sysctl(65_536)]
        }
        Some(value) => RULE.fine(value, "The lowest pages cannot be mapped."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::testing::check_values;

    #[test]
    fn the_lowest_page_is_guarded() {
        check_values(&RULE, &[("65536", Standing::Fine), ("4096", Standing::Fine), ("0", Standing::Improve)]);
    }
}
