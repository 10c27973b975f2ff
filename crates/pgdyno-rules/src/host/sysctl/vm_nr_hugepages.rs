//! `vm.nr_hugepages`.

use pgdyno_core::{facts::amount::GB, units};
use pgdyno_inventory::HugePagePool;

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule},
};

/// The rule.
pub static RULE: Rule = Rule {
    page: Page {
        name: "vm.nr_hugepages",
        also: &["huge pages"],
        what: "Explicit huge pages of the default size that the kernel sets aside; only programs that ask for them, \
               such as a server with huge_pages = try or on, can use them.",
        today: Today::Kept,
        why: "Each session has its own page table of the shared memory that it touched: 8 bytes for 4 KiB, so up to \
              2 MiB for each GiB and session, which huge pages divide by 512. They are also never swapped. The \
              recommended count is the shared memory of the server in huge pages, as `postgres -C \
              shared_memory_size_in_huge_pages` says it since 15, else an estimate from shared_buffers, connections \
              and locks. Nothing is recommended below 1 GiB, or if less than a quarter of the memory would be left \
              to everything else.",
        danger: "The pool is lost to page cache and sessions whether or not it is used: pages for a server that does \
                 not take them, or two servers' worth on a small host, lead to the OOM killer.",
        source: "PostgreSQL manual, \"Linux Huge Pages\"; Linux Documentation/admin-guide/mm/hugetlbpage.rst.",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let Some(pool) = facts.default_pool() else {
        let known = RULE.number(facts).map(|value| {
            let reason = "The pools of huge pages of this host could not be read.";
            vec![RULE.finding(Standing::Unknown, reason).present(value)]
        });
        return known.unwrap_or_else(|| RULE.unread());
    };
    let held = facts.host.server.as_ref().and_then(|server| server.huge_page_bytes).unwrap_or(0);
    if held > 0 {
        let reason = format!("The server has {} of its shared memory in huge pages.", units::bytes(held));
        return RULE.fine(pool.total, reason);
    }
    if other_size(facts, pool) {
        let reason = "huge_page_size of the server names another size, whose pool has no kernel parameter.";
        return RULE.fine(pool.total, reason);
    }
    match (facts.setting("huge_pages"), facts.huge_pages_needed(pool.page_bytes)) {
        (Some("off"), _) => unused(pool, "The server has huge_pages = off"),
        (_, Some(needed)) => needed_by_server(facts, pool, needed),
        _ => unused(pool, "No server was named"),
    }
}

/// Whether the server wants pages of another size than the pool has.
fn other_size(facts: &Facts<'_>, pool: &HugePagePool) -> bool {
    let size = facts.setting_bytes("huge_page_size", pgdyno_core::facts::amount::KB, 0).unwrap_or(0);
    size != 0 && size != pool.page_bytes
}

/// Judges a pool that no known server takes from.
fn unused(pool: &HugePagePool, because: &str) -> Vec<Finding> {
    let bytes = pool.total.saturating_mul(pool.page_bytes);
    if pool.total == 0 {
        return RULE.fine(0, format!("{because}, and no huge pages are set aside."));
    }
    if pool.free < pool.total || pool.reserved > 0 {
        return RULE.fine(pool.total, format!("{because}, and other programs use pages of the pool."));
    }
    let reason =
        format!("{because}, and {} of huge pages are free, which nothing else can use.", units::bytes(bytes));
    vec![
        RULE.finding(Standing::Improve, reason)
            .present(pool.total)
            .recommend("0, or a server that uses them"),
    ]
}

/// Judges a pool that the server would take from.
fn needed_by_server(facts: &Facts<'_>, pool: &HugePagePool, needed: u64) -> Vec<Finding> {
    let origin =
        if facts.shared_memory_is_exact() { "as it says itself" } else { "as estimated from its settings" };
    let wanted = needed.saturating_mul(pool.page_bytes);
    let text = format!(
        "The shared memory of the server fills {} huge pages of {} ({}, {origin})",
        units::count(needed),
        units::bytes(pool.page_bytes),
        units::bytes(wanted)
    );
    if pool.free.saturating_sub(pool.reserved) >= needed {
        return RULE.fine(pool.total, format!("{text}, and so many are free for its next start."));
    }
    let others = pool.total.saturating_sub(pool.free).saturating_add(pool.reserved);
    let best = needed.saturating_add(others);
    let fits = facts.huge_pool_bytes().saturating_add(wanted) <= facts.most_huge_bytes();
    match (facts.setting("huge_pages"), fits) {
        (Some("on"), false) => {
            let reason =
                format!("{text}, more than this host can set aside: with huge_pages = on it will not start.");
            vec![RULE.finding(Standing::Improve, reason).present(pool.total)]
        }
        (_, false) => RULE.fine(pool.total, format!("{text}, too much to set aside on this host.")),
        (Some("on"), true) => {
            let reason = format!("{text}; with huge_pages = on it does not start without them.");
            vec![RULE.finding(Standing::Improve, reason).present(pool.total).set_sysctl(best)]
        }
        (_, true) if wanted < GB => {
            RULE.fine(pool.total, format!("{text}, too little for page tables to matter."))
        }
        (_, true) => {
            let reason = format!("{text}, and the pool does not have them, so that it runs on small pages.");
            vec![RULE.finding(Standing::Improve, reason).present(pool.total).set_sysctl(best)]
        }
    }
}

#[cfg(test)]
mod tests {
    use pgdyno_core::facts::amount::MB;
    use pgdyno_inventory::Inventory;

    use super::*;
    use crate::host::testing::{changes, findings, host, standings, with_server};

    fn pool(mut host: Inventory, total: u64, free: u64) -> Inventory {
        host.memory.huge_pages[0].total = total;
        host.memory.huge_pages[0].free = free;
        host
    }

    const EXACT: [(&str, &str); 2] = [("shared_buffers", "16GB"), ("shared_memory_size", "16820MB")];

    #[test]
    fn the_count_comes_from_the_shared_memory() {
        let server = with_server(host(&[]), 17, &EXACT);
        assert_eq!(changes(&RULE, &server), ["8410"]);
        assert_eq!(standings(&RULE, &pool(server.clone(), 8410, 8410)), [Standing::Fine]);
        assert_eq!(changes(&RULE, &pool(server, 100, 0)), ["8510"], "another program keeps its 100");
        let estimated = changes(&RULE, &with_server(host(&[]), 12, &[("shared_buffers", "16GB")]));
        let pages: u64 = estimated[0].parse().expect("a number");
        assert!((8400..8900).contains(&pages), "{pages}");
    }

    #[test]
    fn what_does_not_fit_or_does_not_matter_is_not_set() {
        for (settings, expected) in [
            (vec![("shared_buffers", "60GB")], Standing::Fine),
            (vec![("shared_buffers", "60GB"), ("huge_pages", "on")], Standing::Improve),
            (vec![("shared_buffers", "128MB")], Standing::Fine),
            (vec![("shared_buffers", "128MB"), ("huge_page_size", "1GB")], Standing::Fine),
            (vec![("shared_buffers", "16GB"), ("huge_pages", "off")], Standing::Fine),
        ] {
            let host = with_server(host(&[]), 17, &settings);
            assert_eq!(standings(&RULE, &host), [expected], "{settings:?}");
            assert!(changes(&RULE, &host).is_empty(), "{settings:?}");
        }
    }

    #[test]
    fn a_pool_that_nobody_uses_is_told() {
        assert_eq!(standings(&RULE, &pool(host(&[]), 1000, 1000)), [Standing::Improve]);
        assert_eq!(standings(&RULE, &pool(host(&[]), 1000, 10)), [Standing::Fine]);
        assert_eq!(standings(&RULE, &host(&[])), [Standing::Fine]);
    }

    #[test]
    fn a_server_on_huge_pages_is_fine() {
        let mut host = pool(with_server(host(&[]), 17, &EXACT), 8410, 0);
        host.server.as_mut().expect("it was put there").huge_page_bytes = Some(16_820 * MB);
        assert!(findings(&RULE, &host)[0].reason.contains("16.4 GiB"), "{:?}", findings(&RULE, &host));
    }

    #[test]
    fn without_pools_nothing_is_said() {
        let mut host = host(&[("vm.nr_hugepages", "5")]);
        host.memory.huge_pages.clear();
        assert_eq!(standings(&RULE, &host), [Standing::Unknown]);
    }
}
