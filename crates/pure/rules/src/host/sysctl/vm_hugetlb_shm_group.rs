//! `vm.hugetlb_shm_group`.

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule},
};

/// The rule.
pub static RULE: Rule = Rule {
    page: Page {
        name: "vm.hugetlb_shm_group",
        what: "The group whose members may put System V shared memory into huge pages, beside root and processes with \
               CAP_IPC_LOCK; 0 by default.",
        today: Today::NoEffect,
        why: "The server maps its huge pages, which needs no group; its System V memory (shared_memory_type = sysv) is \
              never in huge pages. Setting it is advice for other database servers.",
        source: "Linux Documentation/admin-guide/sysctl/vm.rst, hugetlb_shm_group; PostgreSQL \
                 src/backend/port/sysv_shmem.c.",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    match RULE.number(facts) {
        None => Vec::new(),
        Some(0) => RULE.fine(0, "It is the default, and the server needs no group for its huge pages."),
        Some(group) => {
            let reason = "The server maps its huge pages, for which no group is needed.";
            vec![RULE.finding(Standing::NoEffect, reason).present(group)]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::testing::check_values;

    #[test]
    fn mapped_huge_pages_need_no_group() {
        check_values(&RULE, &[("0", Standing::Fine), ("1001", Standing::NoEffect)]);
    }
}
