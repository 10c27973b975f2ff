//! `vm.max_map_count`.

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule},
};

/// The rule.
pub static RULE: Rule = Rule {
    page: Page {
        name: "vm.max_map_count",
        what: "Memory mappings that one process may have, 65530 by default; several distributions set 1048576.",
        today: Today::DefaultIsRight,
        why: "A process of PostgreSQL has some hundred mappings: its shared memory is one, each library a few. \
              Advice to raise it comes from programs that map their data files.",
        danger: "Far below the default, large processes fail with \"out of memory\" although memory is free.",
        source: "Linux Documentation/admin-guide/sysctl/vm.rst, max_map_count.",
        ..Page::EMPTY
    },
    judge,
};

/// The default of the kernel.
const DEFAULT: u64 = 65_530;

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    match RULE.number(facts) {
        None => Vec::new(),
        Some(value @ 0..DEFAULT) => {
            let reason = "Somebody lowered it below the default of the kernel, 65530.";
            vec![RULE.finding(Standing::Improve, reason).present(value).set_sysctl(DEFAULT)]
        }
        Some(value) => RULE.fine(value, "A process of the server needs some hundred mappings."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::testing::check_values;

    #[test]
    fn the_default_is_enough() {
        check_values(
            &RULE,
            &[("65530", Standing::Fine), ("1048576", Standing::Fine), ("1000", Standing::Improve)],
        );
    }
}
