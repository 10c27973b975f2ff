//! `hugepages=`.

use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `hugepages=`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "hugepages=",
        also: &["hugepages"],
        what: "Explicit huge pages that are reserved when the host boots, of the size that hugepagesz= names \
               before it.",
        today: Today::Kept,
        why: "Memory is not yet fragmented then, so the pool gets all its pages; vm.nr_hugepages, set later, may get \
              fewer. Pages of 2 MiB can also be reserved later, so the word is needed for 1 GiB pages, or where the \
              pool came out too small. PostgreSQL tells the count that it needs: postgres -C \
              shared_memory_size_in_huge_pages, since 15.",
        danger: "Reserved pages serve nothing but programs that ask for them: a pool that is much larger than \
                 shared_buffers takes memory from the page cache and from sessions.",
        source: "Linux Documentation/admin-guide/mm/hugetlbpage.rst; PostgreSQL manual, Managing Kernel Resources, \
                 Linux Huge Pages.",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let host = facts.host;
    let kernel = &host.kernel;
    // With sizes named in between, several counts may be given: each belongs to the size before it.
    if kernel.boot_word("hugepagesz").is_some() || kernel.boot_word("default_hugepagesz").is_some() {
        return Vec::new();
    }
    let Some(asked) = kernel.boot_word("hugepages").and_then(|word| word.parse::<u64>().ok()) else {
        return Vec::new();
    };
    let default = host.memory.default_huge_page_bytes;
    let Some(pool) = host.memory.huge_pages.iter().find(|pool| Some(pool.page_bytes) == default) else {
        return Vec::new();
    };
    let finding = match pool.total == asked {
        true => RULE.finding(Standing::Fine, format!("The pool has the {asked} pages that were requested.")),
        false => RULE.finding(
            Standing::NoEffect,
            format!(
                "The boot line requests {asked} pages, and the pool has {}: vm.nr_hugepages was changed later, or \
                 memory was short.",
                pool.total
            ),
        ),
    };
    vec![finding.seen(format!("hugepages={asked}"))]
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::{HugePagePool, Inventory};

    use super::*;
    use crate::host::example::{booted, standings};

    fn host(words: &[&str], total: u64) -> Inventory {
        let mut host = booted(words);
        host.memory.default_huge_page_bytes = Some(2 << 20);
        host.memory.huge_pages = vec![HugePagePool { page_bytes: 2 << 20, total, ..HugePagePool::default() }];
        host
    }

    #[test]
    fn the_word_is_compared_with_the_pool() {
        assert_eq!(standings(&RULE, &host(&["hugepages=1000"], 1000)), [Standing::Fine]);
        assert_eq!(standings(&RULE, &host(&["hugepages=1000"], 900)), [Standing::NoEffect]);
    }

    #[test]
    fn without_a_count_or_a_pool_nothing_is_claimed() {
        for words in [&["hugepages=many"][..], &["hugepagesz=1G", "hugepages=4"], &["ro"]] {
            assert_eq!(standings(&RULE, &host(words, 1000)), [], "{words:?}");
        }
        assert_eq!(standings(&RULE, &booted(&["hugepages=1000"])), []);
    }
}
