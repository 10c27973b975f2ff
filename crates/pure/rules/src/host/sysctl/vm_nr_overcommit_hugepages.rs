//! `vm.nr_overcommit_hugepages`.

use pgdyno_core::units;

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule},
};

/// The rule.
pub static RULE: Rule = Rule {
    page: Page {
        name: "vm.nr_overcommit_hugepages",
        what: "Huge pages of the default size that the kernel may add on demand when its pool is empty.",
        today: Today::Depends,
        why: "Added pages have to be found as contiguous memory when the server starts, which fails more and more \
              often the longer a host is up. It serves where servers come and go; a server that must start should \
              have its pages in vm.nr_hugepages from boot on.",
        danger: "Close to all of the memory, a program can turn everything into huge pages.",
        source: "Linux Documentation/admin-guide/mm/hugetlbpage.rst.",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let Some(value) = RULE.number(facts) else { return Vec::new() };
    let size = facts.host.memory.default_huge_page_bytes.unwrap_or(0);
    let bytes = value.saturating_mul(size);
    match () {
        () if value == 0 => RULE.fine(0, "The pool does not grow on demand, which is the default."),
        () if size == 0 || facts.host.memory.total_bytes == 0 => {
            let reason = "Its share of the memory is unknown, because a size could not be read.";
            vec![RULE.finding(Standing::Unknown, reason).present(value)]
        }
        () if bytes.saturating_add(facts.huge_pool_bytes()) > facts.most_huge_bytes() => {
            let most = facts.most_huge_bytes().saturating_sub(facts.huge_pool_bytes()) / size;
            let reason = format!(
                "Programs may turn {} of {} into huge pages.",
                units::bytes(bytes),
                units::bytes(facts.host.memory.total_bytes)
            );
            vec![RULE.finding(Standing::Improve, reason).present(value).set_sysctl(most)]
        }
        () => RULE.fine(
            value,
            format!("Up to {} may be added where contiguous memory is found.", units::bytes(bytes)),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::testing::{changes, check_values, host};

    #[test]
    fn a_quarter_of_the_memory_stays() {
        check_values(&RULE, &[("0", Standing::Fine), ("1000", Standing::Fine), ("32768", Standing::Improve)]);
        // 48 GiB of 64.
        assert_eq!(changes(&RULE, &host(&[("vm.nr_overcommit_hugepages", "32768")])), ["24576"]);
    }
}
