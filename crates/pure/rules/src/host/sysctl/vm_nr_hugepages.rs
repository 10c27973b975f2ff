//! `vm.nr_hugepages`.

use pgdyno_core::host::HugePagePool;
use pgdyno_core::{
    facts::amount::{self, GB, KB},
    units,
};

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule, known::estimate_shared_memory},
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
              to everything else; more than three quarters are too much. On Linux the server takes huge pages for \
              mapped memory only (shared_memory_type = mmap, the default).",
        danger: "The pool is lost to page cache and sessions whether or not it is used: pages for a server that does \
                 not take them, or two servers' worth on a small host, lead to the OOM killer.",
        source: "PostgreSQL manual, \"Linux Huge Pages\"; Linux Documentation/admin-guide/mm/hugetlbpage.rst.",
        ..Page::EMPTY
    },
    judge,
};

/// Processes of a new server, with its auxiliary ones: the defaults, and 100 connections.
const NEW_PROCESSES: u64 = 150;

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    if let Some(finding) = too_much(facts) {
        return vec![finding];
    }
    let pool = facts.default_pool().cloned().or_else(|| empty_pool(facts));
    let Some(pool) = &pool else { return without_pool(facts) };
    let held = facts.host.server.as_ref().and_then(|server| server.huge_page_bytes).unwrap_or(0);
    if held > 0 {
        let reason = format!("The server has {} of its shared memory in huge pages.", units::bytes(held));
        return RULE.fine(pool.total, reason);
    }
    if other_size(facts, pool) {
        let reason = "huge_page_size of the server names another size, whose pool has no kernel parameter.";
        return RULE.fine(pool.total, reason);
    }
    let is_mapped = facts.setting("shared_memory_type").is_none_or(|kind| !kind.eq_ignore_ascii_case("sysv"));
    match (facts.setting("huge_pages"), facts.huge_pages_needed(pool.page_bytes)) {
        (Some("off"), _) => unused(facts, pool, "The server has huge_pages = off"),
        _ if !is_mapped => {
            unused(facts, pool, "The server has shared_memory_type = sysv, which takes no huge pages")
        }
        (_, Some(needed)) => needed_by_server(facts, pool, needed),
        _ => unused(facts, pool, "No server was named"),
    }
}

/// That pools leave too little of the memory to all else.
fn too_much(facts: &Facts<'_>) -> Option<Finding> {
    let huge = facts.huge_memory()?;
    let (total, most) = (facts.host.memory.total_bytes, facts.most_huge_bytes());
    if total == 0 || huge.bytes <= most {
        return None;
    }
    let page_bytes = facts.default_huge_page().map(|(bytes, _)| bytes).filter(|bytes| *bytes > 0);
    let new = page_bytes.and_then(|bytes| for_new_server(facts, bytes)).unwrap_or_default();
    let reason = format!(
        "{}: {} of the memory. Page cache, sessions and all other programs share the other {}, too little: \
         at most {} should be in huge pages.{new}",
        huge.words(),
        units::percent(huge.bytes as f64 / total as f64),
        units::bytes(facts.bytes_without_huge_pages()),
        units::bytes(most)
    );
    let pages = facts.default_pool().map(|pool| pool.total).or_else(|| RULE.number(facts));
    let finding = RULE.finding(Standing::Improve, reason);
    let finding = match pages {
        Some(pages) => finding.present(pages),
        None => finding,
    };
    let most = match page_bytes {
        Some(page) => format!("at most {}", units::count(most / page)),
        None => format!("at most {} in huge pages", units::bytes(most)),
    };
    let fitting = page_bytes.and_then(|bytes| new_server(facts, bytes));
    Some(finding.recommend(match fitting {
        Some((_, pages)) => format!("{} for a new server, {most}", units::count(pages)),
        None => most,
    }))
}

/// The pool of the default size, where the parameter says that it is empty and pools could not be read.
fn empty_pool(facts: &Facts<'_>) -> Option<HugePagePool> {
    let (page_bytes, _) = facts.default_huge_page().filter(|_| RULE.number(facts) == Some(0))?;
    Some(HugePagePool { page_bytes, ..HugePagePool::default() })
}

/// Judges the parameter alone, where the pools could not be read.
fn without_pool(facts: &Facts<'_>) -> Vec<Finding> {
    let Some(value) = RULE.number(facts) else { return unread(facts) };
    let reason = match (facts.huge_memory(), facts.host.memory.total_bytes) {
        (None, _) => "The pools of huge pages of this host could not be read.".to_owned(),
        (Some(huge), 0) => format!("{}; whether a program uses them could not be read.", huge.words()),
        (Some(huge), total) => format!(
            "{}, {} of the memory; whether a program uses them could not be read.",
            huge.words(),
            units::percent(huge.bytes as f64 / total as f64)
        ),
    };
    vec![RULE.finding(Standing::Unknown, reason).present(value)]
}

/// That nothing is known of the pool, with what a new server would need of it.
fn unread(facts: &Facts<'_>) -> Vec<Finding> {
    let new =
        facts.default_huge_page().and_then(|(bytes, _)| for_new_server(facts, bytes)).unwrap_or_default();
    let mut findings = RULE.unread();
    findings.iter_mut().for_each(|finding| finding.reason.push_str(&new));
    findings
}

/// Whether the server wants pages of another size than the pool has.
fn other_size(facts: &Facts<'_>, pool: &HugePagePool) -> bool {
    let size = facts.setting_bytes("huge_page_size", KB, 0).unwrap_or(0);
    size != 0 && size != pool.page_bytes
}

/// Judges a pool that no known server takes from.
fn unused(facts: &Facts<'_>, pool: &HugePagePool, because: &str) -> Vec<Finding> {
    let bytes = pool.total.saturating_mul(pool.page_bytes);
    if pool.total == 0 {
        let more = for_new_server(facts, pool.page_bytes).unwrap_or_default();
        return RULE.fine(0, format!("{because}, and no huge pages are set aside.{more}"));
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

/// How many pages a server would fill that is made here as recommended, where none was named and page tables matter.
fn for_new_server(facts: &Facts<'_>, page_bytes: u64) -> Option<String> {
    let (buffers, pages) = new_server(facts, page_bytes)?;
    Some(format!(
        " A new server with shared_buffers = {}, as `pgdyno config recommend` chooses for this memory, would fill \
         up to about {} pages of {}.",
        amount::format(buffers),
        units::count(pages),
        units::bytes(page_bytes)
    ))
}

/// `shared_buffers` of a new server in bytes, and the pages that it fills.
fn new_server(facts: &Facts<'_>, page_bytes: u64) -> Option<(u64, u64)> {
    let buffers = facts.recommended_buffers().filter(|bytes| facts.host.server.is_none() && *bytes >= GB)?;
    Some((buffers, estimate_shared_memory(buffers, NEW_PROCESSES, 64, None).div_ceil(page_bytes.max(1))))
}

/// Judges a pool that the server would take from.
fn needed_by_server(facts: &Facts<'_>, pool: &HugePagePool, needed: u64) -> Vec<Finding> {
    let origin = if facts.shared_memory_is_exact() {
        "as it says itself"
    } else {
        "estimated from its settings, rather too high"
    };
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
    use pgdyno_core::host::Inventory;

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
    fn a_pool_that_leaves_too_little_is_told() {
        let found = findings(&RULE, &pool(host(&[]), 25_600, 0));
        assert_eq!(found[0].standing, Standing::Improve);
        let expected = "50 GiB in huge pages: 78.1 % of the memory. Page cache, sessions and all other programs share \
                        the other 14 GiB, too little: at most 48 GiB should be in huge pages. A new server with \
                        shared_buffers = 16GB, as `pgdyno config recommend` chooses for this memory, would fill up \
                        to about 8,502 pages of 2 MiB.";
        assert_eq!(found[0].reason, expected);
        let better = "8,502 for a new server, at most 24,576";
        assert_eq!(found[0].recommended.as_deref(), Some(better));
        // The same of a host whose pools were not read.
        let mut article = host(&[("vm.nr_hugepages", "25600")]);
        article.memory.huge_pages.clear();
        assert_eq!(findings(&RULE, &article)[0].reason, expected);
        assert_eq!(findings(&RULE, &article)[0].present.as_deref(), Some("25600"));
        let held = with_server(pool(host(&[]), 25_600, 0), 17, &EXACT);
        assert_eq!(standings(&RULE, &held), [Standing::Improve], "also if a server has them");
    }

    #[test]
    fn a_new_server_is_foreseen() {
        // A quarter of 64 GiB and what comes with it, in pages of 2 MiB.
        let reason = &findings(&RULE, &host(&[]))[0].reason;
        assert!(
            reason.contains("shared_buffers = 16GB") && reason.contains("would fill up to about 8,5"),
            "{reason}"
        );
        let mut small = host(&[]);
        small.memory.total_bytes = 2 * GB;
        assert!(!findings(&RULE, &small)[0].reason.contains("would fill"), "page tables do not matter");
        let off = with_server(host(&[]), 17, &[("huge_pages", "off")]);
        assert!(!findings(&RULE, &off)[0].reason.contains("would fill"), "a server is there");
    }

    #[test]
    fn system_v_memory_is_never_huge() {
        let settings = [("shared_buffers", "16GB"), ("shared_memory_type", "sysv")];
        let server = with_server(host(&[]), 17, &settings);
        assert!(changes(&RULE, &server).is_empty());
        assert_eq!(standings(&RULE, &pool(server, 1000, 1000)), [Standing::Improve], "nobody takes them");
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
        assert!(findings(&RULE, &host)[0].reason.starts_with("10 MiB in huge pages"));
        host.kernel.sysctls.insert("vm.nr_hugepages".to_owned(), "0".to_owned());
        assert_eq!(standings(&RULE, &host), [Standing::Fine], "there are none");
        host.kernel.sysctls.clear();
        assert_eq!(standings(&RULE, &host), [Standing::Unknown]);
        let reason = &findings(&RULE, &host)[0].reason;
        assert!(
            reason.ends_with("would fill up to about 8,502 pages of 2 MiB."),
            "a new server needs them: {reason}"
        );
    }
}
