//! `vm.vfs_cache_pressure`.

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule},
};

/// The rule.
pub static RULE: Rule = Rule {
    page: Page {
        name: "vm.vfs_cache_pressure",
        what: "How readily the kernel frees what it remembers of directories and inodes, compared with page cache; \
               100 by default.",
        today: Today::DefaultIsRight,
        why: "A server has some ten thousands of files and opens them rarely, so that neither more nor less of it \
              matters. Published values of 50 or 200 are for file servers.",
        danger: "With 0 they are never freed, which can use up the memory; far above 100, searching for what can be \
                 freed takes locks that others wait for.",
        source: "Linux Documentation/admin-guide/sysctl/vm.rst, vfs_cache_pressure.",
        ..Page::EMPTY
    },
    judge,
};

/// The default of the kernel.
const DEFAULT: u64 = 100;
/// Values above this search much and free little.
const MOST: u64 = 1000;

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    match RULE.number(facts) {
        None => Vec::new(),
        Some(DEFAULT) => RULE.fine(DEFAULT, "It is the default."),
        Some(0) => {
            let reason = "What the kernel remembers of files is never freed, until memory runs out.";
            vec![RULE.finding(Standing::Dangerous, reason).present(0).set_sysctl(DEFAULT)]
        }
        Some(value) if value > MOST => {
            let reason = "Searching for what can be freed takes locks that others wait for.";
            vec![RULE.finding(Standing::Improve, reason).present(value).set_sysctl(DEFAULT)]
        }
        Some(value) => {
            RULE.fine(value, "A server has few files and opens them rarely, so that it hardly matters.")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::testing::{changes, check_values, host};

    #[test]
    fn only_extremes_are_wrong() {
        let (fine, improve) = (Standing::Fine, Standing::Improve);
        check_values(&RULE, &[("100", fine), ("50", fine), ("0", Standing::Dangerous), ("10000", improve)]);
        assert_eq!(changes(&RULE, &host(&[("vm.vfs_cache_pressure", "0")])), ["100"]);
    }
}
