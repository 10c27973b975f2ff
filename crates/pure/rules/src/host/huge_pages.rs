//! Explicit and transparent huge pages. Words of the boot line are in the family of that.

use pgdyno_core::{
    facts::amount::{self, GB, KB},
    host::{HugePagePool, Knob},
    units,
};
use pgdyno_settings::here;

use super::{
    known::estimate_shared_memory,
    remedy::Remedy,
    rule::{Facts, Given, Rule},
};
use crate::{Finding, Page, Purpose, Today};

const TRANSPARENT: &str = "Linux Documentation/admin-guide/mm/transhuge.rst; PostgreSQL manual, huge_pages.";

/// Rules of this family, in the order in which they are printed.
pub const RULES: &[Rule] = &[
    Rule::of(Page {
        name: "vm.nr_hugepages",
        also: &["huge pages"],
        what: "Explicit huge pages of the default size that the kernel sets aside; only programs that ask for them, \
              such as a server with huge_pages = try or on, can use them.",
        today: Today::Kept,
        why: "Each session has its own page table of the shared memory that it touched: 8 bytes for 4 KiB, so up to 2 \
             MiB for each GiB and session, which huge pages divide by 512. They are also never swapped. The \
             recommended count is the shared memory of the server in huge pages, as `postgres -C \
             shared_memory_size_in_huge_pages` says it since 15, else an estimate from shared_buffers, connections \
             and locks. Nothing is recommended below 1 GiB, or if less than a quarter of the memory would be left to \
             everything else; more than three quarters are too much. On Linux the server takes huge pages for mapped \
             memory only (shared_memory_type = mmap, the default).",
        danger: "The pool is lost to page cache and sessions whether or not it is used: pages for a server that does \
                not take them, or two servers' worth on a small host, lead to the OOM killer.",
        source: "PostgreSQL manual, \"Linux Huge Pages\"; Linux Documentation/admin-guide/mm/hugetlbpage.rst.",
        ..Page::EMPTY
    })
    .judges(judge_pool),
    Rule::of(Page {
        name: "vm.nr_overcommit_hugepages",
        what: "Huge pages of the default size that the kernel may add on demand when its pool is empty.",
        today: Today::Depends,
        why: "Added pages have to be found as contiguous memory when the server starts, which fails more and more \
             often the longer a host is up. It serves where servers come and go; a server that must start should have \
             its pages in vm.nr_hugepages from boot on.",
        danger: "Close to all of the memory, a program can turn everything into huge pages.",
        source: "Linux Documentation/admin-guide/mm/hugetlbpage.rst.",
        ..Page::EMPTY
    })
    .sysctl(judge_growth),
    Rule::of(Page {
        name: "vm.hugetlb_shm_group",
        what: "The group whose members may put System V shared memory into huge pages, as root and processes with \
              CAP_IPC_LOCK may; 0 by default.",
        today: Today::NoEffect,
        why: "The server maps its huge pages, which needs no group; its System V memory (shared_memory_type = sysv) \
             is never in huge pages. Setting it is advice for other database servers.",
        source: "Linux Documentation/admin-guide/sysctl/vm.rst, hugetlb_shm_group; PostgreSQL \
                src/backend/port/sysv_shmem.c.",
        ..Page::EMPTY
    })
    .sysctl(judge_group),
    Rule::of(Page {
        name: "transparent_hugepage/enabled",
        also: &["transparent_hugepage", "thp", "transparent huge pages"],
        what: "Whether the kernel gives huge pages to private memory without a request: always, madvise (to programs \
              that ask for it) or never.",
        today: Today::Depends,
        why: "PostgreSQL does not ask, so madvise is the same as never for it and keeps the feature for others. With \
             always, memory of sessions (sorts, hash tables) is huge: fewer misses of the TLB in long queries, more \
             memory for many small sessions, and where defrag is always, too, waits for compaction. The manual \
             discourages it. Shared memory is not concerned: that is shmem_enabled, and huge_pages of the server.",
        danger: "With always, sessions take more memory than they use, and where defrag is always, too, short \
                transactions can wait milliseconds for compaction.",
        gain: here(
            "never instead of always: no significant difference, -0.6 % [-21, 25] of the TPS of reads by key with 8 \
             clients",
        ),
        source: TRANSPARENT,
        ..Page::EMPTY
    })
    .judges(judge_enabled),
    Rule::of(Page {
        name: "transparent_hugepage/defrag",
        what: "Whether a page fault waits until memory has been compacted for a huge page: always, defer, \
              defer+madvise, madvise (the default since Linux 4.6) or never.",
        today: Today::Kept,
        why: "Where enabled is always, every process would wait under always; madvise lets only those wait that asked \
             for huge pages.",
        danger: "always stops sessions for milliseconds when memory is fragmented.",
        source: TRANSPARENT,
        ..Page::EMPTY
    })
    .judges(judge_defrag),
    Rule::of(Page {
        name: "transparent_hugepage/shmem_enabled",
        what: "Whether shared anonymous memory, such as shared_buffers, may be in transparent huge pages: never (the \
              default), advise, within_size, always; deny and force are for tests.",
        today: Today::Depends,
        why: "Explicit huge pages (huge_pages of the server, vm.nr_hugepages) are the dependable way, since they are \
             there from boot on. always or within_size are an alternative where nothing can be set aside; the server \
             runs either way and gets as many huge pages as are found.",
        source: TRANSPARENT,
        since_kernel: Some((4, 8)),
        ..Page::EMPTY
    })
    .judges(judge_shared),
];

/// Processes of a new server, with its auxiliary ones: the defaults, and 100 connections.
const NEW_PROCESSES: u64 = 150;

fn judge_pool(given: &Given<'_>) -> Option<Finding> {
    if let Some(finding) = too_much(given) {
        return Some(finding);
    }
    let pool = given.default_pool().cloned().or_else(|| empty_pool(given));
    let Some(pool) = &pool else { return Some(without_pool(given)) };
    let held = given.host.server.as_ref().and_then(|server| server.huge_page_bytes).unwrap_or(0);
    let is_mapped = given.setting("shared_memory_type").is_none_or(|kind| !kind.eq_ignore_ascii_case("sysv"));
    let finding =
        match (given.setting("huge_pages"), given.huge_pages_needed(pool.page_bytes)) {
            _ if held > 0 => given
                .fine(format!("The server has {} of its shared memory in huge pages.", units::bytes(held))),
            _ if other_size(given, pool) => given
                .fine("huge_page_size of the server names another size, whose pool has no kernel parameter."),
            (Some("off"), _) => unused(given, pool, "The server has huge_pages = off"),
            _ if !is_mapped => {
                unused(given, pool, "The server has shared_memory_type = sysv, which takes no huge pages")
            }
            (_, Some(needed)) => needed_by_server(given, pool, needed),
            _ => unused(given, pool, "No server was named"),
        };
    Some(finding.present(pool.total))
}

/// That pools leave too little of the memory to all else.
fn too_much(given: &Given<'_>) -> Option<Finding> {
    let huge = given.huge_memory()?;
    let (total, most) = (given.host.memory.total_bytes, given.most_huge_bytes());
    if total == 0 || huge.bytes <= most {
        return None;
    }
    let page_bytes = given.default_huge_page().map(|(bytes, _)| bytes).filter(|bytes| *bytes > 0);
    let new = page_bytes.and_then(|bytes| for_new_server(given, bytes)).unwrap_or_default();
    let reason = format!(
        "{}: {} of the memory. Page cache, sessions and all other programs share the other {}, too little: \
         at most {} should be in huge pages.{new}",
        huge.words(),
        units::percent(huge.bytes as f64 / total as f64),
        units::bytes(given.bytes_without_huge_pages()),
        units::bytes(most)
    );
    let pages = given.default_pool().map(|pool| pool.total).or_else(|| given.number());
    let finding = given.improve(reason);
    let finding = match pages {
        Some(pages) => finding.present(pages),
        None => finding,
    };
    let most = match page_bytes {
        Some(page) => format!("at most {}", units::count(most / page)),
        None => format!("at most {} in huge pages", units::bytes(most)),
    };
    let fitting = page_bytes.and_then(|bytes| new_server(given, bytes));
    Some(finding.recommend(match fitting {
        Some((_, pages)) => format!("{} for a new server, {most}", units::count(pages)),
        None => most,
    }))
}

/// The pool of the default size, where the parameter says that it is empty and pools could not be read.
fn empty_pool(given: &Given<'_>) -> Option<HugePagePool> {
    let (page_bytes, _) = given.default_huge_page().filter(|_| given.number() == Some(0))?;
    Some(HugePagePool { page_bytes, ..HugePagePool::default() })
}

/// Judges the parameter alone, where the pools could not be read.
fn without_pool(given: &Given<'_>) -> Finding {
    let Some(value) = given.number() else { return unread(given) };
    let reason = match (given.huge_memory(), given.host.memory.total_bytes) {
        (None, _) => "The pools of huge pages of this host could not be read.".to_owned(),
        (Some(huge), 0) => format!("{}; whether a program uses them could not be read.", huge.words()),
        (Some(huge), total) => format!(
            "{}, {} of the memory; whether a program uses them could not be read.",
            huge.words(),
            units::percent(huge.bytes as f64 / total as f64)
        ),
    };
    given.unknown(reason).present(value)
}

/// That nothing is known of the pool, with what a new server would need of it.
fn unread(given: &Given<'_>) -> Finding {
    let new = given.default_huge_page().and_then(|(bytes, _)| for_new_server(given, bytes));
    let unread = given.unread();
    Finding { reason: unread.reason + &new.unwrap_or_default(), ..unread }
}

/// Whether the server wants pages of another size than the pool has.
fn other_size(facts: &Facts<'_>, pool: &HugePagePool) -> bool {
    let size = facts.setting_bytes("huge_page_size", KB, 0).unwrap_or(0);
    size != 0 && size != pool.page_bytes
}

/// Judges a pool that no known server takes from.
fn unused(given: &Given<'_>, pool: &HugePagePool, because: &str) -> Finding {
    if pool.total == 0 {
        let more = for_new_server(given, pool.page_bytes).unwrap_or_default();
        return given.fine(format!("{because}, and no huge pages are set aside.{more}"));
    }
    if pool.free < pool.total || pool.reserved > 0 {
        return given.fine(format!("{because}, and other programs use pages of the pool."));
    }
    let bytes = units::bytes(pool.total.saturating_mul(pool.page_bytes));
    let reason = format!("{because}, and {bytes} of huge pages are free, which nothing else can use.");
    given.improve(reason).recommend("0, or a server that uses them")
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
fn needed_by_server(given: &Given<'_>, pool: &HugePagePool, needed: u64) -> Finding {
    let origin = if given.shared_memory_is_exact() {
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
        return given.fine(format!("{text}, and so many are free for its next start."));
    }
    let others = pool.total.saturating_sub(pool.free).saturating_add(pool.reserved);
    let best = needed.saturating_add(others);
    let fits = given.huge_pool_bytes().saturating_add(wanted) <= given.most_huge_bytes();
    match (given.setting("huge_pages"), fits) {
        (Some("on"), false) => given.improve(format!(
            "{text}, more than this host can set aside: with huge_pages = on it will not start."
        )),
        (_, false) => given.fine(format!("{text}, too much to set aside on this host.")),
        (Some("on"), true) => given
            .improve(format!("{text}; with huge_pages = on it does not start without them."))
            .set_sysctl(best),
        (_, true) if wanted < GB => given.fine(format!("{text}, too little for page tables to matter.")),
        (_, true) => given
            .improve(format!("{text}, and the pool does not have them, so that it runs on small pages."))
            .set_sysctl(best),
    }
}

fn judge_growth(given: &Given<'_>, value: u64) -> Finding {
    let size = given.host.memory.default_huge_page_bytes.unwrap_or(0);
    let bytes = value.saturating_mul(size);
    match () {
        () if value == 0 => given.fine("The pool does not grow on demand, which is the default."),
        () if size == 0 || given.host.memory.total_bytes == 0 => {
            given.unknown("Its share of the memory is unknown, because a size could not be read.")
        }
        () if bytes.saturating_add(given.huge_pool_bytes()) > given.most_huge_bytes() => {
            let most = given.most_huge_bytes().saturating_sub(given.huge_pool_bytes()) / size;
            let reason = format!(
                "Programs may turn {} of {} into huge pages.",
                units::bytes(bytes),
                units::bytes(given.host.memory.total_bytes)
            );
            given.improve(reason).set_sysctl(most)
        }
        () => given
            .fine(format!("Up to {} may be added where contiguous memory is found.", units::bytes(bytes))),
    }
}

fn judge_group(given: &Given<'_>, group: u64) -> Finding {
    match group {
        0 => given.fine("It is the default, and the server needs no group for its huge pages."),
        _ => given.no_effect("The server maps its huge pages, for which no group is needed."),
    }
}

/// A file of transparent huge pages.
fn transparent(file: &str) -> Knob {
    Knob::Sysfs(format!("/sys/kernel/mm/transparent_hugepage/{file}"))
}

fn judge_enabled(given: &Given<'_>) -> Option<Finding> {
    let modes = &given.host.memory.transparent;
    let Some(mode) = modes.enabled.as_deref() else {
        return Some(given.unknown("The mode of transparent huge pages could not be read."));
    };
    let finding = match (mode, given.purpose) {
        ("always", Purpose::Olap) => given
            .fine("Long queries with much private memory may gain; whether they do here is not measured."),
        ("always", _) => {
            let waits = match modes.defrag.as_deref() {
                Some("always") => ", and page faults wait for compaction",
                _ => "",
            };
            let reason = format!(
                "Sessions get huge pages without a request, and so more memory than they use{waits}. madvise \
                 leaves huge pages to programs that request them."
            );
            given.improve(reason).set(transparent("enabled"), "madvise")
        }
        _ => given.fine("Sessions of PostgreSQL do not ask for huge pages and get none."),
    };
    Some(finding.present(mode))
}

fn judge_defrag(given: &Given<'_>) -> Option<Finding> {
    let modes = &given.host.memory.transparent;
    let mode = modes.defrag.as_deref()?;
    let finding = match (mode, modes.enabled.as_deref()) {
        ("always", Some("never")) => {
            given.no_effect("Transparent huge pages are off, so there is nothing to compact for.")
        }
        ("always", _) => given
            .improve("Page faults wait for compaction when memory is fragmented.")
            .set(transparent("defrag"), "madvise"),
        _ => given.fine("Only processes that ask for huge pages wait for compaction, or none."),
    };
    Some(finding.present(mode))
}

fn judge_shared(given: &Given<'_>) -> Option<Finding> {
    let mode = given.host.memory.transparent.shared.as_deref()?;
    let held = given.host.server.as_ref().and_then(|server| server.huge_page_bytes).unwrap_or(0) > 0;
    let finding = match mode {
        "force" => given
            .improve("force is for tests: it puts every file of tmpfs into huge pages as well.")
            .set(transparent("shmem_enabled"), "never"),
        "always" | "within_size" if held => {
            given.fine("The server has explicit huge pages; it concerns other programs.")
        }
        "always" | "within_size" => {
            given.fine("shared_buffers get huge pages as far as the kernel finds them; none are guaranteed.")
        }
        _ => given.fine("shared_buffers are in huge pages only by huge_pages of the server."),
    };
    Some(finding.present(mode))
}

#[cfg(test)]
mod tests {
    use pgdyno_core::{facts::amount::MB, host::Inventory};

    use super::*;
    use crate::{
        Standing,
        host::testing::{
            changes, check_hosts, check_values, findings, findings_for, host, standings, with_server,
        },
    };

    #[test]
    fn values_are_judged() {
        use Standing::{Fine, Improve, NoEffect};
        check_values(&[
            ("vm.nr_overcommit_hugepages", &[("0", Fine), ("1000", Fine), ("32768", Improve)]),
            ("vm.hugetlb_shm_group", &[("0", Fine), ("1001", NoEffect)]),
        ]);
    }

    #[test]
    fn hosts_are_judged() {
        use Standing::{Fine, Improve};
        let shared = |mode| transparent("madvise", "madvise", mode);
        check_hosts(&[
            ("transparent_hugepage/shmem_enabled", shared("never"), &[Fine]),
            ("transparent_hugepage/shmem_enabled", shared("within_size"), &[Fine]),
            ("transparent_hugepage/shmem_enabled", shared("force"), &[Improve]),
            ("vm.nr_hugepages", pool(host(&[]), 1000, 1000), &[Improve]),
            ("vm.nr_hugepages", pool(host(&[]), 1000, 10), &[Fine]),
            ("vm.nr_hugepages", host(&[]), &[Fine]),
        ]);
    }

    fn pool(mut host: Inventory, total: u64, free: u64) -> Inventory {
        host.memory.huge_pages[0].total = total;
        host.memory.huge_pages[0].free = free;
        host
    }

    const EXACT: [(&str, &str); 2] = [("shared_buffers", "16GB"), ("shared_memory_size", "16820MB")];

    #[test]
    fn the_count_comes_from_the_shared_memory() {
        let server = with_server(host(&[]), 17, &EXACT);
        assert_eq!(changes("vm.nr_hugepages", &server), ["8410"]);
        assert_eq!(standings("vm.nr_hugepages", &pool(server.clone(), 8410, 8410)), [Standing::Fine]);
        assert_eq!(
            changes("vm.nr_hugepages", &pool(server, 100, 0)),
            ["8510"],
            "another program keeps its 100"
        );
        let estimated =
            changes("vm.nr_hugepages", &with_server(host(&[]), 12, &[("shared_buffers", "16GB")]));
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
            assert_eq!(standings("vm.nr_hugepages", &host), [expected], "{settings:?}");
            assert!(changes("vm.nr_hugepages", &host).is_empty(), "{settings:?}");
        }
    }

    #[test]
    fn a_pool_that_leaves_too_little_is_reported() {
        let found = findings("vm.nr_hugepages", &pool(host(&[]), 25_600, 0));
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
        assert_eq!(findings("vm.nr_hugepages", &article)[0].reason, expected);
        assert_eq!(findings("vm.nr_hugepages", &article)[0].present.as_deref(), Some("25600"));
        let held = with_server(pool(host(&[]), 25_600, 0), 17, &EXACT);
        assert_eq!(standings("vm.nr_hugepages", &held), [Standing::Improve], "also if a server has them");
    }

    #[test]
    fn a_new_server_is_foreseen() {
        // A quarter of 64 GiB and what comes with it, in pages of 2 MiB.
        let reason = &findings("vm.nr_hugepages", &host(&[]))[0].reason;
        assert!(
            reason.contains("shared_buffers = 16GB") && reason.contains("would fill up to about 8,5"),
            "{reason}"
        );
        let mut small = host(&[]);
        small.memory.total_bytes = 2 * GB;
        assert!(
            !findings("vm.nr_hugepages", &small)[0].reason.contains("would fill"),
            "page tables do not matter"
        );
        let off = with_server(host(&[]), 17, &[("huge_pages", "off")]);
        assert!(!findings("vm.nr_hugepages", &off)[0].reason.contains("would fill"), "a server is there");
    }

    #[test]
    fn system_v_memory_is_never_huge() {
        let settings = [("shared_buffers", "16GB"), ("shared_memory_type", "sysv")];
        let server = with_server(host(&[]), 17, &settings);
        assert!(changes("vm.nr_hugepages", &server).is_empty());
        assert_eq!(
            standings("vm.nr_hugepages", &pool(server, 1000, 1000)),
            [Standing::Improve],
            "they are unused"
        );
    }

    #[test]
    fn a_server_on_huge_pages_is_fine() {
        let mut host = pool(with_server(host(&[]), 17, &EXACT), 8410, 0);
        host.server.as_mut().expect("it was put there").huge_page_bytes = Some(16_820 * MB);
        assert!(
            findings("vm.nr_hugepages", &host)[0].reason.contains("16.4 GiB"),
            "{:?}",
            findings("vm.nr_hugepages", &host)
        );
    }

    #[test]
    fn without_pools_nothing_is_said() {
        let mut host = host(&[("vm.nr_hugepages", "5")]);
        host.memory.huge_pages.clear();
        assert_eq!(standings("vm.nr_hugepages", &host), [Standing::Unknown]);
        assert!(findings("vm.nr_hugepages", &host)[0].reason.starts_with("10 MiB in huge pages"));
        host.kernel.sysctls.insert("vm.nr_hugepages".to_owned(), "0".to_owned());
        assert_eq!(standings("vm.nr_hugepages", &host), [Standing::Fine], "there are none");
        host.kernel.sysctls.clear();
        assert_eq!(standings("vm.nr_hugepages", &host), [Standing::Unknown]);
        let reason = &findings("vm.nr_hugepages", &host)[0].reason;
        assert!(
            reason.ends_with("would fill up to about 8,502 pages of 2 MiB."),
            "a new server needs them: {reason}"
        );
    }

    #[test]
    fn a_quarter_of_the_memory_stays() {
        // 48 GiB of 64.
        assert_eq!(
            changes("vm.nr_overcommit_hugepages", &host(&[("vm.nr_overcommit_hugepages", "32768")])),
            ["24576"]
        );
    }

    fn transparent(enabled: &str, defrag: &str, shared: &str) -> Inventory {
        let mut host = host(&[]);
        host.memory.transparent.enabled = Some(enabled.to_owned());
        host.memory.transparent.defrag = Some(defrag.to_owned());
        host.memory.transparent.shared = Some(shared.to_owned());
        host
    }

    #[test]
    fn huge_pages_are_for_those_who_ask() {
        let always = transparent("always", "always", "never");
        assert_eq!(changes("transparent_hugepage/enabled", &always), ["madvise"]);
        assert_eq!(changes("transparent_hugepage/defrag", &always), ["madvise"]);
        let olap = findings_for("transparent_hugepage/enabled", &always, Purpose::Olap);
        assert_eq!(olap[0].standing, Standing::Fine);
        for mode in ["madvise", "never"] {
            let host = transparent(mode, "madvise", "never");
            assert_eq!(standings("transparent_hugepage/enabled", &host), [Standing::Fine], "{mode}");
            assert_eq!(standings("transparent_hugepage/defrag", &host), [Standing::Fine], "{mode}");
        }
        assert_eq!(
            standings("transparent_hugepage/defrag", &transparent("never", "always", "never")),
            [Standing::NoEffect]
        );
    }

    #[test]
    fn what_was_not_read_is_not_judged() {
        assert_eq!(standings("transparent_hugepage/enabled", &host(&[])), [Standing::Unknown]);
        assert!(standings("transparent_hugepage/defrag", &host(&[])).is_empty());
        assert!(standings("transparent_hugepage/shmem_enabled", &host(&[])).is_empty());
    }
}
